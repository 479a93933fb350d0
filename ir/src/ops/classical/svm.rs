//! Support vector machines.

use std::fmt;
use std::rc::Rc;

use proc_macro2::Literal;
use quote::format_ident;

use super::super::classical::{
    Labels, NUMBERS, input, labels, name, optional_name, required, tell, transform, transform_code,
};
use super::super::{ML, Operator, Row, row};
use crate::attributes::{Attributes, Kept, attributes, missing};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::{Emit, float_literal};
use crate::infer::Infer;
use crate::ops::sizes;
use crate::rust::{Code, code};

pub const ROWS: &[Row] = &[
    row("SVMRegressor", &[1], regressor).of(ML),
    row("SVMClassifier", &[1], classifier).arity("r", "rr").of(ML),
];

/// Kernel function of rows and support vectors.
#[derive(Debug)]
struct Machine {
    /// A variant of the kernels' `Kernel`.
    kernel: &'static str,
    /// `gamma`, `coef0` and `degree`.
    parameters: Vec<f32>,
    /// Number of support vectors. If it is 0, the machine is linear in the features.
    count: usize,
    vectors: Option<Kept>,
    coefficients: Kept,
    rho: Kept,
}

attributes!(struct Machine { kernel, parameters, count, vectors, coefficients, rho });

#[derive(Debug)]
struct Regressor {
    machine: Machine,
    one_class: bool,
}

attributes!(struct Regressor { machine, one_class });

#[derive(Debug)]
struct Classifier {
    machine: Machine,
    labels: Labels,
    /// Number of support vectors of each class.
    sizes: Option<Kept>,
    /// Slopes and offsets of the probabilities of pairs of classes.
    probabilities: Option<[Kept; 2]>,
    transform: &'static str,
}

attributes!(struct Classifier { machine, labels, sizes, probabilities, transform });

fn regressor(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    // Validated, but not applied, as in ONNX Runtime.
    transform(a)?;
    let count = a.int_or("n_supports", 0)?;
    let count = usize::try_from(count).unwrap_or(0);
    let machine = machine(a, count)?;
    if count > 0 && machine.coefficients.count != count {
        return Err(lengths("coefficients", machine.coefficients.count, count));
    }
    Ok(Rc::new(Regressor { machine, one_class: a.flag("one_class", false)? }))
}

fn classifier(a: &Attributes<'_>) -> Result<Rc<dyn Operator>, Problem> {
    let labels = labels(a, "classlabels_ints")?;
    let classes = labels.count;
    let each = a.ints("vectors_per_class")?.unwrap_or_default();
    let sum = |sum: usize, &count: &i64| sum.checked_add(usize::try_from(count).ok()?);
    let count = each.iter().try_fold(0, sum);
    let count = count.ok_or_else(|| {
        Problem::new(
            "`vectors_per_class` contains a negative or too large number, expected the number of support vectors of \
             each class",
        )
    })?;
    let machine = machine(a, count)?;
    let optional = |name: &str| Ok(a.keep(name)?.filter(|list| list.count > 0));
    let probabilities = match (optional("prob_a")?, optional("prob_b")?) {
        (Some(slopes), Some(offsets)) => Some([slopes, offsets]),
        (None, None) => None,
        (Some(_), None) => return Err(missing("prob_b")),
        (None, Some(_)) => return Err(missing("prob_a")),
    };
    let sizes = a.keep("vectors_per_class")?.filter(|_| count > 0);
    if count > 0 {
        let at_least = |count: usize| format!("at least {count}");
        let pairs = classes.saturating_mul(classes.saturating_sub(1)) / 2;
        let needed = classes.saturating_sub(1).checked_mul(count);
        if each.len() != classes {
            return Err(lengths("vectors_per_class", each.len(), classes));
        }
        if needed.is_none_or(|needed| machine.coefficients.count < needed) {
            let needed = needed.unwrap_or(usize::MAX);
            return Err(lengths("coefficients", machine.coefficients.count, at_least(needed)));
        }
        let [slopes, offsets] = probabilities.unwrap_or([machine.rho; 2]);
        for (name, list) in [("rho", machine.rho), ("prob_a", slopes), ("prob_b", offsets)] {
            if list.count < pairs {
                return Err(lengths(name, list.count, at_least(pairs)));
            }
        }
    }
    Ok(Rc::new(Classifier { transform: transform(a)?, machine, labels, sizes, probabilities }))
}

