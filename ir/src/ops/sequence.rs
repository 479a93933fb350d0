//! Sequences: construction, access and modification.

mod construct;
mod join;
mod map;
pub mod optional;
mod split;

use std::rc::Rc;

use super::{Operator, Row, row};
use crate::attributes::attributes;
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::{DType, ElementClass};
use crate::emit::Emit;
use crate::infer::Infer;
use crate::rust::{Code, code};
use crate::types::{Known, Type};

pub use construct::construct;
use construct::empty;

pub const FAMILIES: &[&[Row]] = &[ROWS, optional::ROWS];

pub const ROWS: &[Row] = &[
    row("SequenceAt", &[11], |_| Ok(Rc::new(At))).arity("rr", "r"),
    row("SequenceConstruct", &[11], |_| Ok(construct())).arity("+", "r"),
    row("SequenceEmpty", &[11], empty).arity("", "r"),
    row("SequenceErase", &[11], |_| Ok(Rc::new(Erase))).arity("ro", "r"),
    row("SequenceInsert", &[11], |_| Ok(Rc::new(Insert))).arity("rro", "r"),
    row("SequenceLength", &[11], |_| Ok(Rc::new(Length))),
    row("SplitToSequence", &[11, 24], split::read).arity("ro", "r"),
    row("ConcatFromSequence", &[11], join::read),
    row("SequenceMap", &[17], map::read).arity("r*", "+"),
];

/// The item at a position.
#[derive(Debug)]
struct At;

attributes!(struct At);

/// The sequence without the item at a position, by default the last one.
#[derive(Debug)]
struct Erase;

attributes!(struct Erase);

/// The sequence with input 1 inserted before a position, by default appended.
#[derive(Debug)]
struct Insert;

attributes!(struct Insert);

#[derive(Debug)]
struct Length;

attributes!(struct Length);

