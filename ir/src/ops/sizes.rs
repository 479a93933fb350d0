//! Checks that sizes and types agree.

use std::cmp::Ordering;
use std::fmt;

use crate::diagnostics::{Problem, Topic, counted};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::infer::{Infer, rank_of_result};
use crate::types::TensorType;

/// Owner, number and name of things: `the weight`, 7, `rows`.
pub type Count<'a> = (&'a str, &'a Dim, &'a str);

/// Reports counts that are known to differ.
pub fn equal(one: Count<'_>, other: Count<'_>) -> Result<(), Problem> {
    if differ(one.1, other.1) {
        let (one, other) = (described(one, "has"), described(other, "has"));
        Err(Problem::new(format!("{one}, but {other}")))
    } else {
        Ok(())
    }
}

/// Reports a count that is known to differ from the expected one.
pub fn exact((whose, found, things): Count<'_>, expected: &Dim) -> Result<(), Problem> {
    if differ(found, expected) {
        Err(Problem::new(format!("the number of {things} of {whose} is {found}, expected {expected}")))
    } else {
        Ok(())
    }
}

/// Reports a count that is known to be larger than another.
pub fn at_most(one: Count<'_>, other: Count<'_>) -> Result<(), Problem> {
    if order(one.1, other.1) == Some(Ordering::Greater) {
        let (one, other) = (described(one, "has"), described(other, "has only"));
        Err(Problem::new(format!("{one}, but {other}")))
    } else {
        Ok(())
    }
}

/// Reports a count that is known not to be a multiple.
pub fn multiple(one: Count<'_>, (by, what): (i64, &str)) -> Result<(), Problem> {
    let rest = one.1.number().map(|size| size.checked_rem(by));
    match rest {
        None | Some(Some(0)) => Ok(()),
        Some(_) => {
            let one = described(one, "has");
            Err(Problem::new(format!("{one}, expected a multiple of {by}, the number of {what}")))
        }
    }
}

/// Reports a size that is known to differ between two inputs.
pub fn agree(what: &str, one: &Dim, other: &Dim) -> Result<(), Problem> {
    if differ(one, other) {
        Err(Problem::new(format!("{what} is {one} in one input and {other} in another")))
    } else {
        Ok(())
    }
}

/// Reports a tensor that is known to have another shape.
pub fn shaped(what: &str, tensor: &TensorType, shape: &[Dim]) -> Result<(), Problem> {
    let mut pairs = tensor.shape.iter().zip(shape);
    if tensor.rank() != shape.len() || pairs.any(|(one, other)| differ(one, other)) {
        Err(Problem::expected(what, tensor, format_args!("shape {}", Sizes(shape))))
    } else {
        Ok(())
    }
}

/// Reports a tensor that is known not to broadcast to a shape, which must not change.
pub fn broadcasts(what: &str, tensor: &TensorType, to: &[Dim]) -> Result<(), Problem> {
    let mut pairs = tensor.shape.iter().rev().zip(to.iter().rev());
    let misfit = |(own, size): (&Dim, &Dim)| !own.is(1) && differ(own, size);
    if tensor.rank() > to.len() || pairs.any(misfit) {
        Err(Problem::expected(what, tensor, format_args!("a shape that broadcasts to {}", Sizes(to))))
    } else {
        Ok(())
    }
}

/// Reports an input that does not contain integers of 32 or 64 bits.
pub fn integers(cx: &Infer<'_>, input: usize, what: &str) -> Result<(), Problem> {
    match cx.has(input).then(|| cx.tensor(input)).transpose()? {
        None => Ok(()),
        Some(tensor) if matches!(tensor.dtype, DType::I32 | DType::I64) => Ok(()),
        Some(tensor) => Err(Problem::expected(format_args!("`{what}`"), tensor, "int32 or int64")),
    }
}

/// Reports tensors of different element types.
pub fn same_type(one: (&str, &TensorType), other: (&str, &TensorType)) -> Result<(), Problem> {
    let ((one, one_type), (other, other_type)) = (one, other);
    if one_type.dtype == other_type.dtype {
        Ok(())
    } else {
        let (one_type, other_type) = (one_type.dtype, other_type.dtype);
        Err(Problem::new(format!("{one} has type {one_type}, but {other} has type {other_type}")))
    }
}

/// Reports a list that does not have the expected number of elements.
pub fn length(list: &str, found: usize, expected: usize) -> Result<(), Problem> {
    if found == expected { Ok(()) } else { Err(wrong_length(list, found, expected)) }
}

/// Returns the problem of a list that does not have the expected number of elements.
pub fn wrong_length(list: &str, found: usize, expected: impl fmt::Display) -> Problem {
    let found = counted(found, "elements");
    Problem::new(format!("{list} has {found}, expected {expected}"))
}

