//! `operators`, `completions` and `man`, and exit codes.

use expect_test::expect;
use serde_json::Value as Json;

use super::run;

#[test]
fn one_with_its_versions_and_its_specification() {
    let answer = run(&["operators", "gemm"]);
    expect![[r#"
        Gemm  product
          versions  1, 6, 7, 9, 11, 13
          inputs    2 to 3
          outputs   1
          https://onnx.ai/onnx/operators/onnx__Gemm.html
    "#]]
    .assert_eq(&answer.out);
    assert_eq!(answer.code, 0);
}

#[test]
fn one_that_is_not_there_has_neighbors_and_an_error() {
    let answer = run(&["operators", "Relux"]);
    let (message, report) = answer.out.split_once("a model that uses it does not compile:").unwrap();
    expect![[r#"
        unknown operator `Relux`
          operators with similar names: Relu
    "#]]
    .assert_eq(message);
    assert!(report.contains("operator `Relux` is not supported"));
    assert_eq!(answer.code, 1);
}

#[test]
fn all_of_them_stand_in_the_table_as_in_json() {
    let table = run(&["operators"]).out;
    let json: Json = serde_json::from_str(&run(&["operators", "--json"]).out).unwrap();
    let all = json.as_array().unwrap();
    assert!(table.ends_with(&format!(
        "{} operators, with the opset versions that define or change them, all of which are supported\n",
        all.len()
    )));
    let conv: Vec<&str> = table
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("Conv "))
        .flat_map(str::split_whitespace)
        .collect();
    assert_eq!(conv, ["Conv", "convolution", "1,", "11,", "22"]);
}

#[test]
fn a_shell_completes_verbs_and_a_manual_names_them() {
    let script = run(&["completions", "bash"]).out;
    assert!(script.contains("inspect") && script.contains("--as-read"));
    assert!(run(&["man"]).out.contains("inspect"));
    for verb in ["completions", "man"] {
        assert!(run(&[verb, "--help"]).out.contains("there is no --json"));
    }
}

#[test]
fn exit_codes_say_whether_the_model_or_the_call_is_at_fault() {
    let help = run(&["--help"]).out;
    assert!(help.contains("Exit codes:\n  0  success\n  1  a problem in a model"));
    assert_eq!(run(&["operators", "Gemm"]).code, 0);
    assert_eq!(run(&["inspect", "Cargo.toml"]).code, 1);
    assert_eq!(run(&["expand", "README.md", "--name", "no name"]).code, 1);
    assert_eq!(run(&["verify", "no/such/model.onnx"]).code, 2);
    assert_eq!(run(&["inspect"]).code, 2);
    assert_eq!(run(&["expand", "m.onnx", "--fast"]).code, 2);
}

#[test]
fn each_verb_has_examples_below_its_help() {
    for verb in [
        "inspect",
        "expand",
        "view",
        "diff",
        "adapt",
        "externalize",
        "shrink",
        "doctor",
        "new",
        "operators",
        "sbom",
        "verify",
        "bench",
        "record",
        "compare",
        "completions",
        "man",
    ] {
        let help = run(&[verb, "--help"]).out;
        let (_, examples) = help.split_once("Examples:\n").unwrap();
        assert!(examples.contains(&format!("cargo onnx-embed {verb}")), "{verb}");
    }
}
