//! `diff`: can a deployed program load the new file?

use expect_test::{Expect, expect};
use serde_json::Value as Json;

use super::{folder, model, run, run_in};

/// A layer, bounds of its results, and a factor for each channel.
const NET: &str = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[n, 2] x) => (float[n, 2] y)
    <float[2, 2] weight = {1, 2, 3, 4}, float[2] scale = {1, 1}, float low = {-1}> {
        ["/fc/MatMul"] m = MatMul (x, weight)
        ["/clip/Clip"] c = Clip (m, low)
        ["/scale/Mul"] y = Mul (c, scale)
    }"#;

/// Checks the comparison of the net with a copy in which a text is replaced.
#[track_caller]
fn check(test: &str, from: &str, to: &str, arguments: &[&str], expected: Expect) {
    let folder = folder(test);
    assert!(NET.contains(from));
    model(&folder, "a.onnx", NET);
    model(&folder, "b.onnx", &NET.replace(from, to));
    let answer = run_in(&folder, &[&["diff", "a.onnx", "b.onnx"], arguments].concat());
    expected.assert_eq(&(answer.out + &answer.err));
    let json = run_in(&folder, &[&["diff", "--json", "a.onnx", "b.onnx"], arguments].concat());
    let json: Json = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["can_be_loaded"], answer.code == 0);
}

