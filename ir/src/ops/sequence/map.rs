//! SequenceMap: a block that is applied to each item.

use std::rc::Rc;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::emit::Emit;
use crate::graph::{Flow, Iterations};
use crate::infer::{Fact, Infer};
use crate::ops::Operator;
use crate::rust::{Code, code};
use crate::types::{Placement, Type};

/// The results of all iterations as sequences. Each iteration receives the next item of every input sequence, and the
/// other inputs unchanged.
#[derive(Debug)]
struct Map {
    inputs: usize,
}

attributes!(struct Map { inputs });

const BODY: &str = "body";

pub fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    a.graph(BODY)?;
    Ok(Rc::new(Map { inputs: a.inputs() }))
}

impl Operator for Map {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        cx.items(0)?;
        let block = cx.block(BODY)?;
        let (input_count, output_count) = (block.inputs.len(), block.outputs.len());
        if input_count != cx.inputs() || output_count < cx.outputs() {
            return Err(cx.misfit(block));
        }
        let names = cx.names();
        let mut items = Vec::new();
        for at in 0..input_count {
            items.push(match cx.ty(at)?.clone() {
                Type::Sequence(item) => Fact::of(cx.taken_out(&item, "item")),
                _ => cx.fact(at)?,
            });
        }
        let inferred = cx.infer_block(BODY, &items)?;
        let outputs = cx.accept(inferred).unwrap_or_default();
        for (at, fact) in outputs.into_iter().enumerate() {
            let whole = Type::Sequence(Box::new(fact.ty));
            let whole = cx.type_outside(&whole, names, None);
            cx.output_type(at, whole);
        }
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let block = cx.block(BODY)?.clone();
        let index = cx.index();
        let mut items = Code::default();
        for (at, &id) in block.inputs.iter().enumerate() {
            if cx.is_constant(id) {
                continue;
            }
            let item = match cx.ty(at)? {
                Type::Sequence(_) => {
                    let sequence = cx.value(at)?;
                    code!(host::at(&#sequence, #index as i64))
                }
                ty => {
                    let ty = ty.clone();
                    cx.input_as(at, cx.placement(id), &ty)?
                }
            };
            let name = cx.variable(id, "item");
            items.extend(code!(let #name = #item;));
        }
        let mut wanted = Vec::new();
        for (at, &id) in block.outputs.iter().enumerate() {
            let ty = if cx.wants(at) { cx.output_items(at)?.clone() } else { cx.type_of(id)?.clone() };
            wanted.push((Placement::Device, ty));
        }
        let inside = cx.inside(BODY, &wanted)?;
        let (mut before, mut results) = (Code::default(), Vec::new());
        let mut iteration = inside.statements;
        for (at, item) in inside.results.iter().enumerate() {
            if cx.wants(at) {
                let rows = cx.temporary("rows");
                before.extend(code!(let mut #rows = Vec::new();));
                iteration.extend(code!(#rows.push(#item);));
                results.push(code!(#rows));
            }
        }
        let first = cx.value(0)?;
        let results = match results.as_slice() {
            [one] => one.clone(),
            _ => code!((#(#results),*)),
        };
        Ok(code!({
            #before
            for #index in 0..#first.len() {
                #items
                #iteration
            }
            #results
        }))
    }

    fn flow(&self) -> Option<Flow> {
        Some(Flow::Iterations(Iterations {
            before: 0,
            behind: self.inputs,
            block_inputs: 0,
            block_outputs: 0,
            batched: false,
        }))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn each_item_goes_through_the_body() {
        check(
            r#"<ir_version: 8, opset_import: ["": 17]> g (seq(float[?]) s, float[1] b) => (seq(float) y) { y = SequenceMap (s, b) <body = inner (float[?] i, float[1] c) => (float[?] o) { o = Add (i, c) }> }"#,
            expect![[r#"
                g (seq(float32[?]) s, float32[1] b) => (seq(float32[?]) y)
                {
                    seq(float32[?]) y = SequenceMap <inputs: 2> (s, b)
                        body (float32[item] i, float32[1] c) => (float32[item] o)
                        {
                            float32[item] o = Add (i, c)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn the_body_fits_the_node() {
        problems(
            &[
                r#"<ir_version: 8, opset_import: ["": 17]> g (seq(float[?]) s, float[1] b) => (seq(float) y) { y = SequenceMap (s, b) <body = inner (float[?] i) => (float[?] o) { o = Neg (i) }> }"#,
                r#"<ir_version: 8, opset_import: ["": 17]> g (float[2] s) => (seq(float) y) { y = SequenceMap (s) <body = inner (float[?] i) => (float[?] o) { o = Neg (i) }> }"#,
                r#"<ir_version: 8, opset_import: ["": 17]> g (seq(float[?]) s) => (seq(float) y) { y = SequenceMap (s) }"#,
            ],
            expect![[r#"
                the numbers of inputs and outputs of the body are 1 and 1, which do not match 2 and 1 of the node
                input 0 is float32[2], expected a sequence
                attribute `body` is missing
            "#]],
        );
    }
}
