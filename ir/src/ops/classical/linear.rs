//! Linear models.

use std::rc::Rc;

use proc_macro2::Literal;

use super::super::classical::{
    Labels, NUMBERS, input, labels, name, optional_name, required, tell, transform, transform_code,
};
use super::super::{ML, Operator, Row, row};
use crate::attributes::{Attributes, Kept, attributes};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::ops::sizes;
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[
    row("LinearRegressor", &[1], regressor).of(ML),
    row("LinearClassifier", &[1], classifier).arity("r", "rr").of(ML),
];

/// Matrix product with intercepts.
#[derive(Debug)]
struct Linear {
    coefficients: Kept,
    intercepts: Option<Kept>,
    targets: usize,
    transform: &'static str,
    /// The labels of a classifier.
    labels: Option<Labels>,
}

attributes!(struct Linear { coefficients, intercepts, targets, transform, labels });

fn regressor(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let targets = a.int_or("targets", 1)?;
    let found = usize::try_from(targets).ok().filter(|&targets| targets > 0);
    let targets = found.ok_or_else(|| Problem::expected("`targets`", targets, "a positive integer"))?;
    let mut linear = read(a, targets, None)?;
    // ONNX Runtime ignores intercepts unless there is one for each target.
    linear.intercepts = linear.intercepts.filter(|list| list.count == targets);
    Ok(Rc::new(linear))
}

fn classifier(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    a.ignore(&["multi_class"]);
    let labels = labels(a, "classlabels_ints")?;
    let linear = read(a, labels.count, Some(labels))?;
    // One score distinguishes two classes.
    let targets = linear.intercepts.map_or(linear.targets, |list| list.count);
    let fits = match targets {
        1 => linear.targets == 2,
        _ => linear.targets == targets,
    };
    if !fits {
        let message = format!(
            "the number of scores is {targets} and the number of classes is {}, expected one score per class, or 1 \
             score for 2 classes",
            linear.targets
        );
        return Err(Problem::new(message).inconsistent());
    }
    Ok(Rc::new(Linear { targets, ..linear }))
}

fn read(a: &Attributes<'_>, targets: usize, labels: Option<Labels>) -> Result<Linear, Problem> {
    Ok(Linear {
        coefficients: required(a, "coefficients")?,
        intercepts: a.keep("intercepts")?.filter(|list| list.count > 0),
        targets,
        transform: transform(a)?,
        labels,
    })
}

impl Operator for Linear {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let (x, rows) = input(cx, &NUMBERS)?;
        let count = i64::try_from(self.coefficients.count).unwrap_or(i64::MAX);
        let targets = i64::try_from(self.targets).unwrap_or(i64::MAX);
        let features = x.shape.last().and_then(Dim::number);
        let needed = features.map(|features| features.checked_mul(targets));
        if count.checked_rem(targets) != Some(0) || needed.is_some_and(|needed| needed != Some(count)) {
            let expected = match features {
                Some(features) => format!("{targets} * {features} for the input {x}"),
                None => format!("a multiple of {targets}"),
            };
            return Err(sizes::wrong_length("`coefficients`", self.coefficients.count, expected));
        }
        match &self.labels {
            Some(labels) => tell(cx, labels, rows, labels.count),
            None => cx.output(0, DType::F32, vec![rows, Dim::from(targets)]),
        }
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let mut x = cx.tensor_of_rank(0, 2)?;
        if cx.tensor_type(0)?.dtype.is_int() {
            x = code!(#x.float());
        }
        let coefficients = name(cx, self.coefficients)?;
        let intercepts = optional_name(cx, self.intercepts)?;
        let targets = Literal::usize_unsuffixed(self.targets);
        let transform = transform_code(self.transform);
        let hint = cx.hint();
        match &self.labels {
            Some(labels) => {
                let named = labels.emit(cx)?;
                let load = code! {
                    layers::LinearClassifier::load(
                        weights,
                        #coefficients,
                        #intercepts,
                        #targets,
                        #named,
                        #transform,
                    )
                };
                let layer = cx.layer(&hint, code!(layers::LinearClassifier), load);
                Ok(labels.forward(cx, &layer, &x))
            }
            None => {
                let load = code! {
                    layers::LinearRegressor::load(
                        weights,
                        #coefficients,
                        #intercepts,
                        #targets,
                        #transform,
                    )
                };
                let layer = cx.layer(&hint, code!(layers::LinearRegressor), load);
                Ok(code!(#layer.forward(#x)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    fn model(operator: &str, attributes: &str) -> String {
        let scores = if operator.ends_with("Classifier") { ", scores" } else { "" };
        format!(
            r#"<ir_version: 9, opset_import: ["" : 21, "ai.onnx.ml" : 3]>
            g (float[n, 2] x) => (y) {{ y{scores} = ai.onnx.ml.{operator} <{attributes}> (x) }}"#
        )
    }

    #[test]
    fn a_regressor_has_a_row_of_coefficients_for_each_target() {
        let attributes = "coefficients = [1.0, 2.0, 3.0, 4.0], targets = 2";
        check(
            &model("LinearRegressor", attributes),
            expect![[r#"
            g (float32[n, 2] x) => (float32[n, 2] y)
            <
                float32[4] y.coefficients = {1, 2, 3, 4}
            >
            {
                float32[n, 2] y = ai.onnx.ml.LinearRegressor <coefficients: #1, targets: 2, transform: "None"> (x, y.coefficients)
            }
        "#]],
        );
        let attributes = "coefficients = [1.0, 2.0, 3.0], targets = 2";
        check(
            &model("LinearRegressor", attributes),
            expect![[r#"
                cannot compile `model`

                  `coefficients` has 3 elements, expected 2 * 2 for the input float32[n, 2]
                    at node `y` (ai.onnx.ml.LinearRegressor version 1)

                  model: IR version 9, ai.onnx 21, ai.onnx.ml 3"#]],
        );
    }

    #[test]
    fn one_score_tells_two_classes_only() {
        let attributes = "coefficients = [1.0, 2.0], intercepts = [0.5], classlabels_ints = [1, 2]";
        check(
            &model("LinearClassifier", attributes),
            expect![[r#"
                g (float32[n, 2] x) => (int64[n] y)
                <
                    int64[2] y.classlabels_ints = {1, 2},
                    float32[2] y.coefficients = {1, 2},
                    float32[1] y.intercepts = {0.5}
                >
                {
                    int64[n] y, _ = ai.onnx.ml.LinearClassifier <coefficients: #2, intercepts: #3, targets: 1, transform: "None", labels: {count: 2, list: #1}> (x, y.classlabels_ints, y.coefficients, y.intercepts)
                }
            "#]],
        );
        let attributes = "coefficients = [1.0], intercepts = [0.5], classlabels_ints = [1, 2, 3]";
        check(
            &model("LinearClassifier", attributes),
            expect![[r#"
                cannot compile `model`

                  the number of scores is 1 and the number of classes is 3, expected one score per class, or 1 score for 2 classes
                    at node `y` (ai.onnx.ml.LinearClassifier opset 3)
                    help: the file is inconsistent; export the model again

                  model: IR version 9, ai.onnx 21, ai.onnx.ml 3"#]],
        );
    }
}