#[test]
fn a_retrained_model_can_be_loaded() {
    check(
        "diff_weights",
        "{1, 2, 3, 4}",
        "{5, 6, 7, 8}",
        &[],
        expect![[r#"
        same graph, 1 of 3 weights differs
          weight
        b.onnx can be loaded by a program compiled from a.onnx
    "#]],
    );
}

#[test]
fn what_the_code_depends_on_must_be_compiled() {
    check(
        "diff_literal",
        "{-1}",
        "{-2}",
        &[],
        expect![[r#"
            same graph, 1 of 3 weights differs
              low
            b.onnx cannot be loaded by a program compiled from a.onnx: weight `low` differs from the compiled model, whose code depends on its value
              compile the program again from b.onnx
        "#]],
    );
}

#[test]
fn a_factor_of_one_is_free_in_a_file_and_fixed_in_the_binary() {
    check(
        "diff_free",
        "{1, 1}",
        "{1, 2}",
        &[],
        expect![[r#"
            same graph, 1 of 3 weights differs
              scale
            b.onnx can be loaded by a program compiled from a.onnx
              not with weights = "embed": weight `scale` differs from the compiled model, whose code depends on its value
        "#]],
    );
    check(
        "diff_fixed",
        "{1, 1}",
        "{1, 2}",
        &["--weights", "embed"],
        expect![[r#"
            same graph, 1 of 3 weights differs
              scale
            b.onnx cannot be loaded by a program compiled from a.onnx: weight `scale` differs from the compiled model, whose code depends on its value
              compile the program again from b.onnx
        "#]],
    );
}

#[test]
fn another_node_is_named() {
    check(
        "diff_node",
        "c = Clip (m, low)",
        "c = Max (m, low)",
        &[],
        expect![[r#"
            the graphs differ in node `/clip/Clip`
              a.onnx: Clip version 13
              b.onnx: Max version 13
            b.onnx cannot be loaded by a program compiled from a.onnx: its size in bytes is 226, expected 227
              compile the program again from b.onnx
        "#]],
    );
    check(
        "diff_more",
        "y = Mul (c, scale)",
        "s = Mul (c, scale) y = Relu (s)",
        &[],
        expect![[r#"
            the graphs differ in node `y`
              a.onnx: no such node
              b.onnx: Relu
            b.onnx cannot be loaded by a program compiled from a.onnx: its size in bytes is 241, expected 227
              compile the program again from b.onnx
        "#]],
    );
}

#[test]
fn another_size_and_another_attribute_are_named() {
    check(
        "diff_size",
        "float[2] scale = {1, 1}",
        "float[1] scale = {1}",
        &[],
        expect![[r#"
            the graphs differ in `scale`
              a.onnx: float32[2]
              b.onnx: float32[1]
            b.onnx cannot be loaded by a program compiled from a.onnx: its size in bytes is 223, expected 227
              compile the program again from b.onnx
        "#]],
    );
    let folder = folder("diff_attribute");
    let net = |axis: i64| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]>
            g (float[2, 2] x) => (float[2, 2] y) {{ y = Softmax <axis: int = {axis}> (x) }}"
        )
    };
    model(&folder, "a.onnx", &net(0));
    model(&folder, "b.onnx", &net(1));
    let answer = run_in(&folder, &["diff", "a.onnx", "b.onnx"]);
    expect![[r#"
        the graphs differ in node `y`
          a.onnx: axis: 0
          b.onnx: axis: 1
        b.onnx cannot be loaded by a program compiled from a.onnx: it differs after its last weight
          compile the program again from b.onnx
    "#]]
    .assert_eq(&answer.out);
}

#[test]
fn the_same_graph_of_another_exporter_is_said_to_be_the_same() {
    check(
        "diff_producer",
        "opset_import: [\"\": 21]>",
        "opset_import: [\"\": 21], producer_name: \"other\">",
        &[],
        expect![[r#"
            same graph, same 3 weights
            b.onnx cannot be loaded by a program compiled from a.onnx: its size in bytes is 234, expected 227
              the files differ outside the weights (producer, names, documentation): export both with the same version of the exporter, or compile the program again from b.onnx
        "#]],
    );
}

/// The messages of programs about these files are tested in `ui-tests/tests/expansions/long_form.rs`.
#[test]
fn it_says_what_programs_say_when_they_load() {
    let models = "ui-tests/models";
    let compiled = format!("{models}/perceptron.onnx");
    let reason = |other: &str| {
        let json = run(&["diff", "--json", &compiled, &format!("{models}/{other}")]).out;
        let json: Json = serde_json::from_str(&json).unwrap();
        json["reason"].as_str().map(str::to_owned)
    };
    assert_eq!(reason("perceptron_other_weights.onnx"), None);
    assert_eq!(
        reason("perceptron_other_graph.onnx").unwrap(),
        "`perceptron.onnx` differs from the compiled model just before weight `hidden.weight`"
    );
    assert!(reason("pair.onnx").unwrap().ends_with("in bytes is 192, expected 396"));
    assert!(reason("no.onnx").unwrap().starts_with("cannot read `ui-tests/models/no.onnx`"));
}

/// The same changes are tested with programs in `ui-tests/tests/expansions/other_weights.rs`.
#[test]
fn what_is_fixed_for_programs_is_fixed_here() {
    let compiled = models().join("other_weights.onnx");
    let bytes = std::fs::read(&compiled).unwrap();
    let folder = folder("diff_fixed_for_programs");
    let other = floats(&[0.5, 2.0, 1.0, -1.0]);
    let changes = [
        ("alpha", other.clone()),
        ("gamma", other.clone()),
        ("beta", other),
        ("low", floats(&[-0.5])),
        ("target", [2i64, 4].map(i64::to_le_bytes).concat()),
        ("scale", floats(&[0.25])),
        ("zero", vec![5]),
    ];
    let mut verdicts = String::new();
    for (name, data) in changes {
        let key = [&[0x42, name.len() as u8], name.as_bytes(), &[0x4a, data.len() as u8]].concat();
        let start = bytes.windows(key.len()).position(|window| window == key);
        let start = start.unwrap() + key.len();
        let mut changed = bytes.clone();
        changed[start..start + data.len()].copy_from_slice(&data);
        let path = folder.join("other.onnx");
        std::fs::write(&path, changed).unwrap();
        let verdict = |weights| verdict(&compiled, &path, weights);
        verdicts += &format!("{name}: {}, {}\n", verdict("file"), verdict("embed"));
    }
    expect![[r#"
        alpha: free, fixed
        gamma: free, free
        beta: free, free
        low: fixed, fixed
        target: fixed, fixed
        scale: fixed, fixed
        zero: fixed, fixed
    "#]]
    .assert_eq(&verdicts);
}

#[test]
fn data_beside_the_models_are_compared() {
    let compiled = models().join("other_weights_external.onnx");
    let folder = folder("diff_external");
    std::fs::create_dir(folder.join("weights")).unwrap();
    let model = folder.join("other_weights_external.onnx");
    std::fs::copy(&compiled, &model).unwrap();
    let bytes = std::fs::read(models().join("weights/other_weights.bin")).unwrap();
    let verdict = |start: usize, data: &[f32], weights: &str| {
        let mut changed = bytes.clone();
        changed[start..start + 4 * data.len()].copy_from_slice(&floats(data));
        std::fs::write(folder.join("weights/other_weights.bin"), changed).unwrap();
        verdict(&compiled, &model, weights)
    };
    let alpha = [0.5, 2.0, 1.0, -1.0];
    assert_eq!(verdict(0, &alpha, "file"), "free");
    assert_eq!(verdict(0, &alpha, "embed"), "fixed");
    assert_eq!(verdict(48, &[-0.5], "file"), "fixed");
}

fn models() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui-tests/models")
}

fn floats(all: &[f32]) -> Vec<u8> {
    all.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Returns the verdict on loading the second file: `free`, `fixed` or `refused`. `weights` is the storage of the
/// program.
fn verdict(first: &std::path::Path, second: &std::path::Path, weights: &str) -> &'static str {
    let paths = [first, second].map(|path| path.to_str().unwrap());
    let json = run(&["diff", "--json", "--weights", weights, paths[0], paths[1]]).out;
    let json: Json = serde_json::from_str(&json).unwrap();
    match json["reason"].as_str() {
        None => "free",
        Some(reason) if reason.ends_with("whose code depends on its value") => "fixed",
        Some(_) => "refused",
    }
}
