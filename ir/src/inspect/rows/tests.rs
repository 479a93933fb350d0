use expect_test::{Expect, expect};

use super::*;
use crate::options::Options;
use crate::testing::file;

/// Checks the axes of the rows of each graph, a line for each.
#[track_caller]
fn check(graphs: &[&str], expected: Expect) {
    let opsets = r#"["" : 21, "com.microsoft" : 1]"#;
    let mut shown = String::new();
    for graph in graphs {
        let text = format!("<ir_version: 10, opset_import: {opsets}> g {graph}");
        let model = match crate::load_bytes(file(&text).into(), &Options::default()) {
            Ok(model) => model,
            Err(problems) => panic!("{graph}: {}", problems.report("model")),
        };
        let line = match independent(&model.graph) {
            None => "none".to_owned(),
            Some(IndependentRows { inputs, outputs, bytes_per_element }) => {
                let axes = |axes: Vec<Option<usize>>| {
                    let axes = axes.iter().map(|axis| axis.map_or("-".to_owned(), |axis| axis.to_string()));
                    axes.collect::<Vec<_>>().join(" ")
                };
                let outputs = outputs.into_iter().map(Some).collect();
                format!("{} > {}, {bytes_per_element} bytes", axes(inputs), axes(outputs))
            }
        };
        shown.push_str(&line);
        shown.push('\n');
    }
    expected.assert_eq(&shown);
}

#[test]
fn rows_of_layers_are_independent() {
    check(
        &[
            "(float[n, 3, 8, 8] x, float[4, 3, 3, 3] w) => (float[n, 4] y) {
                c = Conv(x, w)
                r = Relu(c)
                m = MaxPool<kernel_shape = [2, 2]>(r)
                g = GlobalAveragePool(m)
                y = Flatten(g)
            }",
            "(float[n, k, 8] x, float[8, 4] w, float[4] b) => (float[n, k, 4] y) {
                p = MatMul(x, w)
                s = Add(p, b)
                y = Softmax(s)
            }",
            "(float[t, n, 3] x, float[1, 8, 3] w, float[1, 8, 2] r, int32[n] lengths)
                => (float[t, 1, n, 2] y, float[1, n, 2] h) {
                y, h = LSTM<hidden_size = 2>(x, w, r, , lengths)
            }",
            "(int64[n, k] ids, float[100, 8] table, float[8] scale) => (float[n, 8] y) {
                e = Gather(table, ids)
                l = LayerNormalization(e, scale)
                axes = Constant<value_ints = [1]>()
                y = ReduceMean<keepdims = 0>(l, axes)
            }",
            // Two inputs have different sizes of the same name.
            "(float[n, 4] x, float[4, n] z) => (float[n, 4, n] y) {
                axes = Constant<value_ints = [2]>()
                u = Unsqueeze(x, axes)
                y = Add(u, z)
            }",
            "(float[n, k, 8] x) => (float[n, 4, k, 2] y, float[n, 2] z) {
                heads = Constant<value_ints = [0, 0, 4, 2]>()
                h = Reshape(x, heads)
                y = Transpose<perm = [0, 2, 1, 3]>(h)
                starts = Constant<value_ints = [0]>()
                ends = Constant<value_ints = [2]>()
                axes = Constant<value_ints = [1]>()
                first = Constant<value_int = 0>()
                f = Gather<axis = 1>(x, first)
                z = Slice(f, starts, ends, axes)
            }",
        ],
        expect![[r#"
            0 - > 0, 7 bytes
            0 - - > 0, 6 bytes
            1 - - 0 > 2 1, 7 bytes
            0 - - > 0, 64 bytes
            0 - > 0, 516 bytes
            0 > 0 0, 8 bytes
        "#]],
    );
}

