//! Loop: a block repeated by a count and a condition.

use std::rc::Rc;

use super::iterations::{LoopCode, settle};
use super::{counter, has_outputs, merge};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::{Emit, whole};
use crate::graph::{Block, Flow, Iterations};
use crate::infer::{Fact, Infer};
use crate::ops::Operator;
use crate::proto::{TypeValue, ValueInfoProto};
use crate::rust::{Code, Variable, code};
use crate::types::{Known, Placement, Type};

#[derive(Debug)]
struct Loop {
    /// Whether the body declares its counter as a tensor of rank 1. It is a scalar otherwise.
    has_counter_axis: bool,
    /// Whether the body declares its condition as a tensor of rank 1. It is a scalar otherwise.
    has_condition_axis: bool,
}

attributes!(struct Loop { has_counter_axis, has_condition_axis });

const BODY: &str = "body";
/// Smallest count that means an unlimited number of iterations.
const ENDLESS: i64 = 1 << 31;

pub fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    has_outputs(a, BODY, 1)?;
    let inputs = a.graph(BODY)?.map_or(&[][..], |body| &body.input);
    let has_axis = |at: usize| inputs.get(at).is_some_and(|input| rank(input) == Some(1));
    Ok(Rc::new(Loop { has_counter_axis: has_axis(0), has_condition_axis: has_axis(1) }))
}

/// Returns the rank that the file declares.
fn rank(input: &ValueInfoProto) -> Option<usize> {
    match input.r#type.as_ref()?.value.as_ref()? {
        TypeValue::Tensor(tensor) => Some(tensor.shape.as_ref()?.dim.len()),
        _ => None,
    }
}

