//! BatchNormalization.

use std::rc::Rc;

use super::{check_floats, floats, number};
use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::{Operator, Row, broadcast, row, sizes};
use crate::rows::Rows;
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[row("BatchNormalization", &[1, 6, 7, 9, 14, 15], read)
    .follows()
    .arity("rrrrr", "roo")
    .before(&[(14, "rrrrr", "roooo")])];

#[derive(Debug)]
pub struct Batch {
    epsilon: f32,
    /// Whether each element of an image has separate statistics, instead of each channel.
    elements: bool,
    /// Momentum of the running statistics, if the statistics of the batch are used.
    training: Option<f32>,
}

attributes!(struct Batch { epsilon, elements, training });

pub fn read(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let mut elements = false;
    if a.version() < 9 {
        elements = !a.flag("spatial", true)?;
        a.ignore(&["consumed_inputs"]);
    }
    if a.version() < 7 {
        a.ignore(&["is_test"]);
    }
    let momentum = a.float_or("momentum", 0.9)?;
    let training = a.version() >= 14 && a.flag("training_mode", false)?;
    Ok(Rc::new(Batch {
        epsilon: a.float_or("epsilon", 1e-5)?,
        elements,
        training: training.then_some(momentum),
    }))
}

impl Batch {
    /// Returns the epsilon that is added to the variance, if the statistics are inputs instead of those of the batch.
    pub fn inference(&self) -> Option<f32> {
        self.training.is_none().then_some(self.epsilon)
    }
}

impl Operator for Batch {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let x = floats(cx, 2)?;
        let kept = if self.elements { x.rank() } else { 2 };
        let expected = x.shape.get(1..kept).unwrap_or_default();
        for (input, what) in (1..).zip(["the scale", "the bias", "the mean", "the variance"]) {
            let factor = cx.tensor_of_rank(input, expected.len())?;
            check_floats(what, &factor)?;
            sizes::shaped(what, &factor, expected)?;
        }
        cx.output(0, x.dtype, x.shape);
        for (output, input) in [(1, 3), (2, 4), (3, 3), (4, 4)] {
            let statistic = cx.tensor(input)?;
            cx.output(output, statistic.dtype, statistic.shape);
        }
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        broadcast::check_sizes(cx);
        let epsilon = number(self.epsilon);
        if let Some(momentum) = self.training {
            return train(cx, &epsilon, momentum);
        }
        if (1..cx.outputs()).any(|output| cx.wants(output)) {
            return Err(Problem::new("the statistics are outputs, which requires training mode")
                .help("export the model in evaluation mode (`model.eval()` in PyTorch)"));
        }
        let function = if self.elements { code!(batch_norm_elements) } else { code!(batch_norm) };
        let weights = (cx.weight(1), cx.weight(2), cx.weight(3), cx.weight(4));
        let normalized = match weights {
            (Some(scale), Some(bias), Some(mean), Some(variance)) if !self.elements => {
                let (hint, x) = (cx.layer_hint(1), cx.tensor(0)?);
                let load = code! {
                    layers::BatchNorm::load(weights, [#scale, #bias, #mean, #variance], #epsilon)
                };
                let named = [("scale", 1), ("bias", 2), ("mean", 3), ("variance", 4)];
                let layer = cx.layer_of(&hint, code!(layers::BatchNorm), load, &named);
                code!(#layer.forward(#x))
            }
            _ => {
                let (x, scale, bias) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
                let (mean, variance) = (cx.tensor(3)?, cx.tensor(4)?);
                code!(ops::normalize::#function(#x, #scale, #bias, #mean, #variance, #epsilon))
            }
        };
        Ok(match cx.outputs() {
            1 => normalized,
            outputs => {
                let unwanted = (1..outputs).map(|_| code!(()));
                code!((#normalized, #(#unwanted),*))
            }
        })
    }

    fn rows(&self, rows: &Rows<'_>) -> Option<Vec<usize>> {
        self.training.is_none().then(|| rows.batch()).flatten()
    }
}

fn train(cx: &mut Emit<'_, '_>, epsilon: &Code, momentum: f32) -> Result<Code, Problem> {
    let (x, scale, bias) = (cx.tensor(0)?, cx.tensor(1)?, cx.tensor(2)?);
    let (mean, variance) = (cx.tensor(3)?, cx.tensor(4)?);
    let momentum = number(momentum);
    let trained = code! {
        ops::normalize::batch_norm_train(
            #x, #scale, #bias, #mean, #variance, #epsilon, #momentum,
        )
    };
    Ok(match cx.outputs() {
        1 => code!(#trained.y),
        2 => code!({
            let trained = #trained;
            (trained.y, trained.running_mean)
        }),
        _ => code!({
            let trained = #trained;
            (trained.y, trained.running_mean, trained.running_variance)
        }),
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::problems;

    #[test]
    fn statistics_are_for_each_channel() {
        problems(
            &[
                r#"(float[n, 3, h] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[n, 3, h] y) { y = BatchNormalization (x, s, b, m, v) }"#,
                r#"(float[n, 3, h] x, float[4] s, float[3] b, float[3] m, float[3] v) => (float[n, 3, h] y) { y = BatchNormalization (x, s, b, m, v) }"#,
                r#"(float[n, 3, h] x, float[1, 3] s, float[3] b, float[3] m, float[3] v) => (float[n, 3, h] y) { y = BatchNormalization (x, s, b, m, v) }"#,
                r#"(float[n, 3, h] x, int32[3] s, float[3] b, float[3] m, float[3] v) => (float[n, 3, h] y) { y = BatchNormalization (x, s, b, m, v) }"#,
                r#"(float[n, 3, h] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[n, 3, h] y, float[3] r) { y, r = BatchNormalization (x, s, b, m, v) }"#,
                r#"(float[n, 3, h] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[n, 3, h] y, float[3] r) { y, r = BatchNormalization <training_mode = 1> (x, s, b, m, v) }"#,
                r#"(float[3] x, float[3] s) => (float[3] y) { y = BatchNormalization (x, s, s, s, s) }"#,
                r#"<ir_version: 4, opset_import: ["": 8]> g (float[n, 3, 2] x, float[3] s) => (float[n, 3, 2] y) { y = BatchNormalization <spatial = 0> (x, s, s, s, s) }"#,
            ],
            expect![[r#"
                fine
                the scale is float32[4], expected shape [3]
                input 1 is float32[1, 3], expected rank 1
                the scale is int32[3], expected floats
                fine
                fine
                the input is float32[3], expected floats of rank 2 or more
                input 1 is float32[3], expected rank 2
            "#]],
        );
    }
}