#[test]
fn rows_of_moved_and_quantized_elements_are_independent() {
    check(
        &[
            "(float[n, 4, 6, 6] x, float[3, 4, 2, 2] w, float[3] s, float[3] b, float[1, 1, 2, 2] v)
                => (float[n, 1, 14, 14] y, int64[n, 7, 7] z) {
                pads = Constant<value_ints = [0, 0, 1, 1, 0, 0, 1, 1]>()
                p = Pad<mode = \"reflect\">(x, pads)
                c = Conv(p, w)
                g = GroupNormalization<num_groups = 3>(c, s, b)
                sizes = Constant<value_ints = [1, 2]>()
                a, m = Split<axis = 1>(g, sizes)
                y = ConvTranspose<strides = [2, 2]>(a, v)
                z = ArgMax<axis = 1, keepdims = 0>(m)
            }",
            "(float[n, 4, 6, 6] x, float s, uint8 z) => (float[n, 1, 12, 12] y) {
                q = QuantizeLinear(x, s, z)
                d = DequantizeLinear(q, s, z)
                e = DepthToSpace<blocksize = 2>(d)
                rows = Shape<end = 1>(e)
                sizes = Constant<value_ints = [1, 12, 12]>()
                to = Concat<axis = 0>(rows, sizes)
                y = Resize(e, , , to)
            }",
            "(uint8[n, 4] x, float s, uint8 z, int8[4, 2] w, int8[2] o, float[2] f) => (uint8[n, 2] y, uint8[n, 4] t) {
                p = QLinearMatMul(x, s, z, w, f, o, s, z)
                a = com.microsoft.QLinearAdd(p, s, z, p, s, z, s, z)
                y = com.microsoft.QLinearSigmoid(a, s, z, s, z)
                t = com.microsoft.QLinearConcat<axis = 1>(s, z, y, s, z, p, s, z)
            }",
            "(int32[n, k] x, int32 axis) => (int32[n, k] y, int32[n, k] z) {
                one = Constant<value_int = 1>()
                y = CumSum(x, one)
                starts = Constant<value_ints = [0, 0]>()
                ends = Constant<value_ints = [1000000000, 1000000000]>()
                s = Slice(y, starts, ends)
                z = Neg(s)
            }",
        ],
        expect![[r#"
            0 - - - - > 0 0, 12 bytes
            0 - - > 0, 8 bytes
            0 - - - - - > 0 0, 2 bytes
            0 - > 0 0, 8 bytes
        "#]],
    );
}

#[test]
fn sizes_of_rows_may_be_read() {
    check(
        &[
            "(float[n, 4] x) => (float[n, 2, 2] y) {
                s = Shape<end = 1>(x)
                two = Constant<value_ints = [2, 2]>()
                to = Concat<axis = 0>(s, two)
                y = Reshape(x, to)
            }",
            "(float[n, 4] x) => (float[n, 4] y) {
                s = Shape(x)
                zeros = ConstantOfShape(s)
                y = Add(x, zeros)
            }",
            "(float[n, 4] x, float[1, 4] token) => (float[n, 2, 4] y) {
                rows = Shape<end = 1>(x)
                columns = Constant<value_ints = [4]>()
                to = Concat<axis = 0>(rows, columns)
                e = Expand(token, to)
                axes = Constant<value_ints = [1]>()
                a = Unsqueeze(e, axes)
                b = Unsqueeze(x, axes)
                y = Concat<axis = 1>(a, b)
            }",
            // The number itself.
            "(float[n, 4] x) => (float[n, 4] y) {
                s = Shape<end = 1>(x)
                f = Cast<to = 1>(s)
                y = Div(x, f)
            }",
            "(float[n, 4] x) => (int64[n] y) {
                s = Shape<end = 1>(x)
                zero = Constant<value_int = 0>()
                one = Constant<value_int = 1>()
                axes = Constant<value_ints = [0]>()
                rows = Squeeze(s, axes)
                y = Range(zero, rows, one)
            }",
            // An element of a constant, which the number selects.
            "(float[n, 4] x, float[100, 4] table) => (float[n, 4] y) {
                s = Shape<end = 1>(x)
                row = Gather(table, s)
                y = Add(x, row)
            }",
            "(float[n, 4] x, float[100, 4] table) => (float[n, 4] y) {
                end = Shape<end = 1>(x)
                one = Constant<value_ints = [1]>()
                start = Sub(end, one)
                row = Slice(table, start, end)
                y = Add(x, row)
            }",
        ],
        expect![[r#"
            0 > 0, 8 bytes
            0 > 0, 12 bytes
            0 - > 0, 16 bytes
            none
            none
            none
            none
        "#]],
    );
}

