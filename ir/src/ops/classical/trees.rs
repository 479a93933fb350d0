//! Tree ensembles.

mod check;
mod form;

use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use super::super::classical::{
    Labels, NUMBERS, input, labels, optional_name, tell, transform, transform_code,
};
use super::super::{ML, Operator, Row, row};
use crate::attributes::{Attributes, Kept, attributes};
use crate::diagnostics::{Problem, Topic};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::{Emit, element_type};
use crate::infer::Infer;
use crate::ops::classical::trees::form::Form;
use crate::ops::sizes;
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[
    row("TreeEnsembleClassifier", &[1, 3], classifier).removed(5, "TreeEnsemble").arity("r", "rr").of(ML),
    row("TreeEnsembleRegressor", &[1, 3], regressor).removed(5, "TreeEnsemble").of(ML),
    row("TreeEnsemble", &[5], ensemble).of(ML),
];

/// Decision trees whose leaves have weights for classes or targets.
#[derive(Debug)]
struct Trees {
    form: Form,
    output: Output,
    transform: &'static str,
    base: Option<Kept>,
    /// Whether the file stores the trees in 64 bits.
    double: bool,
    /// Number of features that the trees require; 0 if it is unknown.
    width: usize,
}

attributes!(struct Trees { form, output, transform, base, double, width });

/// Maximum number of targets.
const MAX_TARGETS: usize = 1 << 28;

#[derive(Debug)]
enum Output {
    Classes(Labels),
    Numbers {
        targets: usize,
        /// A variant of the kernels' `Aggregate`.
        aggregate: &'static str,
        /// Whether the output has the input's type.
        same_type: bool,
    },
}

attributes!(enum Output { Classes(inner), Numbers { targets, aggregate, same_type } });

fn classifier(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let labels = labels(a, "classlabels_int64s")?;
    let names = ["class_treeids", "class_nodeids", "class_ids"];
    let form = form::labeled(a, names, ["class_weights", "class_weights_as_tensor"])?;
    let count = labels.count;
    let width = check::labeled(a, names, form.sizes(), count)?;
    labeled_trees(a, (form, width), Output::Classes(labels), |base| match count {
        1 => true,
        2 => base <= 2,
        _ => base == count,
    })
}

fn regressor(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let names = ["target_treeids", "target_nodeids", "target_ids"];
    let form = form::labeled(a, names, ["target_weights", "target_weights_as_tensor"])?;
    let targets = targets(a)?;
    let width = check::labeled(a, names, form.sizes(), targets)?;
    let aggregates = [("SUM", "Sum"), ("AVERAGE", "Average"), ("MIN", "Min"), ("MAX", "Max")];
    let aggregate = a.choice("aggregate_function", "SUM", &aggregates)?;
    let output = Output::Numbers { targets, aggregate, same_type: false };
    labeled_trees(a, (form, width), output, |base| base == targets)
}

fn labeled_trees(
    a: &Attributes<'_>,
    (form, width): (Form, usize),
    output: Output,
    fits: impl Fn(usize) -> bool,
) -> Result<Rc<dyn Operator>, Problem> {
    let base = form::list(a, &["base_values", "base_values_as_tensor"])?;
    if let Some(base) = base.filter(|base| !fits(base.count)) {
        let expected = match &output {
            Output::Classes(labels) => labels.count,
            Output::Numbers { targets, .. } => *targets,
        };
        return Err(sizes::wrong_length("`base_values`", base.count, expected).inconsistent());
    }
    let transform = transform(a)?;
    Ok(Rc::new(Trees { double: form.is_double(), form, output, transform, base, width }))
}

