//! Rules that depend on attributes.

use std::fmt::Write;

use super::Call;
use crate::diagnostics::Problem;
use crate::dtype::DType;

/// Rule of operators that keep the order of elements.
pub const RESHAPED: &str = "s = Shape (x0) d0 = Reshape <allowzero = 1> (dy, s)";

/// Rule of `MatMul`. Vectors become matrices of one row or column: the sizes that a shape lacks to two axes are 1.
pub const MATMUL: &str = "
    two = Constant <value_int = 2> () nothing = Constant <value_int = 0> ()
    zeroth = Constant <value_ints = [0]> () one = Constant <value_int = 1> ()
    shape_a = Shape (x0) rank_a = Size (shape_a) lack_a = Sub (two, rank_a)
    ones_a = Max (lack_a, nothing) some_a = Unsqueeze (ones_a, zeroth)
    front = Expand (one, some_a)
    rows = Concat <axis = 0> (front, shape_a)
    shape_b = Shape (x1) rank_b = Size (shape_b) lack_b = Sub (two, rank_b)
    ones_b = Max (lack_b, nothing) some_b = Unsqueeze (ones_b, zeroth)
    back = Expand (one, some_b)
    columns = Concat <axis = 0> (shape_b, back)
    a = Reshape <allowzero = 1> (x0, rows) b = Reshape <allowzero = 1> (x1, columns)
    product = MatMul (a, b) whole = Shape (product) g = Reshape <allowzero = 1> (dy, whole)
    transposed_a = Einsum <equation = \"...ij->...ji\"> (a)
    transposed_b = Einsum <equation = \"...ij->...ji\"> (b)
    all_a = MatMul (g, transposed_b) sum_a = SumTo (all_a, a)
    d0 = Reshape <allowzero = 1> (sum_a, shape_a)
    all_b = MatMul (transposed_a, g) sum_b = SumTo (all_b, b)
    d1 = Reshape <allowzero = 1> (sum_b, shape_b)";

pub const REDUCED: &[&str] = &["axes", "keepdims", "noop_with_empty_axes"];

pub fn sum(call: &Call<'_>) -> Result<String, Problem> {
    let parts = (0..call.inputs()).map(|at| format!("d{at} = SumTo (dy, x{at}) "));
    Ok(parts.collect())
}

pub fn mean(call: &Call<'_>) -> Result<String, Problem> {
    let count = call.inputs();
    let mut text = format!("n = Number <value = \"{count}.0\"> (dy) share = Div (dy, n) ");
    for at in 0..count {
        // Writing to a string cannot fail.
        let _ = write!(text, "d{at} = SumTo (share, x{at}) ");
    }
    Ok(text)
}

/// Returns no derivative for a cast to integers.
pub fn cast(call: &Call<'_>) -> Result<String, Problem> {
    let to = call.int("to", 0);
    let dtype = i32::try_from(to).ok().and_then(DType::from_onnx);
    let dtype = dtype.ok_or_else(|| Problem::expected("`to`", to, "an ONNX element type"))?;
    Ok(if dtype.is_float() { "d0 = CastLike (dy, x0)".to_owned() } else { String::new() })
}

pub fn leaky_relu(call: &Call<'_>) -> Result<String, Problem> {
    let alpha = number(call.float("alpha", 0.01))?;
    Ok(format!(
        "zero = Number <value = \"0.0\"> (x0) up = Greater (x0, zero)
         alpha = Number <value = \"{alpha}\"> (x0) less = Mul (dy, alpha) d0 = Where (up, dy, less)"
    ))
}

pub fn gemm(call: &Call<'_>) -> Result<String, Problem> {
    let (alpha, beta) = (number(call.float("alpha", 1.0))?, number(call.float("beta", 1.0))?);
    let [a, b] = ["transA", "transB"].map(|name| u8::from(call.int(name, 0) != 0));
    let (not_a, not_b) = (1 - a, 1 - b);
    let product = |result: &str, transposed: [u8; 2], of: &str| {
        let [left, right] = transposed;
        format!("{result} = Gemm <alpha = {alpha}, transA = {left}, transB = {right}> ({of}) ")
    };
    let mut text = match a {
        0 => product("d0", [0, not_b], "dy, x1"),
        _ => product("d0", [b, 1], "x1, dy"),
    };
    text += &match b {
        0 => product("d1", [not_a, 0], "x0, dy"),
        _ => product("d1", [1, a], "dy, x0"),
    };
    if call.has(2) {
        let _ = write!(text, "beta = Number <value = \"{beta}\"> (dy) c = Mul (dy, beta) d2 = SumTo (c, x2)");
    }
    Ok(text)
}

