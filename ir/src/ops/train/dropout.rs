//! Dropout, which is the identity outside training.

use std::rc::Rc;

use proc_macro2::Literal;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::graph::Node;
use crate::infer::Infer;
use crate::ops::elementwise::cast::{from_bool, small_float};
use crate::ops::random::Seed;
use crate::ops::{Operator, Row, row};
use crate::rust::{Code, code};
use crate::types::{Known, Placement};

pub const ROWS: &[Row] = &[row("Dropout", &[1, 6, 7, 10, 12, 13, 22], dropout)
    .follows()
    .arity("roo", "ro")
    .before(&[(12, "r", "ro")])];

#[derive(Debug)]
pub struct Dropout {
    /// Whether the version is below 10, in which the mask has the type of the input.
    old_mask: bool,
    /// Ratio of dropped elements from an attribute. Since version 12 it is input 1.
    ratio: Option<f32>,
    /// Whether elements are dropped if no input specifies it.
    training: bool,
    seed: Seed,
}

attributes!(struct Dropout { old_mask, ratio, training, seed });

fn dropout(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let mut dropout =
        Dropout { old_mask: a.version() < 10, ratio: None, training: false, seed: Seed::new(None) };
    match a.version() {
        ..7 => {
            a.ignore(&["consumed_inputs"]);
            dropout.ratio = Some(a.float_or("ratio", 0.5)?);
            dropout.training = !a.flag("is_test", false)?;
        }
        7..12 => a.ignore(&["ratio"]),
        _ => dropout.seed = Seed::new(a.int("seed")?.map(|seed| seed as u64)),
    }
    Ok(Rc::new(dropout))
}

/// Cases in which elements are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Never,
    Always,
    /// If input 2 is true.
    Input,
}

impl Dropout {
    /// Returns `true` if elements are dropped in no run. `ratio` and `training` are the known elements of inputs 1 and
    /// 2.
    pub fn is_off(&self, node: &Node, ratio: Option<&Known>, training: Option<&Known>) -> bool {
        let ratio = self.ratio(ratio, node.input(1).is_some());
        self.mode(training, node.input(2).is_some(), ratio) == Mode::Never
    }

    fn mode(&self, training: Option<&Known>, has_training: bool, ratio: Option<f64>) -> Mode {
        match training {
            _ if ratio == Some(0.0) => Mode::Never,
            Some(Known::Bools(values)) if values.contains(&true) => Mode::Always,
            Some(_) => Mode::Never,
            None if has_training => Mode::Input,
            None if self.training => Mode::Always,
            None => Mode::Never,
        }
    }

    /// Returns the ratio of dropped elements, if it is known.
    fn ratio(&self, known: Option<&Known>, has_ratio: bool) -> Option<f64> {
        match (self.ratio, known) {
            (Some(ratio), _) => Some(f64::from(ratio)),
            (None, Some(Known::Floats(values))) => values.first().copied(),
            (None, _) if has_ratio => None,
            (None, _) => Some(0.5),
        }
    }
}

