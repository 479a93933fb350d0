mod computed;
mod differences;
mod exporters;

use expect_test::{Expect, expect};

use super::*;
use crate::options::Weights;
use crate::testing::file;

/// Two layers with an activation.
const NET: &str = r#"<ir_version: 10, opset_import: ["": 21]>
    g (float[batch, 3] x) => (float[batch, 2] y)
    <float[4, 3] w1 = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, float[4] b1 = {1, 2, 3, 4},
     float[4, 2] w2 = {1, 2, 3, 4, 5, 6, 7, 8}, float half = {0.5}> {
        ["/fc1/Gemm"] h = Gemm <transB = 1> (x, w1, b1)
        ["/act/LeakyRelu"] a = LeakyRelu <alpha = 0.25> (h)
        ["/fc2/MatMul"] p = MatMul (a, w2)
        ["/scale/Mul"] y = Mul (p, half)
    }"#;

/// The same net from another exporter: other names, transposed weights, another order of operands and weights.
const SAME: &str = r#"<ir_version: 9, producer_name: "other", opset_import: ["": 17]>
    main (float[N, 3] input) => (float[N, 2] output)
    <float scale = {0.5}, float[2, 4] m2 = {10, 30, 50, 70, 20, 40, 60, 80}, float[4] c = {-1, -2, -3, -4},
     float[3, 4] m1 = {1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12}> {
        ["linear"] v0 = Gemm (input, m1, c)
        ["leaky"] v1 = LeakyRelu <alpha = 0.25> (v0)
        ["t"] v2 = Transpose <perm = [1, 0]> (m2)
        ["matmul"] v3 = MatMul (v1, v2)
        ["mul"] output = Mul (scale, v3)
    }"#;

fn options() -> Options {
    Options { weights: Weights::File, ..Options::default() }
}

/// Writes models in ONNX's text syntax to files of a new folder.
fn written(models: &[&str]) -> (tempfile::TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let paths = models.iter().enumerate().map(|(at, text)| {
        let path = folder.path().join(format!("{at}.onnx"));
        std::fs::write(&path, file(text)).unwrap();
        path
    });
    let paths = paths.collect();
    (folder, paths)
}

fn adapted(first: &str, second: &str) -> Result<Adapted, Obstacle> {
    let (_folder, paths) = written(&[first, second]);
    adapt(&paths[0], &paths[1], &options())
}

/// Compares the weights of the copy with the expected text.
#[track_caller]
fn check(first: &str, second: &str, expected: Expect) {
    let text = match adapted(first, second) {
        Ok(adapted) => {
            let model = crate::load_bytes(adapted.files[0].1.clone().into(), &options()).unwrap();
            let elements = |name: &str| {
                let mut values = model.graph.values.iter();
                let value = values.find(|(_, value)| value.name == name).unwrap().1;
                crate::print::elements(&value.weight.as_ref().unwrap().elements().unwrap())
            };
            let weights = adapted.weights.iter();
            let weights =
                weights.map(|moved| format!("{} = {} {}\n", moved.name, moved.from, elements(&moved.name)));
            weights.collect()
        }
        Err(obstacle) => format!("{obstacle}\n"),
    };
    expected.assert_eq(&text);
}

