//! Rows of a constant that indices select.

use std::ops::Range;

use crate::dim::Dim;
use crate::dtype::DType;
use crate::graph::{Node, ValueId};
use crate::ops;
use crate::ops::index::gather::Gather;
use crate::ops::product::matmul::MatMul;
use crate::passes::rewrite::{Match, Miss, Rule, building};
use crate::proto::Setting;
use crate::types::Known;

pub const RULES: &[Rule] = &[
    building("product with one-hot rows", "MatMul|Linear:product(Cast(Equal:one(..)), $w, ..)", one_hot)
        .law("Σ [i = k] · w[k] over all k is w[i] if there is such a row, else 0; all elements of w are finite")
        .example(
            "(int64[N, 1] i) => (float[N, 2] y)
            <int64[3] k = {5, 6, 7}, float[3, 2] w = {1, 2, 3, 4, 5, 6}> {
                e = Equal (i, k) h = Cast <to = 1> (e) y = MatMul (h, w)
            }",
        ),
    building(
        "function of selected rows",
        "Add|Sub|Mul|Div|Gelu|Relu|Tanh|Sigmoid|Erf|Exp|Sqrt|Abs|Neg|Swish|HardSwish|HardSigmoid\
         |LeakyRelu|Elu|Softplus:f(..)",
        of_rows,
    )
    .law("f(w[i], c) = f(w, c)[i] if f computes each element alone and c is equal for all rows")
    .example(
        "(int64[N, 4] i) => (float[N, 4, 2] y)
        <float[3, 2] w = {1, 2, 3, 4, 5, 6}, float[1, 1, 2] c = {7, 8}> {
            r = Gather (w, i) y = Mul (r, c)
        }",
    ),
];

/// Replaces the product of a one-hot encoding with a weight by the rows of the weight, and by a row of zeros where no class is
/// equal.
fn one_hot(m: &mut Match<'_, '_>) -> Result<ValueId, Miss> {
    let (node, weight) = (m.node("one")?, m.value("w")?);
    if !m.operator::<MatMul>("product")?.is_plain() {
        return Err("the product has an epilogue or transposed operands");
    }
    if m.result()?.dtype != DType::F32 {
        return Err("the weight is not in single precision");
    }
    let [count, length] = matrix_sizes(m, weight)?;
    m.copied(weight)?;
    if !m.finite(weight) {
        return Err("the weight may be infinite");
    }
    let operands = node.input(0).zip(node.input(1)).ok_or("the node has no input")?;
    let (indices, classes) = match (classes(m, operands.0, count), classes(m, operands.1, count)) {
        (_, Some(classes)) => (operands.0, classes),
        (Some(classes), _) => (operands.1, classes),
        _ => return Err("the classes are not consecutive integers"),
    };
    // Exporters repeat each integer once for each class.
    let expand = m.maker(indices).filter(|node| &*node.kind == "Expand");
    let indices = expand.and_then(|node| node.input(0)).unwrap_or(indices);
    let found = m.tensor_of(indices)?;
    let dtype = found.dtype;
    let Some((_, outer)) = found.shape.split_last().filter(|(last, _)| last.is(1)) else {
        return Err("each row is compared with several integers");
    };
    if outer.is_empty() || m.result()?.shape.split_last().is_none_or(|(_, rows)| rows != outer) {
        return Err("the integers are repeated along other axes, too");
    }
    let outer = outer.to_vec();
    let number =
        |m: &mut Match<'_, '_>, value: i64| m.constant(dtype, Vec::new(), Known::Ints(vec![value.into()]));
    let sizes = m.sizes(&outer, &[indices])?;
    let class = m.call("Reshape", &[], &[Some(indices), Some(sizes)])?;
    let [first, end] = [number(m, classes.start), number(m, classes.end)];
    let is_below = m.call("Less", &[], &[Some(class), Some(first)])?;
    let is_above = m.call("Greater", &[], &[Some(class), Some(end)])?;
    let is_none = m.call("Or", &[], &[Some(is_below), Some(is_above)])?;
    let mut row = m.call("Where", &[], &[Some(is_none), Some(end), Some(class)])?;
    if classes.start != 0 {
        // All integers are classes or `end` now: the difference of any other could overflow.
        row = m.call("Sub", &[], &[Some(row), Some(first)])?;
    }
    let shape = m.integers(vec![1.into(), length.into()]);
    let zeros = m.call("ConstantOfShape", &[], &[Some(shape)])?;
    let table = m.call("Concat", &[("axis", Setting::Int(0))], &[Some(weight), Some(zeros)])?;
    let rows = m.call("Gather", &[("axis", Setting::Int(0))], &[Some(table), Some(row)])?;
    match m.root().input(2) {
        Some(bias) => m.call("Add", &[], &[Some(rows), Some(bias)]),
        None => Ok(rows),
    }
}