impl Operator for Dropout {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = cx.tensor(0)?;
        let ratio = self.ratio(cx.known(1), cx.has(1));
        match self.mode(cx.known(2), cx.has(2), ratio) {
            Mode::Never => cx.output_same(0, 0),
            _ if ratio.is_some_and(|ratio| !(0.0..1.0).contains(&ratio)) => {
                let ratio = ratio.unwrap_or_default();
                return Err(Problem::expected("the ratio", ratio, "at least 0 and less than 1"));
            }
            _ => cx.output(0, x.dtype, x.shape.clone()),
        }
        let mask = if self.old_mask { x.dtype } else { DType::Bool };
        cx.output(1, mask, x.shape);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let operand = cx.tensor_type(0)?.clone();
        let ratio = self.ratio(cx.known(1), cx.has(1));
        let mode = self.mode(cx.known(2), cx.has(2), ratio);
        let x = cx.tensor(0)?;
        if mode == Mode::Never {
            let (rank, shape) = (Literal::usize_unsuffixed(operand.burn_rank()), cx.shape(&operand.shape));
            let mask = match (cx.wants(1), self.old_mask) {
                (false, _) => code!(()),
                (true, true) => code!(#x.ones_like()),
                (true, false) => code!(Tensor::<#rank, Bool>::ones(#shape, device)),
            };
            return Ok(match cx.outputs() {
                1 => x,
                _ => code!((#x, #mask)),
            });
        }
        let ratio = match ratio {
            Some(ratio) => float_literal(ratio, DType::F64),
            None => {
                cx.may_fail();
                cx.host_float(1)?
            }
        };
        let training = match mode {
            Mode::Input => {
                let training = cx.input_at(2, Placement::Host)?;
                code!(#training.item())
            }
            _ => code!(true),
        };
        let (seed, small) = (self.seed.emit(), small_float(operand.dtype, "up"));
        let dropped = code!(ops::random::dropout(#x, #ratio, #training, #seed));
        if cx.outputs() == 1 && small.is_none() {
            return Ok(code!(#dropped.0));
        }
        let (y, mask) = (cx.temporary("kept"), cx.temporary("mask"));
        let output = match small {
            Some(small) => code!(ops::small::to_small(#y, #small, true)),
            None => code!(#y),
        };
        let output_mask = if self.old_mask { from_bool(&code!(#mask), operand.dtype) } else { code!(#mask) };
        Ok(match (cx.outputs(), cx.wants(1)) {
            (1, _) => code!({ let #y = #dropped.0; #output }),
            (_, false) => code!({ let #y = #dropped.0; (#output, ()) }),
            (_, true) => code!({ let (#y, #mask) = #dropped; (#output, #output_mask) }),
        })
    }

    fn wants_host(&self, input: usize) -> bool {
        input > 0
    }

    fn is_pure(&self) -> bool {
        self.seed.is_set()
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    #[test]
    fn training_may_be_an_input() {
        check(
            r#"
            main (float[N] x, float ratio, bool training) => (float[N] y, bool[N] mask) {
                y, mask = Dropout <seed = 3> (x, ratio, training)
            }
            "#,
            expect![[r#"
                main (float32[N] x, host float32[] ratio, host bool[] training) => (float32[N] y, bool[N] mask)
                {
                    float32[N] y, bool[N] mask = Dropout <seed: {3}> (x, ratio, training)
                }
            "#]],
        );
    }

    #[test]
    fn a_ratio_is_below_one() {
        check(
            r#"
            main (float[N] x) => (float[N] y) <float ratio = {1}, bool yes = {1}> {
                y = Dropout (x, ratio, yes)
            }
            "#,
            expect![[r#"
                cannot compile `model`

                  the ratio is 1, expected at least 0 and less than 1
                    at node `y` (Dropout version 13)

                  model: IR version 10, ai.onnx 21"#]],
        );
    }

    #[test]
    fn nothing_is_dropped_outside_of_training() {
        check(
            r#"
            main () => (float[1] y, bool[1] mask, float[1] z) <float[1] x = {3}, bool no = {0}> {
                y, mask = Dropout (x)
                z = Dropout (x, "", no)
            }
            "#,
            expect![[r#"
                main () => (float32[1] y, bool[1] mask, float32[1] z)
                <
                    float32[1] x = {3},
                    float32[1] y = {3},
                    float32[1] z = {3}
                >
                {
                    _, bool[1] mask = Dropout (x)
                }
            "#]],
        );
    }

    #[test]
    fn the_first_versions_train_unless_an_attribute_says_no() {
        check(
            r#"<ir_version: 3, opset_import: ["": 6]>
            main (float[2] x) => (float[2] y, float[2] mask, float[2] z) {
                y, mask = Dropout (x)
                z = Dropout <is_test = 1> (x)
            }
            "#,
            expect![[r#"
                main (float32[2] x) => (float32[2] y, float32[2] mask, float32[2] z)
                {
                    float32[2] y, float32[2] mask = Dropout <old_mask: true, ratio: 0.5, training: true> (x)
                    float32[2] z = Dropout <old_mask: true, ratio: 0.5> (x)
                }
            "#]],
        );
    }
}