impl Operator for Loop {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let block = cx.block(BODY)?;
        let state = cx.inputs().saturating_sub(2);
        let (input_count, output_count) = (block.inputs.len(), block.outputs.len());
        if input_count != state + 2 || output_count <= state || cx.outputs() > output_count - 1 {
            return Err(cx.misfit(block));
        }
        let names = cx.names();
        let number = cx.fresh("i");
        let shape = |has_axis: bool| match has_axis {
            true => vec![Dim::from(1)],
            false => vec![],
        };
        let index = Fact {
            known: Known::Ints(vec![number.clone()]).into(),
            ..Fact::of(Type::tensor(DType::I64, shape(self.has_counter_axis)))
        };
        let goes_on = Fact {
            known: Known::Bools(vec![true]).into(),
            ..Fact::of(Type::tensor(DType::Bool, shape(self.has_condition_axis)))
        };
        let initial = (0..state).map(|at| cx.fact(at + 2));
        let initial = initial.collect::<Result<Vec<Fact>, Problem>>()?;
        let facts = [&[index, goes_on], initial.as_slice(), &[]];
        let Some((state_facts, output_facts)) = settle(cx, BODY, (FLOW, number.name()), names, facts)? else {
            return Ok(());
        };
        let ends = output_facts.first().and_then(|fact| fact.known.read().cloned());
        let iterations = match (cx.known(1), ends, cx.has(1)) {
            (Some(Known::Bools(start)), _, _) if start == &[false] => Some(Dim::from(0)),
            (Some(Known::Bools(_)), Some(Known::Bools(next)), true)
            | (None, Some(Known::Bools(next)), false)
                if next == [true] =>
            {
                count(cx.known(0))
            }
            _ => None,
        };
        let never = iterations.as_ref().is_some_and(|iterations| iterations.is(0));
        for (at, (mut fact, initial)) in state_facts.into_iter().zip(initial).enumerate() {
            fact.ty = merge::outside(cx, &fact, names, "state");
            // The result of an iteration is present even if the initial state may be absent.
            let last = output_facts.get(at + 1).map(|next| &next.ty);
            fact.ty = merge::final_type(fact.ty, last);
            if let (Type::Optional(item), Some(last)) = (&fact.ty, last)
                && !matches!(last, Type::Optional(_))
            {
                fact.ty = (**item).clone();
            }
            let known = fact.known.read().zip(number.name());
            let known = known.and_then(|(known, i)| counter::after(known, i, iterations.as_ref()));
            fact.known = cx.elements(known);
            cx.output_fact(at, if never { initial } else { fact });
        }
        let iterations = cx.dim_or_fresh(iterations, "iterations");
        for (at, fact) in output_facts.iter().enumerate().skip(state + 1) {
            let Type::Tensor(_) = &fact.ty else {
                return Err(Problem::new(format!(
                    "the body returns {} in each iteration, expected a tensor",
                    fact.ty
                )));
            };
            let ty = merge::outside(cx, fact, names, "iteration");
            cx.output_fact(at - 1, Fact::of(ty).with_size(0, iterations.clone()));
        }
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let block = cx.block(BODY)?.clone();
        let together = vec![(0, false); block.outputs.len()];
        let mut initial = |cx: &mut Emit<'_, '_>, at: usize, wanted: (Placement, &Type)| {
            cx.input_as(at + 2, wanted.0, wanted.1)
        };
        let mut code = LoopCode::new(cx, BODY, FLOW, &mut initial, &together)?;
        let condition = Condition::new(cx, &block, &mut code)?;
        let (iteration, step, check) = (&code.iteration, &code.step, &condition.check);
        let iteration = code!(#iteration #check #step);
        let (first, last) = (&condition.first, &condition.last);
        let index = match block.inputs.first().and_then(|&id| cx.known_of(id)) {
            Some(Known::Ints(dims)) => dims.first().cloned(),
            _ => None,
        };
        let index = index.map(|dim| cx.size(&dim));
        let index = index.filter(|index| {
            let size = index.as_size();
            size.is_some_and(|size| iteration.sizes().contains(&size))
        });
        let count = match (count(cx.known(0)), cx.has(0) && !cx.is_known(0)) {
            (Some(count), _) => Some(cx.size(&count)),
            (None, true) => {
                let count = whole(cx.host_int(0)?);
                Some(code!(#count.max(0) as usize))
            }
            (None, false) => None,
        };
        let (start, go) = (&condition.start, &condition.go);
        let iterations = match (index, count, go) {
            (Some(index), Some(count), _) => {
                code!(for #index in 0..#count { #first #iteration #last })
            }
            (None, Some(count), _) => code!(for _ in 0..#count { #first #iteration #last }),
            (Some(index), None, _) => code!(for #index in 0usize.. { #first #iteration #last }),
            (None, None, Some(go)) => code!(while #go { #iteration #last }),
            (None, None, None) => code!(loop { #iteration #last }),
        };
        Ok(code.around(&code!(#start #iterations)))
    }

    fn wants_host(&self, input: usize) -> bool {
        input < 2
    }

    fn flow(&self) -> Option<Flow> {
        Some(Flow::Iterations(FLOW))
    }
}

const FLOW: Iterations =
    Iterations { before: 2, behind: 0, block_inputs: 2, block_outputs: 1, batched: false };

/// Code of the condition.
#[derive(Debug, Default)]
struct Condition {
    /// Variable that determines if there is a next iteration, if the first one depends on a condition.
    go: Option<Variable>,
    /// Statements before the loop.
    start: Code,
    /// Statements at the start of an iteration.
    first: Code,
    /// Statements at the end of an iteration, before and after the state is updated.
    check: Code,
    last: Code,
}

impl Condition {
    fn new(cx: &mut Emit<'_, '_>, block: &Block, code: &mut LoopCode) -> Result<Self, Problem> {
        let mut condition = Condition::default();
        let id = block.outputs.first().copied();
        let next = id.and_then(|id| truth(cx.known_of(id)));
        match (cx.has(1), truth(cx.known(1))) {
            (false, _) | (_, Some(true)) => {}
            (true, Some(false)) => {
                condition.first = code!(break;);
                return Ok(condition);
            }
            (true, None) => {
                let value = cx.input_at(1, Placement::Host)?;
                let go = cx.temporary("go");
                let mutable = (next != Some(true)).then(|| code!(mut));
                condition.start = code!(let #mutable #go = #value.item(););
                condition.first = code!(if !#go { break; });
                condition.go = Some(go);
            }
        }
        let (Some(id), Some(condition_output)) = (id, code.conditions.first()) else {
            return Ok(condition);
        };
        let next = match next {
            Some(true) => return Ok(condition),
            Some(false) => code!(false),
            None => code!(#condition_output.item()),
        };
        condition.last = match (&condition.go, block.inputs.contains(&id)) {
            (Some(go), _) => {
                condition.check = code!(#go = #next;);
                Code::default()
            }
            // The condition is part of the state, which is updated before the check.
            (None, true) => {
                let go = cx.temporary("go");
                condition.check = code!(let #go = #next;);
                code!(if !#go { break; })
            }
            (None, false) => code!(if !#next { break; }),
        };
        Ok(condition)
    }
}

fn truth(known: Option<&Known>) -> Option<bool> {
    match known {
        Some(Known::Bools(values)) => values.first().copied(),
        _ => None,
    }
}

/// Returns the number of iterations, if it is known and limited.
fn count(known: Option<&Known>) -> Option<Dim> {
    let Some(Known::Ints(dims)) = known else {
        return None;
    };
    let [count] = dims.as_slice() else {
        return None;
    };
    match count.number() {
        Some(ENDLESS..) => None,
        _ => count.larger(&Dim::from(0)),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn a_state_that_grows_has_any_size() {
        check(
            r#"g (float[n, 3] x, int64 m) => (float[k, 3] y) {
                y = Loop (m, , x) <body = b (int64 i, bool c, float[p, 3] a) => (bool d, float[q, 3] r) {
                    r = Concat <axis = 0> (a, x)
                    d = Identity (c)
                }>
            }"#,
            expect![[r#"
                g (float32[n, 3] x, host int64[] m) => (float32[state_2, 3] y)
                {
                    float32[state_2, 3] y = Loop (m, , x)
                        body (int64[] i, bool[] c, float32[state, 3] a) => (bool[] c, float32[state + n, 3] r)
                        {
                            float32[state + n, 3] r = Concat <axis: 0> (a, x)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn iterations_that_are_counted_give_a_size() {
        check(
            r#"g (float[n, 3] x) => (float[n, 3] y) {
                zero = Constant <value_ints = [0]> ()
                s = Shape (x)
                d = Gather (s, zero)
                m = Squeeze (d, zero)
                y = Loop (m, "") <body = b (int64 i, bool c) => (bool c2, float[3] r) {
                    r = Gather <axis = 0> (x, i)
                    c2 = Identity (c)
                }>
            }"#,
            expect![[r#"
                g (float32[n, 3] x) => (float32[n, 3] y)
                <
                    int64[] m = {n}
                >
                {
                    float32[n, 3] y = Loop (m, )
                        body (int64[] i, bool[] c) => (bool[] c, float32[3] r)
                        {
                            float32[3] r = Gather <axis: 0> (x, i)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn a_counter_has_the_rank_that_the_body_declares() {
        check(
            r#"g (float[n, 3] x, int64 m) => (float[k, 1, 3] y) {
                y = Loop (m, "") <body = b (int64[1] i, bool[1] c) => (bool[1] d, float[1, 3] r) {
                    r = Gather <axis = 0> (x, i)
                    d = Identity (c)
                }>
            }"#,
            expect![[r#"
                g (float32[n, 3] x, host int64[] m) => (float32[iterations, 1, 3] y)
                {
                    float32[iterations, 1, 3] y = Loop <has_counter_axis: true, has_condition_axis: true> (m, )
                        body (int64[1] i, bool[1] c) => (bool[1] c, float32[1, 3] r)
                        {
                            float32[1, 3] r = Gather <axis: 0> (x, i)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn a_state_keeps_its_rank() {
        check(
            r#"g (float[3] x, int64 m) => (float[k] y) {
                zero = Constant <value_ints = [0]> ()
                y = Loop (m, , x) <body = b (int64 i, bool c, float[3] a) => (bool c2, float[1, 3] r) {
                    r = Unsqueeze (a, zero)
                    c2 = Identity (c)
                }>
            }"#,
            expect![[r#"
                cannot compile `model`

                  loop state variable 0 is float32[3] or float32[1, 3], expected a rank that is known at compile time
                    at node `y` (Loop version 21)
                    help: fix the sizes that determine the rank with `dims(..)` or `inputs(..)`

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn one_element_is_one_element_on_any_number_of_axes() {
        check(
            r#"g (bool[1] c, float x, int64 m) => (bool[k] d, float[l] y, float[r, 1] z)
            <float[1] half = {0.5}> {
                d, y, z = Loop (m, c, c, x) <body = b (int64 i, bool c2, bool s, float a)
                    => (bool n, bool t, float b, float[1] w) {
                    w = Mul (a, half)
                    f = Greater (w, half)
                    none = Constant <value_ints = [0]> ()
                    n = Squeeze (f, none)
                    t = Identity (n)
                    b = Identity (w)
                }>
            }"#,
            expect![[r#"
                g (bool[1] c, float32[] x, host int64[] m) => (bool[] d, float32[1] y, float32[iterations, 1] z)
                <
                    float32[1] half = {0.5},
                    int64[1] none = {0}
                >
                {
                    bool[] d, float32[1] y, float32[iterations, 1] z = Loop (m, c, c, x)
                        body (int64[] i, bool[] c2, bool[1] s, float32[] a) => (bool[] n, bool[] n, float32[1] w, float32[1] w)
                        {
                            float32[1] w = Mul (a, half)
                            bool[1] f = Greater (w, half)
                            bool[] n = Squeeze (f, none)
                        }
                }
            "#]],
        );
    }
}