/// Returns the elements of a constant if they are `count` consecutive integers along the last axis, and its type represents
/// their end.
fn classes(m: &Match<'_, '_>, id: ValueId, count: i64) -> Option<Range<i64>> {
    let tensor = m.tensor_of(id).ok()?;
    tensor.shape.last().filter(|last| last.is(count))?;
    let all = m.value_of(id).known.read()?.numbers()?;
    let first = *all.first()?;
    let classes = first..first.checked_add(count)?;
    let is_represented = match tensor.dtype {
        DType::I32 => i32::try_from(classes.end).is_ok(),
        dtype => dtype == DType::I64,
    };
    (is_represented && classes.clone().eq(all)).then_some(classes)
}

/// Replaces `f(w[i], c)` by `f(w, c)[i]`.
fn of_rows(m: &mut Match<'_, '_>) -> Result<ValueId, Miss> {
    let root = m.root();
    if !ops::facts(&root.kind).elementwise {
        return Err("");
    }
    let is_selected = |id: &Option<ValueId>| id.and_then(|id| Some((id, selection(m, id)?)));
    let mut selected = root.inputs.iter().filter_map(is_selected);
    let (Some((picked, gather)), None) = (selected.next(), selected.next()) else {
        return Err("");
    };
    let (table, indices) = gather.input(0).zip(gather.input(1)).ok_or("the node has no input")?;
    let [rows, length] = matrix_sizes(m, table)?;
    let fixed = m.tensor_of(indices)?.shape.iter().filter_map(Dim::number);
    if fixed.fold(1, i64::saturating_mul) < rows {
        return Err("fewer rows may be selected than there are");
    }
    if m.result()?.shape != m.tensor_of(picked)?.shape {
        return Err("the rows are broadcast");
    }
    m.copied(table)?;
    let mut inputs = Vec::new();
    for id in root.inputs.clone() {
        inputs.push(match id {
            Some(id) if id == picked => Some(table),
            Some(id) => Some(of_each_row(m, id, length)?),
            None => None,
        });
    }
    let table = m.made(root.clone(), &inputs)?;
    m.made(gather.clone(), &[Some(table), Some(indices)])
}

/// Returns the sizes of a constant of rank 2.
fn matrix_sizes(m: &Match<'_, '_>, id: ValueId) -> Result<[i64; 2], Miss> {
    match m.tensor_of(id)?.shape.as_slice() {
        [rows, length] => {
            let sizes = rows.number().zip(length.number()).map(|(rows, length)| [rows, length]);
            sizes.ok_or("the sizes of the constant are known only at run time")
        }
        _ => Err("the constant is not a matrix"),
    }
}

/// Returns the node that selects rows of a constant as a value that is used once.
fn selection<'g>(m: &Match<'_, 'g>, id: ValueId) -> Option<&'g Node> {
    let node = m.maker(id).filter(|node| &*node.kind == "Gather" && m.uses(id) == 1)?;
    let is_by_rows = node.operator_as::<Gather>()?.along(2) == Some(0);
    (is_by_rows && m.value_of(node.input(0)?).is_constant()).then_some(node)
}

