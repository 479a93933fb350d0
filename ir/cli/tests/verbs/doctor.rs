//! `doctor`: problems of a file, and advice for its author.

use expect_test::expect;
use serde_json::Value as Json;

use super::{RELU, on, run};

#[test]
fn problems_stand_below_their_causes() {
    let source = r#"<ir_version: 8, opset_import: ["": 17, "acme": 1, "com.microsoft": 1],
            producer_name: "pytorch", producer_version: "2.9">
        main (float[N, 2] x) => (float[N, 2] y) {
            ["/act/Twist"] t = acme.Twist (x)
            ["/act2/Twist"] u = acme.Twist (x)
            m = com.microsoft.BeamSearch (x)
            q = Relux (x)
            y = Add (t, q)
        }"#;
    let answer = on("doctor_causes", source, &["doctor"]);
    expect![[r#"
        m.onnx does not compile: 3 causes

        1. the model uses an operator of a custom domain
           operator `acme.Twist` is not supported at node `/act/Twist` and 1 more
           help:
           - bind the operator to a function of your crate:
             #[onnx(ops("acme.Twist" = crate::twist))]
           - or define it in the model as a function of `acme` with standard operators: onnx.helper.make_function
           - or export the layer as standard operators: with a symbolic function in PyTorch (torch.onnx.ops.symbolic), with a converter in skl2onnx

        2. the model uses an operator that only ONNX Runtime defines
           operator `com.microsoft.BeamSearch` is not supported at node `m`
           help:
           - list the supported operators: cargo onnx-embed operators
           - use the original export, before optimization or quantization by ONNX Runtime, or optimize less: optimization_level=ORT_ENABLE_BASIC (in optimum: -O1)
           - quantize in the portable format: quantize_static(.., quant_format=QuantFormat.QDQ)

        3. the model uses an operator that ONNX does not define
           operator `Relux` is not supported at node `q`
           help:
           - list the supported operators: cargo onnx-embed operators
           - operators with similar names: Relu
           - PyTorch: torch.onnx.export(model.eval(), (example,), "model.onnx", dynamo=True, opset_version=20)
    "#]].assert_eq(&answer.out);
    assert_eq!(answer.code, 1);
}

#[test]
fn files_that_are_no_models() {
    let advice = |file: &str| {
        let answer = run(&["doctor", "--json", &format!("ui-tests/models/{file}")]);
        let json: Json = serde_json::from_str(&answer.out).unwrap();
        assert_eq!((&json["compiles"], answer.code), (&Json::Bool(false), 1));
        let cause = &json["causes"][0];
        format!("{}: {}", cause["cause"].as_str().unwrap(), cause["advice"][0].as_str().unwrap())
    };
    let files = [
        "pointer.onnx",
        "page.onnx",
        "checkpoint.onnx",
        "empty.onnx",
        "perceptron_cut.onnx",
        "external_missing.onnx",
        "opset_99.onnx",
        "two_makers.onnx",
    ];
    let lines: Vec<String> = files.iter().map(|file| format!("{file}: {}\n", advice(file))).collect();
    expect![[r#"
        pointer.onnx: the file is not an ONNX model: download the file: git lfs install && git lfs pull (on Hugging Face: hf download REPOSITORY model.onnx)
        page.onnx: the file is not an ONNX model: download the file itself: on GitHub with the "Raw" link, on Hugging Face with /resolve/ instead of /blob/
        checkpoint.onnx: the file is not an ONNX model: unpack an archive; load a checkpoint in PyTorch and export the model: torch.onnx.export(model.eval(), (example,), "model.onnx", dynamo=True)
        empty.onnx: the file is not an ONNX model: export or download it again; interrupted downloads leave empty files
        perceptron_cut.onnx: the file is not an ONNX model: export or download it again, and compare its length with that of the source
        external_missing.onnx: external weights cannot be read: put the file at `ui-tests/models/weights/absent.bin`
        opset_99.onnx: the file uses a newer version of ONNX: update onnx-embed: cargo update -p onnx-embed
        two_makers.onnx: the file is inconsistent or damaged: check it: python -c 'import onnx; onnx.checker.check_model("model.onnx", full_check=True)'
    "#]].assert_eq(&lines.concat());
}

#[test]
fn a_model_that_compiles_has_things_to_know() {
    let source = r#"<ir_version: 10, opset_import: ["": 21]>
        g (double[n, 2] x, double[2] w) => (double[n, 2] y, int64[2, m] z) <double[2] w = {1, 2}> {
            y = Mul (x, w)
            z = NonZero (y)
        }"#;
    let answer = on("doctor_warnings", source, &["doctor"]);
    expect![[r#"
        m.onnx compiles

        4 warnings
           a size is dynamic, and GPUs compile kernels for each new size: `n`
           help: call warm_up(&[("NAME", SIZE)]) before the first request, or fix a size with dims(NAME = SIZE)
           1 node computes in float64, which is slow on GPUs or computed in float32
           help: export the model in float32: model.float() in PyTorch, X.astype(numpy.float32) for skl2onnx
           on a GPU, a call reads values back from the device, at least 0.1 ms each: 1 NonZero
           help: count the reads of a call with `cargo onnx-embed verify --device wgpu`; in a browser, use forward_async
           an initializer is also an input: `w`
           help: to set one at run time, use inputs(NAME: [..]), as initializers are compiled as constants; to remove this warning, export with keep_initializers_as_inputs=False
    "#]].assert_eq(&answer.out);
    assert_eq!(answer.code, 0);
}

/// `ui-tests/models/expectations.toml` has the number of values that this model reads back from devices.
#[test]
fn reads_of_a_detector_are_found_without_a_device() {
    let answer = run(&["doctor", "--json", "ui-tests/models/blocks/detector/detector.onnx"]);
    let json: Json = serde_json::from_str(&answer.out).unwrap();
    let facts = json["warnings"].as_array().unwrap().iter();
    let waits =
        facts.filter_map(|warning| warning["fact"].as_str()).find(|fact| fact.contains("reads values back"));
    assert_eq!(
        waits,
        Some("on a GPU, a call reads values back from the device, at least 0.1 ms each: 1 NonMaxSuppression")
    );
}

#[test]
fn operators_of_the_host_make_a_call_wait() {
    let source = r#"<ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>
        g (float[3, 3] x, float[2, 5] p) => (float y, float[3, 3] z, int32[2, 1] w) {
            y = Det (x)
            z = com.microsoft.Inverse (x)
            w = Multinomial <seed = 1.0> (p)
        }"#;
    let answer = on("doctor_host", source, &["doctor"]);
    expect![[r#"
        m.onnx compiles

        1 warning
           on a GPU, a call reads values back from the device, at least 0.1 ms each: 1 Det, 1 Multinomial, 1 com.microsoft.Inverse
           help: count the reads of a call with `cargo onnx-embed verify --device wgpu`; in a browser, use forward_async
    "#]].assert_eq(&answer.out);
}

#[test]
fn nothing_is_said_of_what_is_fine() {
    expect![[r#"
        m.onnx compiles
    "#]]
    .assert_eq(&on("doctor_fine", RELU, &["doctor"]).out);
}
