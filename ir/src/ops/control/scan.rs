//! Scan: a block that is applied to each slice of its inputs.

mod batch;
mod distances;
mod lists;

use std::rc::Rc;

use proc_macro2::Literal;

use super::iterations::{LoopCode, settle, stack};
use super::{has_outputs, merge};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::graph::{Flow, Iterations};
use crate::infer::{Fact, Infer};
use crate::ops::axes::axis;
use crate::ops::shape::pad::zero;
use crate::ops::{Operator, sizes};
use crate::rust::{Code, Variable, code};
use crate::types::{Placement, TensorType, Type};

#[derive(Debug)]
struct Scan {
    /// Number of inputs that are sliced.
    slices: usize,
    /// Axes and directions of the inputs and of the outputs. Missing ones are 0.
    inputs: [Vec<i64>; 2],
    outputs: [Vec<i64>; 2],
    flow: Iterations,
}

attributes!(struct Scan { slices, inputs, outputs, flow });

const BODY: &str = "body";

pub fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    has_outputs(a, BODY, 0)?;
    let results = a.graph(BODY)?.map_or(0, |body| body.output.len());
    let slices = a.positive("num_scan_inputs")?;
    if slices > a.inputs() {
        return Err(Problem::expected("`num_scan_inputs`", slices, format_args!("at most {}", a.inputs())));
    }
    let batched = a.version() < 9;
    let list = |name: &str, expected: usize| lists::read(a, name, expected);
    let (inputs, outputs) = if batched {
        ([vec![], list("directions", slices)?], [vec![], vec![]])
    } else {
        let outputs = results.saturating_sub(a.inputs() - slices);
        (
            [list("scan_input_axes", slices)?, list("scan_input_directions", slices)?],
            [list("scan_output_axes", outputs)?, list("scan_output_directions", outputs)?],
        )
    };
    let flow = Iterations {
        before: if batched { 1 } else { 0 },
        behind: slices,
        block_inputs: 0,
        block_outputs: 0,
        batched,
    };
    Ok(Rc::new(Scan { slices, inputs, outputs, flow }))
}

