//! Loops: a state that is passed from one iteration to the next.

use std::collections::BTreeSet;

use proc_macro2::Literal;

use super::merge;
use crate::diagnostics::Problem;
use crate::dim::{Dim, Symbol};
use crate::dtype::ElementClass;
use crate::emit::{Emit, converted, element_type, of_rank};
use crate::graph::{Iterations, ValueId};
use crate::infer::{Fact, Infer};
use crate::names::Mark;
use crate::rust::{Code, Variable, code};
use crate::types::{Placement, TensorType, Type};

/// Number of attempts with estimated sizes before all sizes of the state become unknown.
const ATTEMPTS: usize = 32;

/// Facts that hold for the state, and for the outputs.
pub type Settled = (Vec<Fact>, Vec<Fact>);

/// Returns the facts that hold for the state in every iteration `index`, and for the outputs of the block. Returns
/// `None` if the block cannot be compiled; its problems are reported.
pub fn settle(
    cx: &mut Infer<'_>,
    name: &str,
    numbered: (Iterations, Option<&Symbol>),
    outer: Mark,
    facts: [&[Fact]; 3],
) -> Result<Option<Settled>, Problem> {
    cx.enter();
    let settled = settle_entered(cx, name, numbered, outer, facts);
    cx.leave();
    settled
}

fn settle_entered(
    cx: &mut Infer<'_>,
    name: &str,
    (flow, index): (Iterations, Option<&Symbol>),
    outer: Mark,
    [before, initial, behind]: [&[Fact]; 3],
) -> Result<Option<Settled>, Problem> {
    let mut state = initial.to_vec();
    let mut free = BTreeSet::new();
    let mut failed = None;
    let mut general = false;
    for attempt in 1.. {
        let names = cx.names();
        if cx.is_tired() && !general {
            general = true;
            generalize(cx, &mut state, &mut free);
        }
        let inferred = cx.infer_block(name, &[before, &state, behind].concat())?;
        let mut changed = false;
        match &inferred.outputs {
            Some(outputs) => {
                let next = outputs.iter().skip(flow.block_outputs);
                for (at, (fact, next)) in state.iter_mut().zip(next).enumerate() {
                    let what = format!("loop state variable {at}");
                    let mut next = next.clone();
                    next.ty = cx.type_outside(&next.ty, outer, index);
                    changed |= merge::widen(cx, &what, fact, &next, (index, &mut free))?;
                }
            }
            None if attempt > ATTEMPTS || failed.is_some() || general => {
                cx.accept(failed.unwrap_or(inferred));
                return Ok(None);
            }
            None => {}
        }
        if !changed && inferred.outputs.is_some() {
            return Ok(cx.accept(inferred).map(|outputs| (state, outputs)));
        }
        if inferred.outputs.is_none() || attempt == ATTEMPTS {
            generalize(cx, &mut state, &mut free);
            failed = Some(inferred);
        }
        cx.rewind(names, &free);
    }
    Ok(None)
}

fn generalize(cx: &mut Infer<'_>, state: &mut [Fact], free: &mut BTreeSet<Symbol>) {
    for fact in state {
        merge::generalize(cx, fact, free);
    }
}

/// A function that generates the initial value of a state, given its index, placement and type.
pub type Initial<'i> = dyn FnMut(&mut Emit<'_, '_>, usize, (Placement, &Type)) -> Result<Code, Problem> + 'i;

/// The code of a loop.
#[derive(Debug)]
pub struct LoopCode {
    /// Statements before the loop, which bind the state and the collections.
    pub before: Code,
    /// Statements of an iteration, which compute and collect its outputs.
    pub iteration: Code,
    /// `state = next;`
    pub step: Code,
    /// The block's outputs before the state: the condition of a `Loop`.
    pub conditions: Vec<Code>,
    /// Statements between the loop and the results.
    pub after: Code,
    /// The outputs that are used.
    pub results: Vec<Code>,
}