fn machine(a: &Attributes<'_>, count: usize) -> Result<Machine, Problem> {
    let kernels = [("LINEAR", "Linear"), ("POLY", "Poly"), ("RBF", "Rbf"), ("SIGMOID", "Sigmoid")];
    let kernel = a.choice("kernel_type", "LINEAR", &kernels)?;
    let mut parameters = a.floats("kernel_params")?.unwrap_or_default();
    parameters.resize(3, 0.0);
    let vectors = match count {
        0 => {
            a.ignore(&["support_vectors"]);
            None
        }
        _ => Some(required(a, "support_vectors")?),
    };
    if let Some(vectors) = vectors.filter(|vectors| vectors.count.checked_rem(count) != Some(0)) {
        return Err(lengths("support_vectors", vectors.count, format_args!("a multiple of {count}")));
    }
    Ok(Machine {
        kernel,
        parameters,
        count,
        vectors,
        coefficients: required(a, "coefficients")?,
        rho: required(a, "rho")?,
    })
}

fn lengths(name: &str, count: usize, expected: impl fmt::Display) -> Problem {
    sizes::wrong_length(&format!("`{name}`"), count, expected).inconsistent()
}

impl Machine {
    /// Returns the number of rows of the input, which must have as many features as the vectors.
    fn rows(&self, cx: &Infer<'_>, vectors: usize) -> Result<Dim, Problem> {
        let (x, rows) = input(cx, &NUMBERS)?;
        let numbers = self.vectors.unwrap_or(self.coefficients).count;
        let features = x.shape.last().and_then(Dim::number);
        let features = features.and_then(|features| usize::try_from(features).ok());
        match features {
            Some(features) if features.checked_mul(vectors) != Some(numbers) => {
                let name = if self.vectors.is_some() { "`support_vectors`" } else { "`coefficients`" };
                let expected = format_args!("{vectors} * {features} for the input {x}");
                Err(sizes::wrong_length(name, numbers, expected))
            }
            _ => Ok(rows),
        }
    }

