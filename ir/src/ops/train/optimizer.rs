//! Optimizers: a training step of several tensors.

use std::rc::Rc;

use crate::attributes::{Attributes, attributes};
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::{Operator, Row, TRAINING, row, sizes};
use crate::rust::{Code, Variable, code};
use crate::types::TensorType;

pub const ROWS: &[Row] = &[
    row("Adagrad", &[1], adagrad).arity("rr+", "+").of(TRAINING),
    row("Adam", &[1], adam).arity("rr+", "+").of(TRAINING),
    row("Momentum", &[1], momentum).arity("rr+", "+").of(TRAINING),
];

/// One step of an optimizer. Inputs are the learning rate, the number of previous steps, then the lists: tensors,
/// gradients, and the state of the optimizer. Outputs are the lists without gradients.
#[derive(Debug)]
struct Optimizer {
    kind: UpdateRule,
    regularization: f32,
}

attributes!(struct Optimizer { kind, regularization });

#[derive(Debug)]
enum UpdateRule {
    Adagrad { decay: f32, epsilon: f32 },
    Adam { keep: [f32; 2], epsilon: f32, regularization_after: f32 },
    Momentum { keep: f32, take: f32, nesterov: bool },
}

attributes!(enum UpdateRule {
    Adagrad { decay, epsilon }, Adam { keep, epsilon, regularization_after }, Momentum { keep,
    take, nesterov }
});

fn adagrad(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let kind = UpdateRule::Adagrad {
        decay: a.float_or("decay_factor", 0.0)?,
        epsilon: a.float_or("epsilon", 1e-6)?,
    };
    optimizer(a, kind)
}

fn adam(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let kind = UpdateRule::Adam {
        keep: [a.float_or("alpha", 0.9)?, a.float_or("beta", 0.999)?],
        epsilon: a.float_or("epsilon", 1e-6)?,
        regularization_after: a.float_or("norm_coefficient_post", 0.0)?,
    };
    optimizer(a, kind)
}

fn momentum(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    a.required("mode", Attributes::string)?;
    a.required("norm_coefficient", Attributes::float)?;
    let kind = UpdateRule::Momentum {
        keep: a.required("alpha", Attributes::float)?,
        take: a.required("beta", Attributes::float)?,
        nesterov: a.choice("mode", "", &[("standard", false), ("nesterov", true)])?,
    };
    optimizer(a, kind)
}

fn optimizer(a: &Attributes<'_>, kind: UpdateRule) -> Result<Rc<dyn Operator>, Problem> {
    let regularization = a.float_or("norm_coefficient", 0.0)?;
    Ok(Rc::new(Optimizer { kind, regularization }))
}

impl Optimizer {
    /// Returns the number of lists of tensors.
    fn lists(&self) -> usize {
        match self.kind {
            UpdateRule::Adam { .. } => 4,
            _ => 3,
        }
    }

    /// Returns the number of tensors in each list.
    fn tensors(&self, inputs: usize, outputs: usize) -> Result<usize, Problem> {
        let lists = self.lists();
        let listed = inputs.saturating_sub(2);
        let count = listed / lists;
        if count == 0 || !listed.is_multiple_of(lists) || outputs != count * (lists - 1) {
            return Err(Problem::new(format!(
                "the numbers of inputs and outputs are {inputs} and {outputs}, expected 2 + {lists}n and {}n \
                 for n tensors",
                lists - 1
            )));
        }
        Ok(count)
    }