fn ensemble(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let form = form::indexed(a)?;
    let targets = targets(a)?;
    let width = check::indexed(a, form.sizes(), targets)?;
    let number = |name: &str, default: i64, variants: &[&'static str]| {
        let number = a.int_or(name, default)?;
        let at = usize::try_from(number).ok();
        let variant = at.and_then(|at| variants.get(at)).copied();
        variant.ok_or_else(|| {
            let expected = format!("0 to {}", variants.len().saturating_sub(1));
            Problem::expected(format_args!("`{name}`"), number, expected)
        })
    };
    let transforms = ["None", "Softmax", "Logistic", "SoftmaxZero", "Probit"];
    let aggregates = ["Average", "Sum", "Min", "Max"];
    Ok(Rc::new(Trees {
        double: form.is_double(),
        form,
        output: Output::Numbers {
            targets,
            aggregate: number("aggregate_function", 1, &aggregates)?,
            same_type: true,
        },
        transform: number("post_transform", 0, &transforms)?,
        base: None,
        width,
    }))
}

fn targets(a: &Attributes<'_>) -> Result<usize, Problem> {
    let targets = a.int_or("n_targets", 1)?;
    let found = usize::try_from(targets).ok().filter(|&targets| (1..=MAX_TARGETS).contains(&targets));
    found.ok_or_else(|| Problem::expected("`n_targets`", targets, format_args!("1 to {MAX_TARGETS}")))
}