/// Multiplies, for each input, the other inputs and `dy`, if these have all of its labels.
pub fn einsum(call: &Call<'_>) -> Result<String, Problem> {
    let equation = call.attribute("equation").and_then(|attribute| attribute.s.as_deref());
    let equation = equation.and_then(|bytes| std::str::from_utf8(bytes).ok());
    let equation: String = equation.unwrap_or_default().replace(' ', "");
    let refused = || Problem::new(format!("the derivative of the equation `{equation}` is not supported"));
    let (left, right) = equation.split_once("->").ok_or_else(refused)?;
    let terms: Vec<&str> = left.split(',').collect();
    let mut text = String::new();
    for (at, term) in terms.iter().enumerate() {
        let (mut letters, mut values) = (vec![right], vec!["dy".to_owned()]);
        for (other, letter) in terms.iter().enumerate().filter(|(other, _)| *other != at) {
            letters.push(letter);
            values.push(format!("x{other}"));
        }
        let named = |letter: char| letters.iter().any(|term| term.contains(letter));
        let twice = |letter: char| letter != '.' && term.matches(letter).count() > 1;
        if term.chars().any(|letter| !named(letter) || twice(letter)) {
            return Err(refused());
        }
        let (letters, values) = (letters.join(","), values.join(", "));
        let _ = write!(
            text,
            "e{at} = Einsum <equation = \"{letters}->{term}\"> ({values})
             d{at} = SumTo (e{at}, x{at}) "
        );
    }
    Ok(text)
}

pub fn reduce_sum(call: &Call<'_>) -> Result<String, Problem> {
    Ok(format!("g = Identity (dy) {}", repeated(call)))
}

/// Repeats `dy`, divided by the number of elements of each mean.
pub fn reduce_mean(call: &Call<'_>) -> Result<String, Problem> {
    Ok(format!(
        "many = Size (x0) few = Size (y) all = CastLike (many, dy) kept = CastLike (few, dy)
         count = Div (all, kept) g = Div (dy, count) {}",
        repeated(call)
    ))
}

/// Repeats `g` along the reduced axes.
fn repeated(call: &Call<'_>) -> String {
    let axes = call.attribute("axes").map(|attribute| attribute.ints());
    let (before, axes) = match axes {
        Some(axes) => (format!("axes = Constant <value_ints = {axes:?}> () "), "axes"),
        None if call.has(1) => (String::new(), "x1"),
        None => (String::new(), ""),
    };
    match (call.int("keepdims", 1) != 0, axes) {
        // All axes are removed, or none.
        (_, "") | (true, _) => "s = Shape (x0) d0 = Expand (g, s)".to_owned(),
        _ => {
            format!("{before} whole = Unsqueeze (g, {axes}) s = Shape (x0) d0 = Expand (whole, s)")
        }
    }
}

pub fn softmax(call: &Call<'_>) -> Result<String, Problem> {
    Ok(along(call, "p = Mul (g, v)", "m = Sub (g, sum) r = Mul (v, m)"))
}

pub fn log_softmax(call: &Call<'_>) -> Result<String, Problem> {
    Ok(along(call, "p = Identity (g)", "e = Exp (v) m = Mul (e, sum) r = Sub (g, m)"))
}

/// Computes `p` from the derivative `g` and the output `v`, and `r` from the sum of `p`. Before opset 13, the axes from
/// `axis` on were flattened.
fn along(call: &Call<'_>, summed: &str, result: &str) -> String {
    let flat = call.opset < 13;
    let axis = call.int("axis", if flat { 1 } else { -1 });
    let (before, axis) = if flat {
        (format!("g = Flatten <axis = {axis}> (dy) v = Flatten <axis = {axis}> (y)"), 1)
    } else {
        ("g = Identity (dy) v = Identity (y)".to_owned(), axis)
    };
    format!(
        "{before} {summed} axes = Constant <value_ints = [{axis}]> ()
         sum = ReduceSum (p, axes) {result}
         s = Shape (x0) d0 = Reshape <allowzero = 1> (r, s)"
    )
}

pub fn transpose(call: &Call<'_>) -> Result<String, Problem> {
    let Some(order) = call.attribute("perm").map(|attribute| attribute.ints()) else {
        return Ok("d0 = Transpose (dy)".to_owned());
    };
    let mut back: Vec<usize> = (0..order.len()).collect();
    back.sort_by_key(|&at| order.get(at));
    Ok(format!("d0 = Transpose <perm = {back:?}> (dy)"))
}

/// Writes a number in the syntax of the text.
fn number(value: f32) -> Result<String, Problem> {
    if value.is_finite() {
        Ok(format!("{value:?}"))
    } else {
        Err(Problem::expected("a factor", value, "a finite number"))
    }
}