impl LoopCode {
    /// Generates a loop. `together` contains the axis along which each collected output is stacked, and whether it is
    /// collected backwards.
    pub fn new(
        cx: &mut Emit<'_, '_>,
        name: &str,
        flow: Iterations,
        initial: &mut Initial<'_>,
        together: &[(usize, bool)],
    ) -> Result<Self, Problem> {
        let block = cx.block(name)?.clone();
        let state = cx.inputs().saturating_sub(flow.before + flow.behind);
        let inputs: Vec<ValueId> = block.inputs.iter().skip(flow.block_inputs).take(state).copied().collect();
        let mut placements = vec![Placement::Host; flow.block_outputs];
        placements.extend(inputs.iter().map(|&id| cx.placement(id)));
        let collected = block.outputs.len().saturating_sub(placements.len());
        placements.extend((0..collected).map(|at| cx.output_placement(state + at)));
        let mut wanted = Vec::new();
        for (at, (&id, placement)) in block.outputs.iter().zip(placements).enumerate() {
            // The state enters the next iteration with its type in this one.
            let state_input = at.checked_sub(flow.block_outputs).and_then(|at| inputs.get(at));
            wanted.push((placement, cx.type_of(*state_input.unwrap_or(&id))?.clone()));
        }
        let (mut before, mut after) = (Code::default(), Code::default());
        let mut variables: Vec<Option<Variable>> = Vec::new();
        for (at, &id) in inputs.iter().enumerate() {
            // A counter that is used after the loop is counted, even if no iteration uses it.
            let constant = cx.is_constant(id) && !cx.wants(at);
            variables.push((!constant).then(|| cx.variable(id, "state")));
            if let Some(Some(variable)) = variables.last() {
                let ty = cx.type_of(id)?.clone();
                let initial = initial(cx, at, (cx.placement(id), &ty))?;
                before.extend(code!(let mut #variable = #initial;));
            }
        }
        let inside = cx.inside(name, &wanted)?;
        let mut iteration = inside.statements;
        let mut results = inside.results.into_iter();
        let conditions = results.by_ref().take(flow.block_outputs).collect();
        let next: Vec<Code> = results.by_ref().take(state).collect();
        let mut outputs = Vec::new();
        for (at, variable) in variables.iter().enumerate() {
            match variable {
                Some(variable) if cx.wants(at) => {
                    let ty = inputs.get(at).map(|&id| cx.type_of(id)).transpose()?;
                    let value = code!(#variable);
                    let placement = cx.output_placement(at);
                    outputs.push(match (ty, cx.output_type(at)?) {
                        (Some(Type::Tensor(tensor)), Type::Tensor(wanted)) if !flow.batched => {
                            of_rank(value, placement, tensor, wanted)
                        }
                        (Some(ty), wanted) => converted(value, ty, wanted),
                        (None, _) => value,
                    });
                }
                _ => {}
            }
        }
        for (at, (item, &(axis, backward))) in results.zip(together).enumerate() {
            if !cx.wants(state + at) {
                continue;
            }
            let rows = cx.temporary("rows");
            before.extend(code!(let mut #rows = Vec::new();));
            after.extend(backward.then(|| code!(#rows.reverse();)));
            let mut whole = cx.output_tensor(state + at)?.clone();
            let placement = cx.output_placement(state + at);
            let counted = match whole.shape.get(axis + usize::from(flow.batched)) {
                Some(count) => count.number().is_some(),
                None => false,
            };
            iteration.extend(if counted {
                code!(#rows.push(#item);)
            } else {
                push(cx, placement, &rows, &item)
            });
            if flow.batched && !whole.shape.is_empty() {
                whole.shape.remove(0);
                // Each element of the batch may have its own number of iterations, including 0.
                if let (true, Some(iterations)) = (cx.has(0), whole.shape.get_mut(axis)) {
                    *iterations = Dim::from(0);
                }
            }
            outputs.push(stack(cx, &whole, placement, axis, &rows));
        }
        let moving = variables.iter().zip(next);
        let (targets, next): (Vec<&Variable>, Vec<Code>) =
            moving.filter_map(|(variable, next)| variable.as_ref().map(|variable| (variable, next))).unzip();
        let step = match (targets.as_slice(), next.as_slice()) {
            ([], _) => Code::default(),
            ([one], [next]) => code!(#one = #next;),
            _ => code!((#(#targets),*) = (#(#next),*);),
        };
        Ok(LoopCode { before, iteration, step, conditions, after, results: outputs })
    }

    /// Returns the outputs as one expression. `iterations` is the loop, which contains the code of an iteration.
    pub fn around(self, iterations: &Code) -> Code {
        let (before, after, results) = (self.before, self.after, self.results);
        let result = match results.as_slice() {
            [one] => one.clone(),
            _ => code!((#(#results),*)),
        };
        code!({ #before #iterations #after #result })
    }
}

/// Appends the output of an iteration to those of earlier ones, whose number is not limited at compile time.
fn push(cx: &mut Emit<'_, '_>, placement: Placement, rows: &Variable, item: &Code) -> Code {
    let node = cx.named_node();
    match placement {
        Placement::Host => code!(#node.run(|| host::push(&mut #rows, #item));),
        Placement::Device => code!(#node.run(|| ops::stack::push(&mut #rows, #item));),
    }
}

/// Stacks the values of all iterations to one tensor.
pub fn stack(
    cx: &mut Emit<'_, '_>,
    whole: &TensorType,
    placement: Placement,
    axis: usize,
    rows: &Variable,
) -> Code {
    let some = whole.shape.get(axis).and_then(Dim::fixed).is_some_and(|count| count > 0);
    let along = Literal::usize_unsuffixed(axis);
    let rank = Literal::usize_unsuffixed(whole.burn_rank());
    if placement == Placement::Host {
        let empty = empty(cx, whole, axis);
        return code!(host::stack(&#rows, #along, &#empty));
    }
    match (whole.rank(), some) {
        // Scalars have one axis on the device.
        (1, true) => code!(Tensor::cat(#rows, 0)),
        (_, true) => code!(ops::stack::stack::<_, #rank, _>(#rows, #along)),
        _ => {
            let shape = empty(cx, whole, axis);
            let element = element_type(whole.dtype);
            let device = cx.device();
            let none = match whole.dtype.kind() {
                ElementClass::Bool => code!(constant::boolean(#device, #shape, &[])),
                ElementClass::Int => code!(constant::int(#device, #element, #shape, &[])),
                _ => code!(constant::float(#device, #element, #shape, &[])),
            };
            match whole.rank() {
                1 => code!(ops::stack::cat_or(#rows, || #none)),
                _ => code!(ops::stack::stack_or(#rows, #along, || #none)),
            }
        }
    }
}

/// Returns the shape of the result of no iterations. Sizes that only an iteration determines are 0.
fn empty(cx: &mut Emit<'_, '_>, whole: &TensorType, axis: usize) -> Code {
    let sizes = whole.shape.iter().enumerate();
    let sizes: Vec<Code> = sizes
        .map(|(at, dim)| if at == axis || cx.is_first_bound_here(dim) { code!(0) } else { cx.size(dim) })
        .collect();
    code!([#(#sizes),*])
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn what_each_iteration_gives_is_stacked() {
        check(
            r#"g (int64 count, float[2, n] x) => (float[2, n] y, float[k, 2, n] z, float[k] w) { t = Constant <value = bool {1}> () y, z, w = Loop (count, t, x) <body = inner (int64 i, bool c, float[2, n] s) => (bool d, float[2, n] r, float[2, n] u, float v) { d = Identity (c) r = Neg (s) u = Exp (s) v = ReduceSum <keepdims = 0> (s) }> }"#,
            expect![[r#"
                g (host int64[] count, float32[2, n] x) => (float32[2, n] y, float32[iterations, 2, n] z, float32[iterations] w)
                <
                    bool[] t = {true}
                >
                {
                    float32[2, n] y, float32[iterations, 2, n] z, float32[iterations] w = Loop (count, t, x)
                        body (int64[] i, bool[] c, float32[2, n] s) => (bool[] c, float32[2, n] r, float32[2, n] u, float32[] v)
                        {
                            float32[2, n] r = Neg (s)
                            float32[2, n] u = Exp (s)
                            float32[] v = ReduceSum (s)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn a_body_that_does_not_fit_is_named() {
        problems(
            &[
                r#"(int64 count, float[2] x) => (float[2] y) { t = Constant <value = bool {1}> () y = Loop (count, t, x) <body = inner (int64 i, bool c) => (bool d) { d = Identity (c) }> }"#,
                r#"(int64 count, float[2] x) => (float[2] y) { t = Constant <value = bool {1}> () y = Loop (count, t, x) <body = inner (int64 i, bool c, float[2] s) => (bool d, float[3] r) { d = Identity (c) r = MatMul (s, s) q = MatMul (r, x) u = Expand (x, i) }> }"#,
            ],
            expect![[r#"
                the node has 1 output, expected at most 0 for the outputs of `body`
                loop state variable 0 is float32[2] or float32, expected a rank that is known at compile time
            "#]],
        );
    }
}