    /// Returns the optimizer with its hyperparameters, this rate and count.
    fn settings(&self, rate: &Code, count: &Code) -> Code {
        let number = |value: f32| float_literal(f64::from(value), DType::F64);
        let regularization = number(self.regularization);
        match self.kind {
            UpdateRule::Adagrad { decay, epsilon } => {
                let (decay, epsilon) = (number(decay), number(epsilon));
                code! {
                    ops::optimizer::Adagrad::new([#rate, #decay], #count, #regularization, #epsilon)
                }
            }
            UpdateRule::Adam { keep, epsilon, regularization_after } => {
                let ([mean, squares], epsilon) = (keep.map(number), number(epsilon));
                let after = number(regularization_after);
                code! {
                    ops::optimizer::Adam::new(
                        #rate, #count, [#mean, #squares], [#regularization, #after], #epsilon
                    )
                }
            }
            UpdateRule::Momentum { keep, take, nesterov } => {
                let (keep, take) = (number(keep), number(take));
                code! {
                    ops::optimizer::Momentum::new(
                        #rate, #count, [#keep, #take], #regularization, #nesterov
                    )
                }
            }
        }
    }
}

impl Operator for Optimizer {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let count = self.tensors(cx.inputs(), cx.outputs())?;
        let (rate, steps) = (cx.tensor(0)?, cx.tensor(1)?);
        let single = |of: &TensorType| of.count().is_none_or(|count| count == 1);
        if !single(&rate) || !rate.dtype.is_float() {
            return Err(Problem::expected("the learning rate", rate, "one float"));
        }
        if !single(&steps) || !steps.dtype.is_int() {
            return Err(Problem::expected("the number of steps", steps, "one integer"));
        }
        for at in 0..count {
            let (x, whose) = (cx.tensor(2 + at)?, format!("input {}", 2 + at));
            if !x.dtype.is_float() {
                return Err(Problem::expected(whose, x, "floats"));
            }
            for list in 1..self.lists() {
                let input = 2 + list * count + at;
                let (other, what) = (cx.tensor(input)?, format!("input {input}"));
                sizes::same_type((&what, &other), (&whose, &x))?;
                sizes::shaped(&what, &other, &x.shape)?;
            }
            for list in 0..self.lists() - 1 {
                cx.output(list * count + at, x.dtype, x.shape.clone());
            }
        }
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let (lists, count) = (self.lists(), self.tensors(cx.inputs(), cx.outputs())?);
        for at in 0..count {
            let lists = (0..lists).map(|list| Ok(&cx.tensor_type(2 + list * count + at)?.shape));
            let shapes = lists.collect::<Result<Vec<_>, Problem>>()?;
            if shapes.iter().any(|shape| Some(shape) != shapes.first()) {
                cx.may_fail();
            }
        }
        let (rate, steps) = (cx.host_float(0)?, cx.host_int(1)?);
        let settings = self.settings(&rate, &steps);
        let mut arguments = Vec::with_capacity(count);
        for at in 0..count {
            let inputs = (0..lists).map(|list| cx.tensor(2 + list * count + at));
            arguments.push(inputs.collect::<Result<Vec<_>, _>>()?);
        }
        if let [arguments] = arguments.as_slice() {
            return Ok(code!(#settings.step(#(#arguments),*)));
        }
        let step = cx.temporary("step");
        let results = (0..count).map(|_| {
            let names = ["x", "state", "squares"].iter().take(lists - 1);
            names.map(|name| cx.temporary(name)).collect()
        });
        let results: Vec<Vec<Variable>> = results.collect();
        let lists = (0..lists - 1).map(|list| results.iter().filter_map(move |of| of.get(list)));
        let outputs = lists.flatten();
        let steps = results.iter().zip(&arguments);
        let steps =
            steps.map(|(results, arguments)| code!(let (#(#results),*) = #step.step(#(#arguments),*);));
        Ok(code!({
            let #step = #settings;
            #(#steps)*
            (#(#outputs),*)
        }))
    }

    fn wants_host(&self, input: usize) -> bool {
        input < 2
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::{check, problems};

    #[test]
    fn each_tensor_has_its_gradient_and_its_squares() {
        check(
            r#"<ir_version: 10, opset_import: ["": 21, "ai.onnx.preview.training": 1]>
            main (float rate, int64 count, float[2] x, double[N] y, float[2] gx, double[N] gy, float[2] hx, double[N] hy)
                => (float[2] x2, double[N] y2, float[2] hx2, double[N] hy2) {
                x2, y2, hx2, hy2 = ai.onnx.preview.training.Adagrad (rate, count, x, y, gx, gy, hx, hy)
            }
            "#,
            expect![[r#"
                main (host float32[] rate, host int64[] count, float32[2] x, float64[N] y, float32[2] gx, float64[N] gy, float32[2] hx, float64[N] hy) => (float32[2] x2, float64[N] y2, float32[2] hx2, float64[N] hy2)
                {
                    float32[2] x2, float64[N] y2, float32[2] hx2, float64[N] hy2 = ai.onnx.preview.training.Adagrad <kind: {decay: 0.0, epsilon: 1e-6}, regularization: 0.0> (rate, count, x, y, gx, gy, hx, hy)
                }
            "#]],
        );
    }

    #[test]
    fn lists_are_of_one_length() {
        check(
            r#"<ir_version: 10, opset_import: ["": 21, "ai.onnx.preview.training": 1]>
            main (float rate, int64 count, float[2] x, float[2] g) => (float[2] y) {
                y = ai.onnx.preview.training.Adam (rate, count, x, g)
            }
            "#,
            expect![[r#"
                cannot compile `model`

                  the numbers of inputs and outputs are 4 and 1, expected 2 + 4n and 3n for n tensors
                    at node `y` (ai.onnx.preview.training.Adam version 1)

                  model: IR version 10, ai.onnx 21, ai.onnx.preview.training 1"#]],
        );
    }

    #[test]
    fn gradients_have_the_shape_of_their_tensor() {
        problems(
            &[
                r#"(float r, int64 t, float[2] x, float[3] g, float[2] h) => (float[2] y, float[2] k) { y, k = ai.onnx.preview.training.Adagrad (r, t, x, g, h) }"#,
            ],
            expect![[r#"
                input 3 is float32[3], expected shape [2]
            "#]],
        );
    }
}