#[test]
fn rows_that_depend_on_each_other_are_found() {
    check(
        &[
            // Sums, products, norms and orders of several rows.
            "(float[n, 4] x) => (float[1, 4] y) {
                axes = Constant<value_ints = [0]>()
                y = ReduceSum(x, axes)
            }",
            "(float[n, 4] x) => (float[n, 4] y) {
                axes = Constant<value_ints = [0]>()
                m = ReduceMean(x, axes)
                y = Sub(x, m)
            }",
            "(float[n, 4] x) => (float[n, 4] y) { y = Softmax<axis = 0>(x) }",
            "(float[n, 4] x, float[n] scale) => (float[n, 4] y) {
                t = Transpose(x)
                l = LayerNormalization(t, scale)
                y = Transpose(l)
            }",
            "(float[n, 4] x, float[n, 5] z) => (float[4, 5] y) {
                t = Transpose(x)
                y = MatMul(t, z)
            }",
            "(float[n, 4] x) => (float[n, n] y) {
                t = Transpose(x)
                y = MatMul(x, t)
            }",
            "(float[n, 4] x) => (float[n, 4] y) {
                zero = Constant<value_int = 0>()
                y = CumSum(x, zero)
            }",
            "(float[n, 1, 4] x) => (float[1, n, 4] y, float[1, n, 4] i) {
                t = Transpose<perm = [1, 0, 2]>(x)
                y = AveragePool<kernel_shape = [3], pads = [1, 1]>(t)
                i = Identity(y)
            }",
            "(float[1, n, 4] x, float[4, 4, 3] w) => (float[1, 4, n] y) {
                t = Transpose<perm = [0, 2, 1]>(x)
                y = Conv<pads = [1, 1]>(t, w)
            }",
            // The recurrence is over rows.
            "(float[n, 1, 3] x, float[1, 8, 3] w, float[1, 8, 2] r) => (float[n, 1, 1, 2] y) {
                y = LSTM<hidden_size = 2>(x, w, r)
            }",
            // Rows of other rows.
            "(float[n, 4] x, int64[n] i) => (float[n, 4] y) { y = Gather(x, i) }",
            "(float[n, 4] x) => (float[n, 4] y) {
                starts = Constant<value_ints = [-1]>()
                ends = Constant<value_ints = [-1000000]>()
                axes = Constant<value_ints = [0]>()
                steps = Constant<value_ints = [-1]>()
                y = Slice(x, starts, ends, axes, steps)
            }",
            "(float[n, 4] x, float[1, 4] z) => (float[m, 4] y) { y = Concat<axis = 0>(x, z) }",
            "(float[n, 4] x) => (float[m, 4] y) {
                pads = Constant<value_ints = [1, 0, -1, 0]>()
                y = Pad<mode = \"reflect\">(x, pads)
            }",
            "(float[n, 4] x) => (float[n, 4] y) {
                axes = Constant<value_ints = [0]>()
                pads = Constant<value_ints = [1, -1]>()
                y = Pad(x, pads, , axes)
            }",
            "(float[n, 4] x) => (float[1, 4] y, float[m, 4] z) {
                sizes = Constant<value_ints = [1, -1]>()
                y, z = Split<num_outputs = 2>(x)
            }",
            "(float[n, 4] x, float[1, 4, 2, 2] i) => (float[n, 4] y) {
                starts = Constant<value_ints = [2]>()
                ends = Constant<value_ints = [1000000000]>()
                s = Slice(x, starts, ends)
                y = Relu(s)
            }",
            // Elements of a row become elements of several rows.
            "(float[n, 4] x) => (float[4, n] y) {
                to = Constant<value_ints = [4, -1]>()
                y = Reshape(x, to)
            }",
            "(float[n, 4] x) => (float[m] y) {
                to = Constant<value_ints = [-1]>()
                y = Reshape(x, to)
            }",
            // A parameter of all rows is computed.
            "(float[n, 4] x) => (uint8[n, 4] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear(x) }",
            "(float[n, 4, 8] x) => (float[n, 4, 4] y, int64[n, 4, 4] i) {
                y, i = MaxPool<kernel_shape = [2], strides = [2]>(x)
            }",
            "(float[n, 4] x, float[n] s) => (uint8[n, 4] y) { y = QuantizeLinear<axis = 0>(x, s) }",
            "(float[n, 4] x, float[3] s) => (uint8[n, 4] y) { y = QuantizeLinear<axis = 0>(x, s) }",
            "(uint8[n, 4] x, float[3] s, uint8[3] z, int8[4, 2] w, int8 o, float f) => (int8[n, 2] y) {
                y = QLinearMatMul(x, s, z, w, f, o, f, o)
            }",
            "(float[n, 4] x) => (int64[4] y) { y = ArgMax<keepdims = 0>(x) }",
            // Random numbers depend on the calls before.
            "(float[n, 4] x) => (float[n, 4] y) {
                r = RandomNormalLike(x)
                y = Add(x, r)
            }",
            // Rows decide for all.
            "(float[n, 4] x) => (float[n, 4] y) {
                m = ReduceMax<keepdims = 0>(x)
                zero = Constant<value_float = 0.0>()
                c = Greater(m, zero)
                y = If(c) <
                    then_branch = a () => (float[n, 4] p) { p = Neg(x) },
                    else_branch = b () => (float[n, 4] q) { q = Abs(x) }
                >
            }",
            // Every row meets every row.
            "(float[n, 4] x) => (float[n, 4, n] y) {
                axes = Constant<value_ints = [2]>()
                u = Unsqueeze(x, axes)
                t = Transpose(x)
                y = Add(u, t)
            }",
            "(float[m, n, 4] x, float[n, 1, 4] z) => (float[n, n, 4] y) { y = Add(x, z) }",
            // The size is fixed, or a multiple.
            "(float[8, 4] x) => (float[8, 4] y) { y = Relu(x) }",
            // An output does not depend on rows.
            "(float[n, 4] x, float[4] z) => (float[n, 4] y, float[4] w) {
                y = Relu(x)
                w = Relu(z)
            }",
        ],
        expect![[r#"
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
            none
        "#]],
    );
}