#[test]
fn weights_of_another_exporter_get_the_names_and_the_layout_of_the_compiled_file() {
    check(
        NET,
        SAME,
        expect![[r#"
            w1 = m1 {1, 2, 3, 4, 5, 6, 7, 8, .. 12 in all}
            b1 = c {-1, -2, -3, -4}
            half = scale {0.5}
            w2 = m2 {10, 20, 30, 40, 50, 60, 70, 80}
        "#]],
    );
}

#[test]
fn the_copy_has_the_same_structure_as_both() {
    let (folder, paths) = written(&[NET, SAME]);
    let copy = adapt(&paths[0], &paths[1], &options()).unwrap();
    let path = folder.path().join("copy.onnx");
    std::fs::write(&path, &copy.files[0].1).unwrap();
    for compiled in &paths {
        assert!(adapt(compiled, &path, &options()).is_ok());
    }
    let back = adapt(&path, &paths[0], &options()).unwrap();
    assert_eq!(back.files[0].1, std::fs::read(&paths[0]).unwrap());
}

#[test]
fn one_weight_of_the_compiled_file_has_one_value() {
    let net = |weights: &str, second: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]>
            g (float[n, 2] x) => (float[n, 2] y) <float[2, 2] a = {{1, 2, 3, 4}}{weights}> {{
                p = MatMul (x, a) e = Exp (p) y = MatMul (e, {second})
            }}"
        )
    };
    let shared = net("", "a");
    check(
        &shared,
        &net(", float[2, 2] b = {1, 2, 3, 4}", "b"),
        expect![[r#"
        a = a {1, 2, 3, 4}
    "#]],
    );
    check(
        &shared,
        &net(", float[2, 2] b = {1, 2, 3, 5}", "b"),
        expect![[r#"
            weight `a` of the compiled file has several values in the other one
        "#]],
    );
    check(
        &net(", float[2, 2] b = {1, 2, 3, 5}", "b"),
        &shared,
        expect![[r#"
        a = a {1, 2, 3, 4}
        b = a {1, 2, 3, 4}
    "#]],
    );
}

#[test]
fn integers_and_small_types_are_stored_in_their_encoding() {
    let net = |a: &str, b: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]>
            g (int64[n] i) => (int32[n] x, float[n] y)
            <int32[3] {a} = {{1, 2, 300}}, uint8[3] {b} = {{1, 2, 3}}, float s = {{0.5}}, uint8 z = {{1}}> {{
                x = Gather ({a}, i)
                g = Gather ({b}, i)
                y = DequantizeLinear (g, s, z)
            }}"
        )
    };
    check(
        &net("a", "b"),
        &net("c", "d").replace("{1, 2, 300}", "{300, -2, 1}"),
        expect![[r#"
        a = c {300, -2, 1}
        b = d {1, 2, 3}
    "#]],
    );
    check(
        &net("a", "b"),
        &net("c", "d").replace("{1, 2, 3}", "{1, 2, 4}"),
        expect![[r#"
        a = c {1, 2, 300}
        b = d {1, 2, 4}
    "#]],
    );
}

#[test]
fn independent_nodes_may_have_another_order() {
    let net = |nodes: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]>
            g (float[n, 2] x) => (float[n, 2] y) <float[2, 2] a = {{1, 2, 3, 4}}, float[2, 2] b = {{5, 6, 7, 8}}> {{
                {nodes}
            }}"
        )
    };
    check(
        &net("p = MatMul (x, a) q = MatMul (x, b) y = Sub (p, q)"),
        &net("q = MatMul (x, b) p = MatMul (x, a) y = Sub (p, q)"),
        expect![[r#"
            a = a {1, 2, 3, 4}
            b = b {5, 6, 7, 8}
        "#]],
    );
}

#[test]
fn exporters_write_layers_in_several_ways() {
    let net = |weight: &str, nodes: &str| {
        format!(
            "<ir_version: 10, opset_import: [\"\": 21]>
            g (float[n, 3] x) => (float[n, 2] y) <{weight} = {{1, 2, 3, 4, 5, 6}}, float[2] bias = {{7, 8}}> {{
                {nodes}
            }}"
        )
    };
    let columns = [
        "y = Gemm (x, w, bias)",
        "p = MatMul (x, w) y = Add (p, bias)",
        "p = MatMul (x, w) y = Add (bias, p)",
    ];
    let rows = [
        "y = Gemm <transB = 1> (x, w, bias)",
        "t = Transpose (w) y = Gemm (x, t, bias)",
        "t = Transpose (w) p = MatMul (x, t) y = Add (p, bias)",
    ];
    let columns = columns.map(|nodes| net("float[3, 2] w", nodes));
    let rows = rows.map(|nodes| net("float[2, 3] w", nodes));
    for (a, b) in columns.iter().zip(&rows) {
        for (c, d) in columns.iter().zip(&rows) {
            check(a, c, expect![["w = w {1, 2, 3, 4, 5, 6}\nbias = bias {7, 8}\n"]]);
            check(a, d, expect![["w = w {1, 4, 2, 5, 3, 6}\nbias = bias {7, 8}\n"]]);
            check(b, c, expect![["w = w {1, 3, 5, 2, 4, 6}\nbias = bias {7, 8}\n"]]);
        }
    }
}