impl Operator for At {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let item = cx.items(0)?;
        if let (Some(parts), Some(at)) = (cx.parts(0), position(cx, 1)?) {
            let part = parts.get(normalized(at, parts.len())?);
            cx.output_copy(0, *part.ok_or_else(|| out_of_bounds(at, parts.len()))?);
            return Ok(());
        }
        let ty = cx.taken_out(&item, "item");
        cx.output_type(0, ty);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        cx.may_fail();
        let (sequence, at) = (cx.value(0)?, cx.host_int(1)?);
        Ok(code!(host::at(&#sequence, #at)))
    }

    fn wants_host(&self, input: usize) -> bool {
        input == 1
    }
}

impl Operator for Erase {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let item = cx.items(0)?;
        let mut left = None;
        if let (Some(mut parts), Some(at)) = (cx.parts(0), position(cx, 1)?) {
            let at = if cx.has(1) { at } else { -1 };
            let index = normalized(at, parts.len())?;
            if index >= parts.len() {
                return Err(out_of_bounds(at, parts.len()));
            }
            parts.remove(index);
            left = Some(parts);
        }
        cx.output_type(0, Type::Sequence(Box::new(item)));
        cx.output_parts(0, left);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        cx.may_fail();
        let sequence = cx.value(0)?;
        let at = if cx.has(1) { cx.host_int(1)? } else { code!(-1) };
        Ok(code!(host::without(#sequence, #at)))
    }

    fn wants_host(&self, input: usize) -> bool {
        input == 1
    }
}

impl Operator for Insert {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let item = either(&cx.items(0)?, cx.ty(1)?)?;
        let mut all = None;
        if let (Some(mut parts), Some(at), Some(new)) = (cx.parts(0), position(cx, 2)?, cx.part(1)) {
            let before = if cx.has(2) { normalized(at, parts.len())? } else { parts.len() };
            if before > parts.len() {
                return Err(out_of_bounds(at, parts.len()));
            }
            parts.insert(before, new);
            all = Some(parts);
        }
        cx.output_type(0, Type::Sequence(Box::new(item)));
        cx.output_parts(0, all);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let whole = cx.output_type(0)?.clone();
        let sequence = cx.item(0, &whole)?;
        let item = cx.output_items(0)?.clone();
        let item = cx.item(1, &item)?;
        if !cx.has(2) {
            return Ok(code!(host::with(#sequence, #item)));
        }
        cx.may_fail();
        let at = cx.host_int(2)?;
        Ok(code!(host::with_at(#sequence, #at, #item)))
    }

    fn wants_host(&self, input: usize) -> bool {
        input == 2
    }
}

impl Operator for Length {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        cx.items(0)?;
        cx.output(0, DType::I64, vec![]);
        let length = cx.parts(0).and_then(|parts| i64::try_from(parts.len()).ok());
        cx.output_known(0, length.map(|length| Known::Ints(vec![Dim::from(length)])));
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let sequence = cx.value(0)?;
        Ok(code!(Array::scalar(#sequence.len() as i64)))
    }

    fn runs_on_host(&self) -> bool {
        true
    }

    fn makes_host(&self) -> bool {
        true
    }
}

/// Returns the item type of a sequence that contains items of both types.
fn either(a: &Type, b: &Type) -> Result<Type, Problem> {
    let found = a.either(b).filter(|item| !matches!(item, Type::Optional(_)));
    found.ok_or_else(|| Problem::new(format!("{a} and {b} cannot be items of the same sequence")))
}

/// Returns a position, if it is known; 0 if the node does not specify one.
fn position(cx: &Infer<'_>, input: usize) -> Result<Option<i64>, Problem> {
    if !cx.has(input) {
        return Ok(Some(0));
    }
    let operand = cx.tensor(input)?;
    if operand.dtype.kind() != ElementClass::Int || operand.count().is_some_and(|count| count != 1) {
        return Err(Problem::expected("the position", operand, "one integer"));
    }
    Ok(match cx.numbers(input).as_deref() {
        Some(&[at]) => Some(at),
        _ => None,
    })
}

/// Converts a position to an index counted from the start.
fn normalized(at: i64, length: usize) -> Result<usize, Problem> {
    let counted = match at {
        ..0 => i64::try_from(length).ok().and_then(|length| length.checked_add(at)),
        _ => Some(at),
    };
    counted.and_then(|at| usize::try_from(at).ok()).ok_or_else(|| out_of_bounds(at, length))
}

fn out_of_bounds(at: i64, length: usize) -> Problem {
    Problem::new(format!("position {at} is out of bounds for a sequence of length {length}"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn an_item_of_a_known_sequence_is_what_it_was_made_from() {
        check(
            r#"g (float[n, 3] a, float[4] b) => (float[4] y, int64 k) {
                one = SequenceConstruct (a)
                s = SequenceInsert (one, b)
                last = Constant <value_int = -1> ()
                t = SequenceAt (s, last)
                y = Neg (t)
                k = SequenceLength (s)
            }"#,
            expect![[r#"
                g (float32[n, 3] a, float32[4] b) => (float32[4] y, int64[] k)
                <
                    int64[] k = {2}
                >
                {
                    float32[4] y = Neg (b)
                }
            "#]],
        );
    }

    #[test]
    fn items_of_several_sizes_have_any_size() {
        check(
            r#"g (float[n, 3] a, float[m, 3] b, int64 i) => (seq(float[p, 3]) s, float[q, 3] y) {
                s = SequenceConstruct (a, b)
                t = SequenceAt (s, i)
                y = Neg (t)
            }"#,
            expect![[r#"
                g (float32[n, 3] a, float32[m, 3] b, host int64[] i) => (seq(float32[?, 3]) s, float32[item, 3] y)
                {
                    seq(float32[?, 3]) s = SequenceConstruct (a, b)
                    float32[item, 3] t = SequenceAt (s, i)
                    float32[item, 3] y = Neg (t)
                }
            "#]],
        );
    }

    #[test]
    fn parts_that_are_read_alone_are_values() {
        check(
            r#"g (float[5, n] x) => (float[3, n] y) <int64[2] sizes = {2, 3}> {
                s = SplitToSequence (x, sizes)
                one = Constant <value_int = 1> ()
                y = SequenceAt (s, one)
            }"#,
            expect![[r#"
                g (float32[5, n] x) => (float32[3, n] s_1)
                <
                    int64[2] sizes = {2, 3}
                >
                {
                    _, float32[3, n] s_1 = SplitToSequence <axis: 0, keeps: true> (x, sizes)
                }
            "#]],
        );
    }

    #[test]
    fn a_sequence_that_grows_has_the_rank_of_what_is_added() {
        check(
            r#"g (float[4, 3] x, int64 n) => (seq(float[a, 3]) y) {
                none = SequenceEmpty ()
                one = Constant <value_int = 1> ()
                zero = Constant <value_ints = [0]> ()
                y = Loop (n, , none) <body = b (int64 i, bool c, seq(float[]) s)
                    => (bool c2, seq(float[]) t) {
                    c2 = Identity (c)
                    k = Add (i, one)
                    end = Unsqueeze (k, zero)
                    piece = Slice (x, zero, end)
                    t = SequenceInsert (s, piece)
                }>
            }"#,
            expect![[r#"
                g (float32[4, 3] x, host int64[] n) => (seq(float32[?, 3]) y)
                <
                    int64[1] zero = {0},
                    int64[1] end = {i + 1}
                >
                {
                    seq(float32[?, 3]) y = Loop (n, , none)
                        body (int64[] i, bool[] c, seq(float32[?, 3]) s) => (bool[] c, seq(float32[?, 3]) t)
                        {
                            float32[min(i + 1, 4), 3] piece = Slice (x, zero, end)
                            seq(float32[?, 3]) t = SequenceInsert (s, piece)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn items_of_any_rank_are_not_computed_with() {
        check(
            r#"g (seq(float[]) s, int64 i) => (float[] y, float[] z) {
                t = SequenceAt (s, i)
                y = Neg (t)
                z = ConcatFromSequence <axis = 0> (s)
            }"#,
            expect![[r#"
                cannot compile `model`: 2 problems

                  the rank of input 0, a float32 tensor, is unknown at compile time
                    at node `y` (Neg version 13)
                    help: set the shape of the items with `inputs(..)` if their sequence is an input, or export the model with items of equal rank

                  the items are float32[..], expected tensors of equal rank
                    at node `z` (ConcatFromSequence version 11)
                    help: set the shape of the items with `inputs(..)` if their sequence is an input, or export the model with items of equal rank

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn items_are_of_one_type() {
        check(
            r#"g (float[2] a, int64[2] b) => (seq(float[2]) s, float[2] y) {
                s = SequenceConstruct (a, b)
                two = Constant <value_int = 2> ()
                one = SequenceConstruct (a, a)
                y = SequenceAt (one, two)
            }"#,
            expect![[r#"
                cannot compile `model`: 2 problems

                  float32[2] and int64[2] cannot be items of the same sequence
                    at node `s` (SequenceConstruct version 11)

                  position 2 is out of bounds for a sequence of length 2
                    at node `y` (SequenceAt version 11)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }
}