/// Returns a constant that is equal for all rows, with at most the rank of a row.
fn of_each_row(m: &mut Match<'_, '_>, id: ValueId, length: i64) -> Result<ValueId, Miss> {
    let shape = &m.tensor_of(id)?.shape;
    let is_row = match shape.split_last() {
        Some((last, outer)) => outer.iter().all(|size| size.is(1)) && (last.is(1) || last.is(length)),
        None => true,
    };
    if !is_row || !m.value_of(id).is_constant() {
        return Err("another operand is not a constant for each row");
    }
    let size = shape.last().and_then(Dim::number);
    match (shape.len(), size) {
        (0 | 1, _) | (_, None) => Ok(id),
        (_, Some(size)) => m.shaped(id, &[size]),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::passes::rewrite::testing::{graph, reasons, shown};

    #[test]
    fn rows_are_selected() {
        expect![[r#"
            product with one-hot rows
              <
              int64[3] k = {5, 6, 7},
              float32[3, 2] w = {1, 2, 3, 4, 5, 6}
              >
              bool[N, 3] e = Equal (i, k)
              float32[N, 3] h = Cast <to: F32, saturate: true, toward: "Up"> (e)
              float32[N, 2] y = MatMul (h, w)
              =>
              <
              float32[3, 2] w = {1, 2, 3, 4, 5, 6},
              int64[1] %6 = {N},
              int64[] %8 = {5},
              int64[] %9 = {8},
              float32[4, 2] %17 = Concat (w, {0, 0})
              >
              int64[N] %7 = Reshape (i, %6)
              bool[N] %10 = Less (%7, %8)
              bool[N] %11 = Greater (%7, %9)
              bool[N] %12 = Or (%10, %11)
              int64[N] %13 = Where (%12, %9, %7)
              int64[N] %14 = Sub (%13, %8)
              float32[N, 2] y = Gather <axis: 0> (%17, %14)
            function of selected rows
              <
              float32[3, 2] w = {1, 2, 3, 4, 5, 6},
              float32[1, 1, 2] c = {7, 8}
              >
              float32[N, 4, 2] r = Gather <axis: 0> (w, i)
              float32[N, 4, 2] y = Mul (r, c)
              =>
              <
              float32[3, 2] w = {1, 2, 3, 4, 5, 6},
              float32[1, 1, 2] c = {7, 8},
              float32[3, 2] %7 = Mul (w, Reshape (c, {2}))
              >
              float32[N, 4, 2] y = Gather <axis: 0> (%7, i)
        "#]]
        .assert_eq(&shown(super::RULES));
    }

    #[test]
    fn ends_of_classes_are_integers_of_their_type() {
        for (dtype, last) in [("int64", i64::MAX), ("int32", i64::from(i32::MAX))] {
            for (first, is_replaced) in [(last - 1, false), (last - 2, true)] {
                let text = format!(
                    "<ir_version: 10, opset_import: [\"\": 25]>
                    g ({dtype}[N, 1] i) => (float[N, 3] y)
                    <{dtype}[2] k = {{{first}, {}}}, float[2, 3] w = {{1, 2, 3, 4, 5, 6}}> {{
                        e = Equal (i, k) h = Cast <to = 1> (e) y = MatMul (h, w)
                    }}",
                    first + 1
                );
                let (_, report) = graph(&text, super::RULES);
                assert_eq!(!report.applied.is_empty(), is_replaced, "{dtype} {first}");
            }
        }
    }

    #[test]
    fn each_row_of_a_product_has_one_integer() {
        let reasons = |shapes: [&str; 3], integers: &str| {
            let [i, k, y] = shapes;
            let example = format!(
                "(int64[{i}] i) => (float[{y}] y) <int64[{k}] k = {{5, 6, 7}},
                float[3, 2] w = {{1, 2, 3, 4, 5, 6}}> {{
                    j = {integers} e = Equal (j, k) h = Cast <to = 1> (e) y = MatMul (h, w)
                }}"
            );
            reasons("product with one-hot rows", &example)
        };
        let repeated = "the integers are repeated along other axes, too";
        assert_eq!(reasons(["N, 1", "1, 1, 3", "1, N, 2"], "Neg (i)"), [repeated]);
        assert_eq!(reasons(["1", "3", "2"], "Neg (i)"), [repeated]);
        assert_eq!(
            reasons(["1, 3", "3, 1", "3, 2"], "Neg (i)"),
            ["the classes are not consecutive integers"]
        );
    }

    #[test]
    fn integers_are_repeated_or_computed() {
        let shown = |integers: &str| {
            let text = format!(
                "<ir_version: 10, opset_import: [\"\": 25]>
                g (int64[N, 1] i) => (float[N, 2] y)
                <int64[2] k = {{0, 1}}, int64[2] sizes = {{1, 2}}, float[2, 2] w = {{1, 2, 3, 4}}> {{
                    j = {integers} e = Equal (j, k) h = Cast <to = 1> (e) y = MatMul (h, w)
                }}"
            );
            graph(&text, super::RULES).0
        };
        expect![[r#"
            g (int64[N, 1] i) => (float32[N, 2] y)
            <
                float32[2, 2] w = {1, 2, 3, 4},
                int64[1] %8 = {N},
                int64[] %10 = {0},
                int64[] %11 = {2},
                float32[3, 2] %18 = Concat (w, {0, 0})
            >
            {
                int64[N] %9 = Reshape (i, %8)
                bool[N] %12 = Less (%9, %10)
                bool[N] %13 = Greater (%9, %11)
                bool[N] %14 = Or (%12, %13)
                int64[N] %15 = Where (%14, %11, %9)
                float32[N, 2] y = Gather <axis: 0> (%18, %15)
            }
        "#]]
        .assert_eq(&shown("Expand (i, sizes)"));
        expect![[r#"
            g (int64[N, 1] i) => (float32[N, 2] y)
            <
                float32[2, 2] w = {1, 2, 3, 4},
                int64[1] %8 = {N},
                int64[] %10 = {0},
                int64[] %11 = {2},
                float32[3, 2] %18 = Concat (w, {0, 0})
            >
            {
                int64[N, 1] j = Neg (i)
                int64[N] %9 = Reshape (j, %8)
                bool[N] %12 = Less (%9, %10)
                bool[N] %13 = Greater (%9, %11)
                bool[N] %14 = Or (%12, %13)
                int64[N] %15 = Where (%14, %11, %9)
                float32[N, 2] y = Gather <axis: 0> (%18, %15)
            }
        "#]]
        .assert_eq(&shown("Neg (i)"));
    }

    #[test]
    fn functions_of_rows_are_the_same_for_all_rows() {
        let outcomes = |outputs: &str, axis: i64, c: &str| {
            let text = format!(
                "<ir_version: 10, opset_import: [\"\": 25]>
                g (int64[N, 2] i, float[2] x) => (float[A, B, 2] y{outputs})
                <float[2, 2] w = {{1, 2, 3, 4}}, float[2] row = {{7, 8}}, float[2, 2] rows = {{5, 6, 7, 8}}> {{
                    r = Gather <axis = {axis}> (w, i) y = Mul (r, {c})
                }}"
            );
            let (_, report) = graph(&text, super::RULES);
            report.applied.iter().chain(&report.missed).map(|event| event.reason).collect::<Vec<_>>()
        };
        let varies = "another operand is not a constant for each row";
        assert_eq!(outcomes("", 0, "row"), [""]);
        assert_eq!(outcomes("", 0, "rows"), [varies]);
        assert_eq!(outcomes("", 0, "x"), [varies]);
        assert_eq!(outcomes("", 1, "row"), [""; 0]);
        assert_eq!(outcomes(", float[N, 2, 2] r", 0, "row"), [""; 0]);
    }
}
