//! `expand`: the code of a model, as text and JSON.

use serde_json::{Value as Json, from_str};

use super::{Answer, RELU, TWIST, on};

fn json(answer: &Answer) -> Json {
    from_str(&answer.out).unwrap_or_else(|error| panic!("{error}: {}", answer.out))
}

#[test]
fn json_has_the_same_code() {
    // Both in one folder: line breaks depend on the length of its path.
    let text = on("expand_code", RELU, &["expand", "--name", "Net"]);
    let answer = on("expand_code", RELU, &["expand", "--name", "Net", "--json"]);
    let found = json(&answer);
    assert_eq!(found["code"], text.out);
    assert!(text.out.contains("pub struct Net"));
    let keys: Vec<&String> = found.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["code", "compiles", "model", "name", "problems"]);
    assert_eq!((text.code, answer.code), (0, 0));
}

#[test]
fn json_has_the_graph_or_what_rules_did() {
    let graph = on("expand_graph", RELU, &["expand", "--graph"]);
    let found = json(&on("expand_graph_json", RELU, &["expand", "--graph", "--json"]));
    assert_eq!(found["graph"], graph.out);
    let twice = r#"<ir_version: 8, opset_import: ["": 17]>
        g (float[2] x) => (float[2] y) { s = Sigmoid (x) y = Mul (x, s) }"#;
    let found = json(&on("expand_passes_json", twice, &["expand", "--passes", "--json"]));
    let passes = found["passes"].as_array().unwrap();
    let applied = passes.iter().filter_map(|pass| pass["applied"].as_array());
    let rules: Vec<&Json> = applied.flatten().map(|event| &event["rule"]).collect();
    assert_eq!(rules, ["silu"]);
    assert!(passes.iter().all(|pass| pass["graph"].is_string()));
}

#[test]
fn a_model_that_does_not_compile_has_problems_and_an_error() {
    let answer = on("expand_twist", TWIST, &["expand", "--json"]);
    let found = json(&answer);
    assert_eq!(found["compiles"], false);
    assert_eq!(found["problems"][0]["operator"], "acme.Twist opset 1");
    assert_eq!((answer.code, answer.err.as_str()), (1, ""));
}