impl Operator for Trees {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let features = cx.tensor(0)?.shape.last().and_then(Dim::number);
        if let Some(features) =
            features.filter(|&features| usize::try_from(features).is_ok_and(|count| count < self.width))
        {
            let needed = self.width;
            let message =
                format!("the number of features of the input is {features}, expected at least {needed}");
            return Err(Problem::new(message)
                .help("set the number of features that the model was trained on with `inputs(..)`")
                .about(Topic::Shape));
        }
        match &self.output {
            Output::Classes(labels) => {
                let (_, rows) = input(cx, &NUMBERS)?;
                tell(cx, labels, rows, labels.count);
            }
            Output::Numbers { targets, same_type, .. } => {
                let targets = Dim::from(i64::try_from(*targets).unwrap_or(i64::MAX));
                let floats = [DType::F32, DType::F64, DType::F16];
                let (dtype, rows) = if *same_type {
                    input(cx, &floats).map(|(x, rows)| (x.dtype, rows))?
                } else {
                    (DType::F32, input(cx, &NUMBERS)?.1)
                };
                cx.output(0, dtype, vec![rows, targets]);
            }
        }
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        // Weights of another file may contain trees that use other features.
        cx.may_fail();
        let x = cx.tensor_of_rank(0, 2)?;
        let trees = self.form.emit(cx)?;
        let base = optional_name(cx, self.base)?;
        let transform = transform_code(self.transform);
        let precision = match cx.tensor_type(0)?.dtype {
            DType::F64 => DType::F64,
            _ if self.double => DType::F64,
            _ => DType::F32,
        };
        let precision = element_type(precision);
        let hint = cx.hint();
        match &self.output {
            Output::Classes(labels) => {
                let named = labels.emit(cx)?;
                let load = code! {
                    layers::TreeClassifier::load(
                        weights,
                        #trees,
                        #precision,
                        #named,
                        #transform,
                        #base,
                    )
                };
                let layer = cx.layer(&hint, code!(layers::TreeClassifier), load);
                Ok(labels.forward(cx, &layer, &x))
            }
            Output::Numbers { targets, aggregate, .. } => {
                let targets = Literal::usize_unsuffixed(*targets);
                let aggregate = format_ident!("{aggregate}");
                let dtype = element_type(cx.output_tensor(0)?.dtype);
                let load = code! {
                    layers::TreeRegressor::load(
                        weights,
                        #trees,
                        [#precision, #dtype],
                        #targets,
                        ops::trees::Aggregate::#aggregate,
                        #transform,
                        #base,
                    )
                };
                let layer = cx.layer(&hint, code!(layers::TreeRegressor), load);
                Ok(code!(#layer.forward(#x)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::testing::check;

    fn stump(inputs: &str, operator: &str, more: &str) -> String {
        let scores = if operator.ends_with("Classifier") { ", scores" } else { "" };
        format!(
            r#"<ir_version: 9, opset_import: ["" : 21, "ai.onnx.ml" : 3]> g ({inputs} x) => (y) {{
                y{scores} = ai.onnx.ml.{operator} <nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2],
                    nodes_featureids = [0, 0, 0], nodes_values = [0.5, 0.0, 0.0],
                    nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"],
                    nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], {more}> (x)
            }}"#
        )
    }

    #[test]
    fn lists_become_constants() {
        let text = stump(
            "int32[n, 4]",
            "TreeEnsembleRegressor",
            "n_targets = 2, target_treeids = [0, 0], target_nodeids = [1, 2],
            target_ids = [0, 1], target_weights = [0.25, 0.75]",
        );
        check(
            &text,
            expect![[r#"
            g (int32[n, 4] x) => (float32[n, 2] y)
            <
                int64[3] y.nodes_treeids = {0, 0, 0},
                int64[3] y.nodes_nodeids = {0, 1, 2},
                string[3] y.nodes_modes = {.. 24 bytes},
                int64[3] y.nodes_featureids = {0, 0, 0},
                float32[3] y.nodes_values = {0.5, 0, 0},
                int64[3] y.nodes_truenodeids = {1, 0, 0},
                int64[3] y.nodes_falsenodeids = {2, 0, 0},
                int64[2] y.target_treeids = {0, 0},
                int64[2] y.target_nodeids = {1, 2},
                int64[2] y.target_ids = {0, 1},
                float32[2] y.target_weights = {0.25, 0.75}
            >
            {
                float32[n, 2] y = ai.onnx.ml.TreeEnsembleRegressor <..> (x, y.nodes_treeids, y.nodes_nodeids, y.nodes_modes, y.nodes_featureids, y.nodes_values, y.nodes_truenodeids, y.nodes_falsenodeids, y.target_treeids, y.target_nodeids, y.target_ids, y.target_weights)
            }
        "#]],
        );
    }

    #[test]
    fn labels_may_be_strings() {
        let text = stump(
            "double[3]",
            "TreeEnsembleClassifier",
            r#"classlabels_strings = ["a", "b"], class_treeids = [0, 0], class_nodeids = [1, 2],
            class_ids = [0, 1], class_weights = [0.25, 0.75]"#,
        );
        check(
            &text,
            expect![[r#"
                g (float64[3] x) => (string[1] y)
                <
                    string[2] y.classlabels_strings = {.. 6 bytes},
                    int64[3] y.nodes_treeids = {0, 0, 0},
                    int64[3] y.nodes_nodeids = {0, 1, 2},
                    string[3] y.nodes_modes = {.. 24 bytes},
                    int64[3] y.nodes_featureids = {0, 0, 0},
                    float32[3] y.nodes_values = {0.5, 0, 0},
                    int64[3] y.nodes_truenodeids = {1, 0, 0},
                    int64[3] y.nodes_falsenodeids = {2, 0, 0},
                    int64[2] y.class_treeids = {0, 0},
                    int64[2] y.class_nodeids = {1, 2},
                    int64[2] y.class_ids = {0, 1},
                    float32[2] y.class_weights = {0.25, 0.75}
                >
                {
                    string[1] y, _ = ai.onnx.ml.TreeEnsembleClassifier <..> (x, y.classlabels_strings, y.nodes_treeids, y.nodes_nodeids, y.nodes_modes, y.nodes_featureids, y.nodes_values, y.nodes_truenodeids, y.nodes_falsenodeids, y.class_treeids, y.class_nodeids, y.class_ids, y.class_weights)
                }
            "#]],
        );
    }

    #[test]
    fn base_values_are_one_a_target() {
        let text = stump(
            "float[n, 4]",
            "TreeEnsembleRegressor",
            "base_values = [1.0, 2.0], target_treeids = [0, 0], target_nodeids = [1, 2],
            target_ids = [0, 0], target_weights = [0.25, 0.75]",
        );
        check(
            &text,
            expect![[r#"
                cannot compile `model`

                  `base_values` has 2 elements, expected 1
                    at node `y` (ai.onnx.ml.TreeEnsembleRegressor opset 3)
                    help: the file is inconsistent; export the model again

                  model: IR version 9, ai.onnx 21, ai.onnx.ml 3"#]],
        );
    }
}
