//! `view`: pictures of graphs.

use expect_test::expect;

use super::{TWIST, folder, model, on, run};

#[test]
fn mermaid_goes_to_the_terminal_and_into_a_readme() {
    let answer = run(&["view", "examples/mnist/mnist.onnx"]);
    expect![[r#"
        ---
        title: "mnist.onnx"
        ---
        flowchart TD
          n0(["image"])
          n1["Conv + Relu<br>conv1<br>8×1×3×3, 8"]
          n2["MaxPool"]
          n3["Conv + Relu<br>conv2<br>16×8×3×3, 16"]
          n4["MaxPool"]
          n5["Flatten"]
          n6["Gemm<br>linear<br>10×784, 10"]
          n7["Softmax"]
          n8(["probabilities"])
          n0 -->|"batch×1×28×28"| n1
          n1 -->|"batch×8×28×28"| n2
          n2 -->|"batch×8×14×14"| n3
          n3 -->|"batch×16×14×14"| n4
          n4 -->|"batch×16×7×7"| n5
          n5 -->|"batch×784"| n6
          n6 -->|"batch×10"| n7
          n7 -->|"batch×10"| n8
    "#]]
    .assert_eq(&answer.out);
}

#[test]
fn the_graph_as_the_file_has_it_shows_what_was_simplified() {
    let source = r#"<ir_version: 10, opset_import: ["": 21]>
        g (float[n, 2] x) => (float[n, 2] y) { a = Identity (x) b = Sigmoid (a) y = Mul (a, b) }"#;
    let operators = |out: &str| {
        let lines = out.lines().filter(|line| line.contains("[\""));
        lines.map(|line| line.split('"').nth(1).unwrap().to_owned()).collect::<Vec<_>>()
    };
    let after = on("view_after", source, &["view"]);
    let before = on("view_before", source, &["view", "--as-read"]);
    assert_eq!(operators(&after.out), ["x", "Swish", "y"]);
    assert_eq!(operators(&before.out), ["x", "Identity", "Sigmoid", "Mul", "y"]);
}

#[test]
fn branches_stand_in_boxes_of_their_own() {
    let source = r#"<ir_version: 10, opset_import: ["": 21]>
        g (bool c, float[2] x) => (float[2] y) {
            y = If (c) <
                then_branch = yes () => (p) { p = Neg (x) },
                else_branch = no () => (q) { q = Abs (x) }
            >
        }"#;
    expect![[r##"
        digraph {
          label="m.onnx"; labelloc=t; fontname="sans-serif";
          node [shape=box, style="rounded,filled", fillcolor="#f3f5f8", color="#8a98a8", fontname="sans-serif", fontsize=11];
          edge [color="#8a98a8", fontname="sans-serif", fontsize=9];
          n0 [label="c", tooltip="c: bool", shape=ellipse];
          n1 [label="x", tooltip="x: float32[2]", shape=ellipse];
          subgraph cluster_2 { label="If"; color="#c3ccd6";
            subgraph cluster_3 { label="then_branch"; color="#c3ccd6";
              n4 [label="Neg", tooltip="Neg (version 13)\nin  x: float32[2]\nout p: float32[2]"];
              n5 [label="p", tooltip="p: float32[2]", shape=ellipse];
            }
            subgraph cluster_6 { label="else_branch"; color="#c3ccd6";
              n7 [label="Abs", tooltip="Abs (version 13)\nin  x: float32[2]\nout q: float32[2]"];
              n8 [label="q", tooltip="q: float32[2]", shape=ellipse];
            }
          }
          n9 [label="y", tooltip="y: float32[2]", shape=ellipse];
          n1 -> n4 [label="2"];
          n4 -> n5 [label="2"];
          n1 -> n7 [label="2"];
          n7 -> n8 [label="2"];
          n0 -> n4 [label="bool"];
          n8 -> n9 [label="2"];
        }
    "##]].assert_eq(&on("view_if", source, &["view", "--format", "dot"]).out);
}

#[test]
fn equal_layers_are_drawn_once() {
    let layer = |at: usize| {
        let before = if at == 0 { "x".to_owned() } else { format!("n{}", at - 1) };
        format!(
            "[\"/encoder/layer.{at}/fc/MatMul\"] m{at} = MatMul ({before}, w{at})
             [\"/encoder/layer.{at}/norm/Norm\"] l{at} = LayerNormalization (m{at}, g{at})
             [\"/encoder/layer.{at}/act/Tanh\"] t{at} = Tanh (l{at})
             [\"/encoder/layer.{at}/out/Mul\"] n{at} = Mul (t{at}, {before})"
        )
    };
    let layers: Vec<String> = (0..6).map(layer).collect();
    let weights: Vec<String> = (0..6)
        .map(|at| format!("float[2, 2] w{at} = {{1, 2, 3, {at}}}, float[2] g{at} = {{1, {at}}}"))
        .collect();
    let source = format!(
        "<ir_version: 10, opset_import: [\"\": 21]> g (float[n, 2] x) => (float[n, 2] n5) <{}> {{ {} }}",
        weights.join(", "),
        layers.join("\n")
    );
    let answer = on("view_repeats", &source, &["view"]);
    expect![[r#"
        ---
        title: "m.onnx"
        ---
        flowchart TD
          n0(["x"])
          subgraph n1["encoder.layer.0 .. encoder.layer.5 × 6"]
            n2["MatMul<br>fc<br>2×2"]
            n3["LayerNormalization<br>Norm<br>2"]
            n4["Tanh"]
            n5["Mul"]
          end
          n6(["n5"])
          n0 -->|"n×2"| n2
          n2 -->|"n×2"| n3
          n3 -->|"n×2"| n4
          n4 -->|"n×2"| n5
          n0 -->|"n×2"| n5
          n5 -->|"n×2"| n6
    "#]]
    .assert_eq(&answer.out);
}

#[test]
fn names_of_a_file_stay_text() {
    let source = r#"<ir_version: 10, opset_import: ["": 21]>
        g (float[2] "</script><img src=x onerror=alert(1)>") => (float[2] "\"];%%{init}%%") {
            "\"];%%{init}%%" = Relu ("</script><img src=x onerror=alert(1)>")
        }"#;
    let folder = folder("view_hostile");
    let path = model(&folder, "m.onnx", source);
    for form in ["svg", "html", "mermaid", "dot"] {
        let picture = folder.join(format!("m.{form}"));
        let answer = run(&["view", path.to_str().unwrap(), "-o", picture.to_str().unwrap()]);
        assert_eq!(answer.code, 0, "{}", answer.err);
        let text = std::fs::read_to_string(&picture).unwrap();
        // Graphviz itself escapes text in quotes.
        assert!(form == "dot" || !text.contains("<img"), "{form}");
        if form == "html" {
            assert_eq!(text.matches("</script>").count(), 2);
        }
    }
}

#[test]
fn programs_read_boxes_and_edges() {
    let answer = run(&["view", "--format", "json", "examples/mnist/mnist.onnx"]);
    let json: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
    let pieces = json["scene"]["pieces"].as_array().unwrap();
    assert_eq!(pieces[1]["title"], "Conv + Relu");
    assert_eq!(json["scene"]["routes"][0].to_string(), "[0,1]");
}

#[test]
fn what_cannot_be_compiled_is_drawn_as_far_as_it_was_read() {
    let answer = on("view_unsupported", TWIST, &["view", "--as-read"]);
    assert!(answer.out.contains("[\"Add"), "{}", answer.out);
    assert!(answer.err.contains("operator `acme.Twist` is not supported"));
    assert_eq!(answer.code, 1);
}

#[test]
fn a_file_of_another_name_says_which_forms_there_are() {
    let answer = run(&["view", "examples/mnist/mnist.onnx", "-o", "graph.png"]);
    expect![[r#"
        error: unknown format of `graph.png`, expected .svg, .html, .mermaid, .dot or .json; or specify `--format`
    "#]]
    .assert_eq(&answer.err);
    assert_eq!(answer.code, 2);
}