impl Operator for Scan {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let block = cx.block(BODY)?;
        let before = self.flow.before + self.slices;
        let state = cx.inputs().checked_sub(before).filter(|state| {
            block.inputs.len() == state + self.slices
                && block.outputs.len() >= *state
                && cx.outputs() <= block.outputs.len()
        });
        let Some(state) = state else {
            return Err(cx.misfit(block));
        };
        let names = cx.names();
        let mut initial =
            (0..state).map(|at| cx.fact(self.flow.before + at)).collect::<Result<Vec<Fact>, Problem>>()?;
        let mut batch = None;
        if self.flow.batched {
            if cx.has(0) {
                let lengths = cx.tensor_of_rank(0, 1)?;
                if lengths.dtype != DType::I64 {
                    return Err(Problem::expected("`sequence_lens`", lengths, "int64"));
                }
            }
            for (at, fact) in initial.iter_mut().enumerate() {
                let mut operand = cx.tensor(at + 1)?;
                batch::take(&mut batch, &mut operand)?;
                *fact = Fact::of(Type::Tensor(operand));
            }
        }
        let mut iterations: Option<Dim> = None;
        let mut slices = Vec::new();
        for at in 0..self.slices {
            let mut operand = cx.tensor(self.flow.before + state + at)?;
            if self.flow.batched {
                batch::take(&mut batch, &mut operand)?;
            }
            let axis = self.axis(&self.inputs, at, operand.rank())?;
            let size = operand.shape.remove(axis);
            slices.push(Fact::of(Type::Tensor(operand)));
            if let Some(iterations) = &iterations
                && iterations.number().is_some()
                && size.number().is_some()
            {
                sizes::agree("the number of slices", iterations, &size)?;
            }
            iterations = match iterations {
                Some(iterations) if iterations.number().is_some() => Some(iterations),
                _ => Some(size),
            };
        }
        if let (Some(batch), true) = (&batch, cx.has(0)) {
            sizes::shaped("`sequence_lens`", &cx.tensor(0)?, std::slice::from_ref(batch))?;
        }
        let facts = [&[], initial.as_slice(), slices.as_slice()];
        let Some((states, outputs)) = settle(cx, BODY, (self.flow, None), names, facts)? else {
            return Ok(());
        };
        for (at, mut fact) in states.into_iter().enumerate() {
            fact.ty = merge::outside(cx, &fact, names, "state");
            if batch.is_none() {
                fact.ty = merge::final_type(fact.ty, outputs.get(at).map(|next| &next.ty));
            }
            let fact = match &batch {
                Some(batch) => Fact::of(fact.ty).with_size(0, batch.clone()),
                None => fact,
            };
            cx.output_fact(at, fact);
        }
        let iterations = iterations.unwrap_or_default();
        for (at, fact) in outputs.iter().enumerate().skip(state) {
            let Type::Tensor(item) = &fact.ty else {
                return Err(Problem::new(format!(
                    "the body returns {} in each iteration, expected a tensor",
                    fact.ty
                )));
            };
            let axis = self.axis(&self.outputs, at - state, item.rank() + 1)?;
            let ty = merge::outside(cx, fact, names, "iteration");
            let mut fact = Fact::of(ty).with_size(axis, iterations.clone());
            if let Some(batch) = &batch {
                fact = fact.with_size(0, batch.clone());
            }
            cx.output_fact(at, fact);
        }
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        if let Some((points, others)) = distances::operands(self, cx) {
            cx.may_fail();
            let points = cx.input_at(points, Placement::Device)?;
            let others = cx.value_at(others, Placement::Device)?;
            // The exporter transposes the result: then its rows are contiguous.
            return Ok(code!(ops::distances::squared_distances(#others, #points).transpose()));
        }
        let block = cx.block(BODY)?.clone();
        let state = block.inputs.len().saturating_sub(self.slices);
        let mut together = Vec::new();
        for at in 0..block.outputs.len().saturating_sub(state) {
            let id = block.outputs.get(state + at).copied();
            let rank = match id.map(|id| cx.type_of(id)).transpose()? {
                Some(Type::Tensor(item)) => item.rank() + 1,
                _ => 1,
            };
            let backward = self.outputs[1].get(at) == Some(&1);
            together.push((self.axis(&self.outputs, at, rank)?, backward));
        }
        let element = self.flow.batched.then(|| cx.index());
        let mut before = Code::default();
        let length = (self.flow.batched && cx.has(0)).then(|| cx.temporary("length"));
        let mut initial = |cx: &mut Emit<'_, '_>, at: usize, wanted: (Placement, &Type)| match &element {
            None => cx.input_at(at, wanted.0),
            Some(element) => {
                let operand = cx.tensor_type(at + 1)?.clone();
                let tensor = cx.input_at(at + 1, slice_placement(operand.dtype))?;
                let all = named(cx, tensor, &mut before);
                Ok(cut(&all, &operand, 0, element))
            }
        };
        let code = LoopCode::new(cx, BODY, self.flow, &mut initial, &together)?;
        let index = cx.index();
        let (mut inputs, mut slices) = (Code::default(), Code::default());
        let mut count = None;
        for at in 0..self.slices {
            let input = self.flow.before + state + at;
            let mut operand = cx.tensor_type(input)?.clone();
            let mut tensor = cx.input_at(input, slice_placement(operand.dtype))?;
            if let Some(element) = &element {
                let all = named(cx, tensor, &mut before);
                tensor = cut(&all, &operand, 0, element);
                batch::without(&mut operand)?;
            }
            let all = named(cx, tensor, &mut inputs);
            let axis = self.axis(&self.inputs, at, operand.rank())?;
            let size = operand.shape.get(axis).cloned().unwrap_or_default();
            let slice_index = match self.inputs[1].get(at) {
                Some(1) => match &length {
                    Some(length) => code!(#length - 1 - #index),
                    None => {
                        let last = size.sub(&Dim::from(1)).unwrap_or_default();
                        let last = cx.size(&last);
                        code!(#last - #index)
                    }
                },
                _ => index.clone(),
            };
            if let Some(&id) = block.inputs.get(state + at) {
                let item = cx.variable(id, "slice");
                let slice = cut(&all, &operand, axis, &slice_index);
                slices.extend(code!(let #item = #slice;));
            }
            if let Some(count) = &count
                && *count != size
            {
                let (node, one, other) = (cx.named_node(), cx.size(count), cx.size(&size));
                inputs.extend(code! {
                    #node.ensure(#one == #other, "expected scan inputs of equal length");
                });
            }
            if count.is_none() || size.number().is_some() {
                count = Some(size);
            }
        }
        let longest = cx.size(&count.unwrap_or_default());
        let count = length.as_ref().map_or(longest.clone(), |length| code!(#length));
        let (iteration, step) = (&code.iteration, &code.step);
        let iterations = code!(#inputs for #index in 0..#count { #slices #iteration #step });
        let one = code.around(&iterations);
        match element {
            None => Ok(one),
            Some(element) => {
                let lengths = length.map(|length| (length, longest));
                self.batch(cx, &before, &element, lengths, (&one, state))
            }
        }
    }

    fn wants_host(&self, input: usize) -> bool {
        self.flow.batched && input == 0
    }

    fn flow(&self) -> Option<Flow> {
        Some(Flow::Iterations(self.flow))
    }
}

impl Scan {
    /// Generates a loop over the batch, whose elements have separate states and iterations. If they have separate
    /// lengths, results are padded with zeros to the longest.
    fn batch(
        &self,
        cx: &mut Emit<'_, '_>,
        before: &Code,
        element: &Code,
        lengths: Option<(Variable, Code)>,
        (one, state): (&Code, usize),
    ) -> Result<Code, Problem> {
        let input = cx.tensor_type(cx.inputs().saturating_sub(1))?;
        let batch = input.shape.first().cloned().unwrap_or_default();
        let batch = cx.size(&batch);
        let (mut start, mut collect) = (Code::default(), Code::default());
        let (mut parts, mut results) = (Vec::new(), Vec::new());
        for at in 0..cx.outputs() {
            if !cx.wants(at) {
                continue;
            }
            let (part, rows) = (cx.temporary("part"), cx.temporary("rows"));
            start.extend(code!(let mut #rows = Vec::new();));
            let whole = cx.output_tensor(at)?.clone();
            let padded = match &lengths {
                Some((length, longest)) if at >= state => {
                    if whole.dtype == DType::String {
                        return Err(Problem::new(format!(
                            "output {at} is {whole}, expected numbers or booleans, which can be padded with zeros"
                        )));
                    }
                    let none = (2..whole.rank()).map(|_| code!((0, 0)));
                    let pads = code!([(0, (#longest - #length) as i64), #(#none),*]);
                    let zero = zero(whole.dtype.kind());
                    code!(ops::pad::pad_constant(#part, #pads, #zero))
                }
                _ => code!(#part),
            };
            collect.extend(code!(#rows.push(#padded);));
            parts.push(code!(#part));
            results.push(stack(cx, &whole, slice_placement(whole.dtype), 0, &rows));
        }
        let (parts, results) = match (parts.as_slice(), results.as_slice()) {
            ([part], [result]) => (part.clone(), result.clone()),
            _ => (code!((#(#parts),*)), code!((#(#results),*))),
        };
        let bind_length = match &lengths {
            Some((length, longest)) => {
                let lengths = cx.host_ints(0)?;
                code!(let #length = host::length(#lengths, #element, #longest);)
            }
            None => Code::default(),
        };
        Ok(code!({
            #before
            #start
            for #element in 0..#batch {
                #bind_length
                let #parts = #one;
                #collect
            }
            #results
        }))
    }

    /// Returns the axis of an input or output.
    fn axis(&self, list: &[Vec<i64>; 2], at: usize, rank: usize) -> Result<usize, Problem> {
        axis(list[0].get(at).copied().unwrap_or(0), rank)
    }
}

/// Returns the placement of slices: the device, except for strings.
fn slice_placement(dtype: DType) -> Placement {
    match dtype {
        DType::String => Placement::Host,
        _ => Placement::Device,
    }
}

/// Returns the variable that contains a tensor, and binds a new one if necessary.
fn named(cx: &mut Emit<'_, '_>, tensor: Code, before: &mut Code) -> Code {
    if tensor.as_value().is_some() {
        return tensor;
    }
    let name = cx.temporary("all");
    before.extend(code!(let #name = #tensor;));
    code!(#name)
}

/// Generates `all.narrow(1, i, 1).squeeze_dim::<2>(1)`. A scalar keeps its axis.
fn cut(all: &Code, tensor: &TensorType, axis: usize, at: &Code) -> Code {
    let (rank, along) = (tensor.rank(), Literal::usize_unsuffixed(axis));
    if tensor.dtype == DType::String {
        return code!(host::gather(&#all, &Array::scalar((#at) as i64), #along));
    }
    let rest = Literal::usize_unsuffixed(rank.saturating_sub(1));
    match rank {
        1 => code!(#all.narrow(0, #at, 1)),
        _ => code!(#all.narrow(#along, #at, 1).squeeze_dim::<#rest>(#along)),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn all_have_one_batch() {
        problems(
            &[
                r#"<ir_version: 3, opset_import: ["": 8]> g (float[2, 3] s, float[5, 4, 3] x) => (float[2, 3] t) {
                    t = Scan ("", s, x) <num_scan_inputs = 1, body = b (float[3] a, float[3] e) => (float[3] z) { z = Add (a, e) }>
                }"#,
                r#"<ir_version: 3, opset_import: ["": 8]> g (int64[5] l, float[2, 3] s, float[2, 4, 3] x) => (float[2, 3] t) {
                    t = Scan (l, s, x) <num_scan_inputs = 1, body = b (float[3] a, float[3] e) => (float[3] z) { z = Add (a, e) }>
                }"#,
            ],
            expect![[r#"
                the batch size is 2 in one input and 5 in another
                `sequence_lens` is int64[5], expected shape [2]
            "#]],
        );
    }
}