    /// Marks the node as fallible if the number of features is known only at run time.
    fn check(&self, cx: &mut Emit<'_, '_>) -> Result<(), Problem> {
        let features = cx.tensor_type(0)?.shape.last().and_then(Dim::number);
        if features.is_none() {
            cx.may_fail();
        }
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let kernel = format_ident!("{}", self.kernel);
        let parameters = self.parameters.iter().take(3);
        let parameters = parameters.map(|&value| float_literal(f64::from(value), DType::F32));
        let parameters: Vec<Code> = parameters.collect();
        let vectors = optional_name(cx, self.vectors)?;
        let (coefficients, rho) = (name(cx, self.coefficients)?, name(cx, self.rho)?);
        Ok(code! {
            layers::Machine {
                kernel: ops::svm::Kernel::#kernel,
                parameters: [#(#parameters),*],
                vectors: #vectors,
                coefficients: #coefficients,
                rho: #rho,
            }
        })
    }
}

impl Operator for Regressor {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let rows = self.machine.rows(cx, self.machine.count.max(1))?;
        cx.output(0, DType::F32, vec![rows, Dim::from(1)]);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        self.machine.check(cx)?;
        let x = cx.tensor_of_rank(0, 2)?;
        let machine = self.machine.emit(cx)?;
        let (count, one_class) = (Literal::usize_unsuffixed(self.machine.count), self.one_class);
        let hint = cx.hint();
        let load = code!(layers::SvmRegressor::load(weights, #machine, #count, #one_class));
        let layer = cx.layer(&hint, code!(layers::SvmRegressor), load);
        Ok(code!(#layer.forward(#x)))
    }
}

impl Operator for Classifier {
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let classes = self.labels.count;
        let pairs = classes.saturating_mul(classes.saturating_sub(1)) / 2;
        let (vectors, scores) = match (self.machine.count, self.probabilities) {
            (0, _) => (classes, classes),
            (count, Some(_)) => (count, classes),
            (count, None) => (count, pairs.max(2)),
        };
        let rows = self.machine.rows(cx, vectors)?;
        tell(cx, &self.labels, rows, scores);
        Ok(())
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        self.machine.check(cx)?;
        let x = cx.tensor_of_rank(0, 2)?;
        let machine = self.machine.emit(cx)?;
        let sizes = optional_name(cx, self.sizes)?;
        let probabilities = match self.probabilities {
            Some([slopes, offsets]) => {
                let (slopes, offsets) = (name(cx, slopes)?, name(cx, offsets)?);
                code!(Some([#slopes, #offsets]))
            }
            None => code!(None),
        };
        let labels = self.labels.emit(cx)?;
        let transform = transform_code(self.transform);
        let hint = cx.hint();
        let load = code! {
            layers::SvmClassifier::load(
                weights,
                #machine,
                #sizes,
                #probabilities,
                #labels,
                #transform,
            )
        };
        let layer = cx.layer(&hint, code!(layers::SvmClassifier), load);
        Ok(self.labels.forward(cx, &layer, &x))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use prost::Message;

    use crate::testing::check;

    fn model(operator: &str, attributes: &str) -> String {
        format!(
            r#"<ir_version: 9, opset_import: ["" : 21, "ai.onnx.ml" : 3]>
            g (float[n, 2] x) => (y, z) {{ y, z = ai.onnx.ml.{operator} <{attributes}> (x) }}"#
        )
    }

    #[test]
    fn pairs_of_classes_have_scores() {
        let attributes = r#"kernel_type = "RBF", kernel_params = [0.5, 0.0, 3.0],
            vectors_per_class = [1, 1, 1], support_vectors = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            coefficients = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], rho = [0.1, 0.2, 0.3],
            classlabels_ints = [1, 2, 3]"#;
        check(
            &model("SVMClassifier", attributes),
            expect![[r#"
            g (float32[n, 2] x) => (int64[n] y, float32[n, 3] z)
            <
                int64[3] y.classlabels_ints = {1, 2, 3},
                float32[6] y.support_vectors = {1, 2, 3, 4, 5, 6},
                float32[6] y.coefficients = {1, 2, 3, 4, 5, 6},
                float32[3] y.rho = {0.1, 0.2, 0.3},
                int64[3] y.vectors_per_class = {1, 1, 1}
            >
            {
                int64[n] y, float32[n, 3] z = ai.onnx.ml.SVMClassifier <machine: {kernel: "Rbf", parameters: [0.5, 0.0, 3.0], count: 3, vectors: #2, coefficients: #3, rho: #4}, labels: {count: 3, list: #1}, sizes: #5, transform: "None"> (x, y.classlabels_ints, y.support_vectors, y.coefficients, y.rho, y.vectors_per_class)
            }
        "#]],
        );
        let short = attributes.replace("0.2, 0.3]", "0.2]");
        check(
            &model("SVMClassifier", &short),
            expect![[r#"
                cannot compile `model`

                  `rho` has 2 elements, expected at least 3
                    at node `y` (ai.onnx.ml.SVMClassifier opset 3)
                    help: the file is inconsistent; export the model again

                  model: IR version 9, ai.onnx 21, ai.onnx.ml 3"#]],
        );
    }

    #[test]
    fn a_machine_without_vectors_is_linear() {
        let attributes = "coefficients = [1.0, 2.0], rho = [0.1], classlabels_ints = [1]";
        check(
            &model("SVMClassifier", attributes),
            expect![[r#"
            g (float32[n, 2] x) => (int64[n] y, float32[n, 1] z)
            <
                int64[1] y.classlabels_ints = {1},
                float32[2] y.coefficients = {1, 2},
                float32[1] y.rho = {0.1}
            >
            {
                int64[n] y, float32[n, 1] z = ai.onnx.ml.SVMClassifier <machine: {kernel: "Linear", parameters: [0.0, 0.0, 0.0], count: 0, coefficients: #2, rho: #3}, labels: {count: 1, list: #1}, transform: "None"> (x, y.classlabels_ints, y.coefficients, y.rho)
            }
        "#]],
        );
        let attributes = "coefficients = [1.0, 2.0, 3.0], rho = [0.1], classlabels_ints = [1]";
        check(
            &model("SVMClassifier", attributes),
            expect![[r#"
                cannot compile `model`

                  `coefficients` has 3 elements, expected 1 * 2 for the input float32[n, 2]
                    at node `y` (ai.onnx.ml.SVMClassifier version 1)

                  model: IR version 9, ai.onnx 21, ai.onnx.ml 3"#]],
        );
    }

    #[test]
    fn wrong_numbers_of_vectors_are_refused() {
        let problem = |counts: &str, vectors: &str| {
            let attributes = format!(
                r#"kernel_type = "RBF", kernel_params = [0.5, 0.0, 3.0], vectors_per_class = {counts},
                support_vectors = {vectors}, coefficients = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], rho = [0.1, 0.2, 0.3],
                classlabels_ints = [1, 2, 3]"#
            );
            let model = crate::text::model(&model("SVMClassifier", &attributes)).unwrap();
            let loaded = crate::load_bytes(model.encode_to_vec().into(), &Default::default());
            loaded.map(drop).unwrap_err().messages().join("; ")
        };
        let six = "[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]";
        let problems = [
            problem("[1, -1, 1]", six),
            problem("[9223372036854775807, 9223372036854775807, 3]", six),
            problem("[1, 1, 1]", "[1.0, 2.0, 3.0, 4.0, 5.0]"),
            problem("[1, 1]", six),
        ];
        expect![[r#"
            `vectors_per_class` contains a negative or too large number, expected the number of support vectors of each class
            `vectors_per_class` contains a negative or too large number, expected the number of support vectors of each class
            `support_vectors` has 5 elements, expected a multiple of 3
            `vectors_per_class` has 2 elements, expected 3"#]].assert_eq(&problems.join("\n"));
    }
}
