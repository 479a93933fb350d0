//! Limit for the code of a model.

use crate::diagnostics::Problem;
use crate::rust::Code;

/// Number of code parts that any model may have, each about 64 bytes.
const BASE: usize = 500_000;
/// Number of further parts for each node. Nodes of real models have 30 on average.
const NODE: usize = 256;
/// Number of further parts for each byte of the files.
const BYTE: usize = 2;

/// Number of parts that code may still have.
#[derive(Debug, Default)]
pub struct Budget {
    limit: usize,
    left: Option<usize>,
}

impl Budget {
    /// Returns the limit of a model with this number of nodes, and of bytes in its files.
    pub fn new(nodes: usize, bytes: usize) -> Self {
        let more = [nodes.saturating_mul(NODE), bytes.saturating_mul(BYTE)];
        let limit = more.into_iter().fold(BASE, usize::saturating_add);
        Budget { limit, left: Some(limit) }
    }

    /// Returns `true` if the budget is exceeded.
    pub fn is_spent(&self) -> bool {
        self.left.is_none()
    }

    /// Subtracts the parts of this code.
    pub fn spend(&mut self, code: &Code) -> Result<(), Problem> {
        self.left = self.left.and_then(|left| rest(code, left));
        match self.left {
            Some(_) => Ok(()),
            None => Err(self.exceeded()),
        }
    }

    fn exceeded(&self) -> Problem {
        let limit = self.limit;
        Problem::new(format!("with this node, the generated code exceeds {limit} tokens")).help(
            "store large constants as initializers, and do not compute large values from constants, because values \
             that are known at compile time become code",
        )
    }
}

/// Returns the number of parts that are left after this code.
fn rest(code: &Code, left: usize) -> Option<usize> {
    code.parts().iter().try_fold(left, |left, part| {
        let mut inside = part.inside().into_iter().flatten();
        inside.try_fold(left.checked_sub(1)?, |left, code| rest(code, left))
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use prost::Message;

    use crate::emit::Item;
    use crate::options::Options;

    /// Uses 4,096 known elements on the host `times` times.
    fn check(times: usize, expected: Expect) {
        let concats = (0..11).map(|at| format!("s{} = Concat <axis = 0> (s{at}, s{at})", at + 1));
        let products = (0..times).map(|at| format!("p{} = Mul (p{at}, s11)", at + 1));
        let nodes: Vec<String> = concats.chain(products).collect();
        let text = format!(
            "<ir_version: 10, opset_import: [\"\": 21]>
            g (float[1] x, int64[1] p0) => (float[k] y) <int64[2] s0 = {{1, 2}}, int64[1] zero = {{0}}> {{
                {} size = Gather (p{times}, zero) y = Reshape (x, size)
            }}",
            nodes.join(" ")
        );
        let model = crate::text::model(&text).unwrap().encode_to_vec();
        let options = Options::default();
        let model = crate::load_bytes(model.into(), &options).unwrap();
        let item = Item::model("model.onnx");
        let shown = match crate::code(&model, &item, &options) {
            Ok(_) => "fine".to_owned(),
            Err(problems) => problems.report("model"),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn long_values_are_written_out_so_often() {
        check(60, expect!["fine"]);
    }

    #[test]
    fn code_that_is_far_longer_than_its_file_ends_at_a_node() {
        check(
            80,
            expect![[r#"
                cannot compile `model`

                  with this node, the generated code exceeds 525582 tokens
                    at node `p64` (Mul version 14)
                    help: store large constants as initializers, and do not compute large values from constants, because values that are known at compile time become code

                  model: IR version 10, ai.onnx 21"#]],
        );
    }
}
