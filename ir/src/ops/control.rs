//! Branches and loops, emitted as those of Rust.

mod branch;
mod counter;
mod iterations;
mod merge;
mod repeat;
mod scan;

use super::{Row, row};
use crate::attributes::Attributes;
use crate::diagnostics::{Problem, counted};

pub const FAMILIES: &[&[Row]] = &[ROWS];

pub const ROWS: &[Row] = &[
    row("If", &[1, 11, 13, 16, 19, 21, 23, 24, 25], branch::read).arity("r", "+"),
    row("Loop", &[1, 11, 13, 16, 19, 21, 23, 24, 25], repeat::read)
        .arity("oo*", "+")
        .before(&[(11, "oo+", "+")]),
    row("Scan", &[8, 9, 11, 16, 19, 21, 23, 24, 25], scan::read).arity("+", "+").before(&[(9, "o+", "+")]),
];

/// Reports a node that has more outputs than a block, also if these have no names. The first `others` outputs of the block
/// are not those of the node.
fn has_outputs(a: &Attributes<'_>, block: &str, others: usize) -> Result<(), Problem> {
    let most = a.graph(block)?.map(|graph| graph.output.len().saturating_sub(others));
    match most.filter(|&most| a.outputs() > most) {
        None => Ok(()),
        Some(most) => {
            let found = counted(a.outputs(), "outputs");
            let message =
                format!("the node has {found}, expected at most {most} for the outputs of `{block}`");
            Err(Problem::new(message).inconsistent())
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn a_node_has_no_more_outputs_than_its_blocks() {
        problems(
            &[
                r#"(float[2] x, bool c) => (float[2] y) { y, "" = If (c) <
                    then_branch = t () => (float[2] p) { p = Neg (x) },
                    else_branch = e () => (float[2] r) { r = Exp (x) }> }"#,
                r#"(float[2] x, int64 n) => (float[2] y) { y, "" = Loop (n, "", x) <
                    body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t) { d = Identity (c) t = Neg (s) }> }"#,
                r#"(float[3, 2] x) => (float[3, 2] y) { y, "" = Scan (x) <
                    num_scan_inputs = 1, body = b (float[2] e) => (float[2] t) { t = Neg (e) }> }"#,
                r#"(float[2] x, int64 n) => (float[2] y) { y, "" = Loop (n, "", x) <
                    body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t, float[2] u) {
                        d = Identity (c) t = Neg (s) u = Exp (s) }> }"#,
            ],
            expect![[r#"
                the node has 2 outputs, expected at most 1 for the outputs of `then_branch`
                the node has 2 outputs, expected at most 1 for the outputs of `body`
                the node has 2 outputs, expected at most 1 for the outputs of `body`
                fine
            "#]],
        );
    }
}
