//! If: one of two blocks.

use std::rc::Rc;

use super::{has_outputs, merge};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::graph::Flow;
use crate::infer::{Fact, Infer};
use crate::ops::Operator;
use crate::rust::{Code, code};
use crate::types::{Placement, TensorType, Type};

#[derive(Debug)]
struct If;

attributes!(struct If);

const THEN: &str = "then_branch";
const ELSE: &str = "else_branch";

pub fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    has_outputs(a, THEN, 0)?;
    a.graph(ELSE)?;
    Ok(Rc::new(If))
}

impl Operator for If {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let condition = cx.tensor(0)?;
        if condition.dtype != DType::Bool || condition.count().is_some_and(|count| count != 1) {
            return Err(Problem::expected("the condition", condition, "one boolean"));
        }
        let [then, otherwise] = [cx.block(THEN)?, cx.block(ELSE)?];
        let counts = [then, otherwise].map(|block| block.outputs.len());
        let branches = [(THEN, then), (ELSE, otherwise)];
        if let Some((name, block)) = branches.iter().find(|(_, block)| !block.inputs.is_empty()) {
            let count = block.inputs.len();
            return Err(Problem::new(format!("the number of inputs of `{name}` is {count}, expected 0"))
                .inconsistent());
        }
        if counts[0] != counts[1] {
            let [then, otherwise] = counts;
            let message = format!(
                "the numbers of outputs of `{THEN}` and `{ELSE}` are {then} and {otherwise}, expected equal numbers"
            );
            return Err(Problem::new(message).inconsistent());
        }
        if let Some(branch) = Flow::known_branch(cx.known(0)) {
            if let Some(facts) = block(cx, branch)? {
                facts.into_iter().enumerate().for_each(|(at, fact)| cx.output_fact(at, fact));
            }
            return Ok(());
        }
        let names = cx.names();
        let (left, right) = (block(cx, THEN)?, block(cx, ELSE)?);
        let (Some(left), Some(right)) = (left, right) else {
            return Ok(());
        };
        let ranks = |facts: &[Fact]| -> Vec<usize> {
            let wanted = facts.iter().enumerate().filter(|(at, _)| cx.wants(*at));
            wanted.map(|(_, fact)| rank(&fact.ty)).collect()
        };
        let [left, right] = [lifted(&left, &right), lifted(&right, &left)];
        let (few, many) = (ranks(&left), ranks(&right));
        if few != many {
            let facts = if few < many { left } else { right };
            // Known elements would remove the node, and with it the check of the condition.
            facts.into_iter().enumerate().for_each(|(at, fact)| cx.output_fact(at, Fact::of(fact.ty)));
            return Ok(());
        }
        for (at, (left, right)) in left.iter().zip(&right).enumerate() {
            if cx.wants(at) {
                let mut fact = merge::either(cx, &format!("output {at}"), left, right)?;
                fact.ty = cx.type_outside(&fact.ty, names, None);
                cx.output_fact(at, fact);
            }
        }
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let condition = cx.input_at(0, Placement::Host)?;
        let wanted = (0..cx.outputs()).map(|at| {
            let ty = cx.output_type(at)?.clone();
            Ok((cx.output_placement(at), ty))
        });
        let wanted: Vec<(Placement, Type)> = wanted.collect::<Result<_, Problem>>()?;
        if let Some(branch) = expected(cx)? {
            let truth = if branch == THEN { code!() } else { code!(!) };
            let node = cx.named_node();
            let code = cx.inside(branch, &wanted)?.code();
            return Ok(code!({
                #node.ensure(
                    #truth #condition.item(),
                    "inputs of these sizes select a branch whose results have unexpected ranks"
                );
                #code
            }));
        }
        let then = cx.inside(THEN, &wanted)?.code();
        let otherwise = cx.inside(ELSE, &wanted)?.code();
        Ok(code!(if #condition.item() { #then } else { #otherwise }))
    }

    fn wants_host(&self, input: usize) -> bool {
        input == 0
    }

    fn flow(&self) -> Option<Flow> {
        Some(Flow::Branches)
    }
}

/// Returns the branch whose outputs have the ranks for which the model is compiled, if the other branch returns other
/// ranks. Exporters write `squeeze` as a branch on a size of 1.
fn expected(cx: &Emit<'_, '_>) -> Result<Option<&'static str>, Problem> {
    for branch in [THEN, ELSE] {
        let block = cx.block(branch)?;
        for (at, &id) in block.outputs.iter().enumerate() {
            let (made, wanted) = (cx.type_of(id)?, cx.output_type(at)?);
            let one = merge::is_one_of_another_rank(made, wanted);
            if cx.wants(at) && rank(made) != rank(wanted) && !one {
                return Ok(Some(if branch == THEN { ELSE } else { THEN }));
            }
        }
    }
    Ok(None)
}

/// Returns the facts of one branch. An output of one element gets the rank that the other branch gives it, if this is
/// higher.
fn lifted(facts: &[Fact], others: &[Fact]) -> Vec<Fact> {
    let lift = |(fact, other): (&Fact, &Fact)| {
        let one = merge::is_one_of_another_rank(&fact.ty, &other.ty);
        if one && rank(&fact.ty) < rank(&other.ty) { Fact::of(other.ty.clone()) } else { fact.clone() }
    };
    facts.iter().zip(others).map(lift).collect()
}

fn rank(ty: &Type) -> usize {
    ty.as_tensor().map_or(0, TensorType::rank)
}