/// Returns the rank of a result whose sizes are the elements of an input.
pub fn rank(cx: &Infer<'_>, sizes: usize) -> Result<usize, Problem> {
    rank_of_result(cx.tensor_of_rank(sizes, 1)?.count().ok_or_else(unknown_rank)?)
}

/// Returns the problem of a result whose rank is known only at run time.
fn unknown_rank() -> Problem {
    Problem::new("the rank of the result is unknown at compile time")
        .help("simplify the shape arithmetic of the model, or fix sizes with `dims(..)` or `inputs(..)`")
        .about(Topic::Shape)
}

/// Returns `true` if two sizes differ for all values of their symbols.
pub fn differ(one: &Dim, other: &Dim) -> bool {
    order(one, other).is_some_and(Ordering::is_ne)
}

/// Compares two sizes. Returns `None` for sizes that may differ between the items of a sequence.
fn order(one: &Dim, other: &Dim) -> Option<Ordering> {
    let any = Dim::any();
    let any = |dim: &Dim| any.name().is_some_and(|name| dim.symbols().contains(name));
    if any(one) || any(other) { None } else { one.compare(other) }
}

/// Formats `the weight has 7 rows`, with `verb` for `has`.
fn described((whose, size, things): Count<'_>, verb: &str) -> String {
    format!("{whose} {verb} {}", counted(size, things))
}

/// Displays `[n, 3]`.
pub struct Sizes<'a>(pub &'a [Dim]);

impl fmt::Display for Sizes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.0.iter().map(Dim::to_string).collect();
        write!(f, "[{}]", sizes.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::dtype::DType;
    use crate::testing::problems;

    #[track_caller]
    fn check(result: Result<(), Problem>, expected: Expect) {
        expected.assert_eq(&result.map_or_else(|problem| problem.to_string(), |()| "fine".to_owned()));
    }

    #[test]
    fn only_what_is_certain_is_refused() {
        let (n, one) = (Dim::named("n"), Dim::from(1));
        let more = n.add(&one).unwrap();
        let (left, right) = (("the weight", &one, "rows"), ("the input", &more, "classes"));
        check(equal(left, right), expect!["fine"]);
        check(equal(("x", &n, "rows"), right), expect!["x has n rows, but the input has n + 1 classes"]);
        check(at_most(left, right), expect!["fine"]);
        check(
            at_most(right, ("x", &n, "rows")),
            expect!["the input has n + 1 classes, but x has only n rows"],
        );
        check(multiple(("x", &n, "rows"), (2, "groups")), expect!["fine"]);
        check(
            multiple(left, (2, "groups")),
            expect!["the weight has 1 row, expected a multiple of 2, the number of groups"],
        );
        let any = Dim::any().add(&one).unwrap();
        check(agree("the batch", &any, &Dim::any()), expect!["fine"]);
    }

    #[test]
    fn shapes_are_compared_from_the_end() {
        let tensor = TensorType::new(DType::F32, vec![Dim::from(1), Dim::from(3)]);
        let to = [Dim::named("n"), Dim::from(3)];
        check(broadcasts("the bias", &tensor, &to), expect!["fine"]);
        check(shaped("the bias", &tensor, &to), expect!["fine"]);
        let to = [Dim::from(2), Dim::from(3)];
        check(broadcasts("the bias", &tensor, &to), expect!["fine"]);
        check(shaped("the bias", &tensor, &to), expect!["the bias is float32[1, 3], expected shape [2, 3]"]);
        check(
            broadcasts("the bias", &tensor, &to[1..]),
            expect!["the bias is float32[1, 3], expected a shape that broadcasts to [3]"],
        );
    }

    #[test]
    fn results_have_few_axes() {
        problems(
            &[
                "(float[2] x, int64[2147483648] a) => (float[n] y) { y = Unsqueeze (x, a) }",
                "(float[2] x, int64[2147483648] a) => (float[n] y) { y = Slice (x, a, a) }",
                "(float[1, 2, 3] x, int64[2147483648] a) => (float[n] y) { y = Col2Im (x, a, a) }",
                "(float[2] x, int64[2147483648] a) => (float[n] y) { y = Reshape (x, a) }",
                "(float[2] x, int64[1000] a) => (float[n] y) { z = Unsqueeze (x, a) y = Unsqueeze (z, a) }",
                "(float[2] x, int64[1023] a) => (int64[n] y) { z = Unsqueeze (x, a) y = Shape (z) }",
            ],
            expect![[r#"
                the result has 2147483649 axes, at most 1024 are supported
                the number of sliced axes is 2147483648, expected at most 1
                the result has 2147483648 axes, at most 1024 are supported
                the result has 2147483648 axes, at most 1024 are supported
                the result has 2001 axes, at most 1024 are supported
                fine
            "#]],
        );
    }
}
