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
            m = com.microsoft.MoE (x)
            q = Relux (x)
            y = Add (t, q)
        }"#;
    let answer = on("doctor_causes", source, &["doctor"]);
    expect![[r#"
        m.onnx does not compile, for 3 reasons

        1. operators of a domain of your own
           operator `acme.Twist` is not supported at `/act/Twist` and 1 other node
           what to do:
           - bind the operator to a function of your crate:
             #[onnx(ops("acme.Twist" = crate::twist))]
           - or define it in the model as a function of `acme` made of standard operators (onnx.helper.make_function)
           - or export the layer by standard operators: a symbolic function in PyTorch (torch.onnx.ops.symbolic), a converter in skl2onnx

        2. an operator of ONNX Runtime alone
           operator `com.microsoft.MoE` is not supported at `m`
           what to do:
           - cargo onnx-embed operators lists what is supported
           - this operator comes of ONNX Runtime's optimizer or quantizer: take the model from before it, or optimize less (optimization_level=ORT_ENABLE_BASIC, optimum: -O1)
           - quantize in the form that others read: quantize_static(.., quant_format=QuantFormat.QDQ)

        3. the standard has no such operator
           operator `Relux` is not supported at `q`
           what to do:
           - cargo onnx-embed operators lists what is supported
           - operators of nearly this name: Relu
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
        pointer.onnx: the file is not an ONNX model: git lfs install && git lfs pull (on Hugging Face: hf download REPOSITORY model.onnx)
        page.onnx: the file is not an ONNX model: download the file itself: on GitHub the link called Raw, on Hugging Face /resolve/ in place of /blob/
        checkpoint.onnx: the file is not an ONNX model: a checkpoint is loaded in PyTorch and exported: torch.onnx.export(model.eval(), (example,), "model.onnx", dynamo=True); an archive is unpacked
        empty.onnx: the file is not an ONNX model: export or download it again; an interrupted download leaves such files
        perceptron_cut.onnx: the file is not an ONNX model: export or download it again, and compare its length with that of the source
        external_missing.onnx: weights outside of the file are not found: put the file at `ui-tests/models/weights/absent.bin`
        opset_99.onnx: the file is of a newer version of ONNX: update onnx-embed: cargo update -p onnx-embed
        two_makers.onnx: the file contradicts itself: python -c 'import onnx; onnx.checker.check_model("model.onnx", full_check=True)' names what is wrong
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

        4 things to know
           a size varies from call to call: `n`
           GPUs compile kernels for sizes that they have not seen: warm_up(&[("NAME", SIZE)]) before the first request, or dims(NAME = SIZE) to fix one
           1 node computes doubles
           GPUs without them compute in single precision, and those that have them are slow: export the model in float32 (model.float() in PyTorch, X.astype(numpy.float32) for skl2onnx)
           on a GPU a call waits for values of the device: 1 NonZero
           each is a round trip of some 0.1 ms and more; in a browser call forward_async. `verify --device` counts them
           1 initializer also as inputs: `w`
           they are constants here; `inputs(NAME: [..])` makes one an input. Old exporters list all of them: keep_initializers_as_inputs=False leaves that out
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

        1 thing to know
           on a GPU a call waits for values of the device: 1 Det, 1 Multinomial, 1 com.microsoft.Inverse
           each is a round trip of some 0.1 ms and more; in a browser call forward_async. `verify --device` counts them
    "#]].assert_eq(&answer.out);
}

#[test]
fn nothing_is_said_of_what_is_fine() {
    expect![[r#"
        m.onnx compiles
    "#]]
    .assert_eq(&on("doctor_fine", RELU, &["doctor"]).out);
}