fn block(cx: &mut Infer<'_>, name: &str) -> Result<Option<Vec<Fact>>, Problem> {
    let (wanted, output_count) = (cx.outputs(), cx.block(name)?.outputs.len());
    if wanted > output_count {
        let message =
            format!("the number of outputs of `{name}` is {output_count}, expected at least {wanted}");
        return Err(Problem::new(message).inconsistent());
    }
    let inferred = cx.infer_block(name, &[])?;
    Ok(cx.accept(inferred))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn sizes_that_differ_get_a_name() {
        check(
            r#"g (float[n, 2] x, bool c) => (float[a, b] y) {
                y = If (c) <
                    then_branch = t () => (float[a, 2] p) { p = Concat <axis = 0> (x, x) },
                    else_branch = e () => (float[n, b] q) { q = Concat <axis = 1> (x, x) }
                >
            }"#,
            expect![[r#"
                g (float32[n, 2] x, host bool[] c) => (float32[branch, branch_2] y)
                {
                    float32[branch, branch_2] y = If (c)
                        then_branch () => (float32[2*n, 2] p)
                        {
                            float32[2*n, 2] p = Concat <axis: 0> (x, x)
                        }
                        else_branch () => (float32[n, 4] q)
                        {
                            float32[n, 4] q = Concat <axis: 1> (x, x)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn a_branch_has_no_inputs() {
        check(
            r#"g (float[2] x, bool c) => (float[2] y) {
                y = If (c) <
                    then_branch = t (float[2] v) => (float[2] p) { p = Neg (v) },
                    else_branch = e () => (float[2] q) { q = Abs (x) }
                >
            }"#,
            expect![[r#"
                cannot compile `model`

                  the number of inputs of `then_branch` is 1, expected 0
                    at node `y` (If version 21)
                    help: the file is inconsistent; export the model again

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn a_branch_may_list_its_constants_as_inputs() {
        check(
            r#"g (float[2] x, bool c) => (float[2] y) {
                y = If (c) <
                    then_branch = t (float[2] w) => (float[2] p) <float[2] w = {1, 2}> { p = Add (x, w) },
                    else_branch = e () => (float[2] q) { q = Abs (x) }
                >
            }"#,
            expect![[r#"
                g (float32[2] x, host bool[] c) => (float32[2] y)
                <
                    float32[2] w = {1, 2}
                >
                {
                    float32[2] y = If (c)
                        then_branch () => (float32[2] p)
                        {
                            float32[2] p = Add (x, w)
                        }
                        else_branch () => (float32[2] q)
                        {
                            float32[2] q = Abs (x)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn branches_have_as_many_outputs() {
        check(
            r#"g (float[2] x, bool c) => (float[2] y) {
                y = If (c) <
                    then_branch = t () => (float[2] p, float[2] r) { p = Neg (x) r = Exp (x) },
                    else_branch = e () => (float[2] q) { q = Abs (x) }
                >
            }"#,
            expect![[r#"
                cannot compile `model`

                  the numbers of outputs of `then_branch` and `else_branch` are 2 and 1, expected equal numbers
                    at node `y` (If version 21)
                    help: the file is inconsistent; export the model again

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn branches_of_one_type_agree() {
        check(
            r#"g (float[2] x, bool c) => (float y) {
                y = If (c) <
                    then_branch = t () => (float[2] p) { p = Neg (x) },
                    else_branch = e () => (int64[2] q) { q = Cast <to = 7> (x) }
                >
            }"#,
            expect![[r#"
                cannot compile `model`

                  output 0 is float32[2] or int64[2], expected a single type
                    at node `y` (If version 21)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn the_branch_of_lower_rank_is_expected() {
        check(
            r#"g (float[2, n] x) => (float[k] y) {
                s = Shape (x)
                last = Constant <value_ints = [1]> ()
                size = Gather (s, last)
                c = Equal (size, last)
                y = If (c) <
                    then_branch = t () => (float[2] p) { p = Squeeze (x, last) },
                    else_branch = e () => (float[2, n] q) { q = Identity (x) }
                >
            }"#,
            expect![[r#"
                g (float32[2, n] x) => (float32[2] y)
                <
                    int64[1] last = {1},
                    int64[1] size = {n}
                >
                {
                    host bool[1] c = Equal (size, last)
                    float32[2] y = If (c)
                        then_branch () => (float32[2] p)
                        {
                            float32[2] p = Squeeze (x, last)
                        }
                        else_branch () => (float32[2, n] x)
                        {
                        }
                }
            "#]],
        );
    }

    #[test]
    fn a_branch_of_another_rank_is_checked_though_its_elements_are_known() {
        check(
            r#"g (bool c, float[n] x) => (float[a] y) <float zero = {0.0}> {
                y = If (c) <
                    then_branch = t () => (float p) { p = Identity (zero) },
                    else_branch = e () => (float[n] q) { q = Neg (x) }
                >
            }"#,
            expect![[r#"
                g (host bool[] c, float32[n] x) => (float32[] y)
                <
                    float32[] zero = {0}
                >
                {
                    float32[] y = If (c)
                        then_branch () => (float32[] zero)
                        {
                        }
                        else_branch () => (float32[n] q)
                        {
                            float32[n] q = Neg (x)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn a_scalar_may_stand_where_the_other_branch_has_one_element() {
        check(
            r#"g (bool c, float[1] x) => (float[a] y) <float zero = {0.0}> {
                y = If (c) <
                    then_branch = t () => (float p) { p = Identity (zero) },
                    else_branch = e () => (float[1] q) { q = Neg (x) }
                >
            }"#,
            expect![[r#"
                g (host bool[] c, float32[1] x) => (float32[1] y)
                <
                    float32[] zero = {0}
                >
                {
                    float32[1] y = If (c)
                        then_branch () => (float32[] zero)
                        {
                        }
                        else_branch () => (float32[1] q)
                        {
                            float32[1] q = Neg (x)
                        }
                }
            "#]],
        );
    }
}
