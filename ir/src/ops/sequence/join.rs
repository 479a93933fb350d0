//! ConcatFromSequence: concatenation of all items.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::{Problem, Topic};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::Operator;
use crate::ops::axes::axis;
use crate::ops::shape::concat;
use crate::rust::{Code, code};
use crate::types::{Known, Shape, TensorType, Type};

/// Concatenation of items along an existing or a new axis. The inputs are a sequence, or its items if they are known.
#[derive(Debug)]
struct Join {
    axis: i64,
    new: bool,
}

attributes!(struct Join { axis, new });

pub fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let axis = a.required("axis", Attributes::int)?;
    let new = a.flag("new_axis", false)?;
    Ok(Rc::new(Join { axis, new }))
}

impl Operator for Join {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let item = match cx.items(0)? {
            Type::Nothing(_) => {
                return Err(Problem::new("the sequence is empty, expected at least one item"));
            }
            item => cx.taken_out(&item, "item"),
        };
        let parts = cx.tensors(0).filter(|parts| !parts.is_empty());
        let one = match (item, &parts) {
            (Type::Tensor(one), _) => one,
            (item, parts) => {
                let ranks: Vec<String> = parts.iter().flatten().map(ToString::to_string).collect();
                let items = if ranks.is_empty() { item.to_string() } else { ranks.join(" and ") };
                let message = format!("the items are {items}, expected tensors of equal rank");
                let help = "set the shape of the items with `inputs(..)` if their sequence is an input, or export \
                            the model with items of equal rank";
                return Err(Problem::new(message).help(help).about(Topic::Shape));
            }
        };
        let along = self.along(one.rank())?;
        let Some(parts) = parts else {
            let mut shape = one.shape;
            let size = cx.fresh("joined");
            match (self.new, shape.get_mut(along)) {
                (true, _) => shape.insert(along, size),
                (false, Some(slot)) => *slot = size,
                (false, None) => {}
            }
            cx.output(0, one.dtype, shape);
            return Ok(());
        };
        let shapes: Vec<Shape> = parts.into_iter().map(|part| self.row(part, along)).collect();
        let shapes: Vec<&Shape> = shapes.iter().collect();
        let shape = concat::shape(cx, &shapes, along)?;
        let ids = cx.parts(0).unwrap_or_default();
        let known = ids.iter().map(|&id| cx.folded_of(cx.value_of(id)));
        let known: Option<Vec<&Known>> = known.collect();
        let known = known.and_then(|known| concat::known(&known, &shapes, along));
        cx.output(0, one.dtype, shape);
        cx.output_known(0, known);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let whole = cx.output_tensor(0)?.clone();
        let at = self.along(whole.rank() - usize::from(self.new && whole.rank() > 0))?;
        let along = Literal::usize_unsuffixed(at);
        let rank = Literal::usize_unsuffixed(whole.burn_rank());
        let strings = whole.dtype == DType::String;
        let items = match cx.ty(0)? {
            Type::Tensor(_) => {
                let items = (0..cx.inputs()).map(|at| cx.value(at));
                let items: Vec<Code> = items.collect::<Result<_, _>>()?;
                code!(vec![#(#items),*])
            }
            _ => cx.value(0)?,
        };
        // Items may repeat elements that need no memory until they are concatenated.
        let is_open = whole.count().is_none();
        if is_open {
            cx.may_fail();
        }
        let bounded = |items: Code| match is_open {
            true => code!(ops::stack::bounded(#items)),
            false => items,
        };
        Ok(match (strings, self.new) {
            (true, true) => code!(host::stack(&#items, #along, &[])),
            (true, false) => code!(host::concat(&#items.iter().collect::<Vec<_>>(), #along)),
            // Scalars have one axis on the device.
            (false, true) if whole.rank() > 1 => {
                let items = bounded(items);
                code!(ops::stack::stack::<_, #rank, _>(#items, #along))
            }
            (false, _) => {
                let items = bounded(items);
                code!(Tensor::cat(#items, #along))
            }
        })
    }

    fn unpacks(&self) -> bool {
        true
    }
}

impl Join {
    /// Returns the axis of the result for items of this rank.
    fn along(&self, rank: usize) -> Result<usize, Problem> {
        axis(self.axis, rank + usize::from(self.new))
    }

    /// Returns the shape of one item in the result.
    fn row(&self, part: TensorType, along: usize) -> Shape {
        let mut shape = part.shape;
        if self.new && along <= shape.len() {
            shape.insert(along, Dim::from(1));
        }
        shape
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn items_are_joined_along_an_axis_of_theirs_or_a_new_one() {
        check(
            r#"g (float[2, n] a, float[2, 3] b, seq(float[4, m]) s) => (float[x, y] c, float[x, y, z] d, float[x, y] e) { t = SequenceConstruct (a, b) c = ConcatFromSequence <axis = 1> (t) u = SequenceConstruct (b, b) d = ConcatFromSequence <axis = -1, new_axis = 1> (u) e = ConcatFromSequence <axis = 0> (s) }"#,
            expect![[r#"
                g (float32[2, n] a, float32[2, 3] b, seq(float32[4, ?]) s) => (float32[2, n + 3] c, float32[2, 3, 2] d, float32[joined, item_2] e)
                {
                    float32[2, n + 3] c = ConcatFromSequence <axis: 1> (a, b)
                    float32[2, 3, 2] d = ConcatFromSequence <axis: -1, new: true> (b, b)
                    float32[joined, item_2] e = ConcatFromSequence <axis: 0> (s)
                }
            "#]],
        );
    }

    #[test]
    fn items_fit_each_other() {
        problems(
            &[
                r#"(float[2, 4] a, float[2, 3] b) => (float[x, y] c) { t = SequenceConstruct (a, b) c = ConcatFromSequence <axis = 0> (t) }"#,
                r#"(float[2, 4] a) => (float[x, y] c) { t = SequenceConstruct (a) c = ConcatFromSequence <axis = 2> (t) }"#,
                r#"(float[2, 4] a) => (float[x, y] c) { t = SequenceConstruct (a) c = ConcatFromSequence (t) }"#,
                r#"() => (float[x, y] c) { t = SequenceEmpty () c = ConcatFromSequence <axis = 0> (t) }"#,
                r#"(float[2] a, float[2, 4] b) => (float[x] c) { t = SequenceConstruct (a, b) c = ConcatFromSequence <axis = 0> (t) }"#,
            ],
            expect![[r#"
                the inputs have sizes 4 and 3 on axis 1, expected equal sizes except on axis 0
                axis 2 is out of bounds for a tensor of rank 2
                attribute `axis` is missing
                the sequence is empty, expected at least one item
                the items are float32[2] and float32[2, 4], expected tensors of equal rank
            "#]],
        );
    }
}
