//! Attributes and outputs that the models of ONNX-ML share.

pub mod columns;
pub mod distances;
pub mod features;
pub mod labels;
pub mod linear;
pub mod maps;
pub mod svm;
pub mod trees;

use quote::format_ident;

use crate::attributes::{Attributes, Kept, any_of, attributes, missing};
use crate::diagnostics::Problem;
use crate::dim::Dim;
use crate::dtype::DType;
use crate::emit::Emit;
use crate::infer::Infer;
use crate::rust::{Code, code};
use crate::types::TensorType;

super::families![columns, features, labels, linear, maps, svm, trees];

/// The labels of a classifier.
#[derive(Debug)]
pub struct Labels {
    pub count: usize,
    list: Kept,
}

attributes!(struct Labels { count, list });

/// Reads the labels, one for each class, from the attribute `ints` or `classlabels_strings`.
pub fn labels(a: &Attributes<'_>, ints: &str) -> Result<Labels, Problem> {
    let strings = a.keep("classlabels_strings")?.filter(|list| list.count > 0);
    let list = match strings {
        Some(list) => {
            a.ignore(&[ints]);
            list
        }
        None => required(a, ints)?,
    };
    let count = list.count;
    Ok(Labels { count, list })
}

/// Reads a required list.
pub fn required(a: &Attributes<'_>, name: &str) -> Result<Kept, Problem> {
    let list = a.keep(name)?.filter(|list| list.count > 0);
    list.ok_or_else(|| missing(name))
}

/// Returns the problem of two alternative attributes if both are present, or neither.
pub fn not_one_of(names: [&str; 2], has_both: bool) -> Problem {
    let [first, second] = names;
    let found = if has_both { "both" } else { "neither" };
    Problem::new(format!("expected either `{first}` or `{second}`, found {found}"))
}

/// Returns the variant of the kernels' `Transform` that the attribute names.
pub fn transform(a: &Attributes<'_>) -> Result<&'static str, Problem> {
    let transforms = [
        ("NONE", "None"),
        ("SOFTMAX", "Softmax"),
        ("LOGISTIC", "Logistic"),
        ("SOFTMAX_ZERO", "SoftmaxZero"),
        ("PROBIT", "Probit"),
    ];
    a.choice("post_transform", "NONE", &transforms)
}

/// Returns a transform as code.
pub fn transform_code(variant: &str) -> Code {
    let variant = format_ident!("{variant}");
    code!(ops::scores::Transform::#variant)
}

/// Returns the type of the input and its number of rows. An input of rank 1 is one row.
pub fn input(cx: &Infer<'_>, dtypes: &[DType]) -> Result<(TensorType, Dim), Problem> {
    let x = cx.tensor(0)?;
    let rows = match x.shape.as_slice() {
        [_] => Dim::from(1),
        [rows, _] => rows.clone(),
        _ => return Err(Problem::expected("the input", x, "shape [N, C] or [C]")),
    };
    if dtypes.contains(&x.dtype) {
        Ok((x, rows))
    } else {
        let names: Vec<_> = dtypes.iter().map(|dtype| dtype.name()).collect();
        Err(Problem::expected("the input", x, any_of(&names)))
    }
}

/// Element types that the models of versions 1 to 4 accept.
pub const NUMBERS: [DType; 4] = [DType::F32, DType::F64, DType::I64, DType::I32];

/// Sets the outputs of a classifier: labels, and `scores` scores for each row.
pub fn tell(cx: &mut Infer<'_>, labels: &Labels, rows: Dim, scores: usize) {
    let scores = Dim::from(i64::try_from(scores).unwrap_or(i64::MAX));
    cx.output(0, labels.list.dtype, vec![rows.clone()]);
    cx.output(1, DType::F32, vec![rows, scores]);
}

/// Returns the name of a list in the table of weights.
pub fn name(cx: &mut Emit<'_, '_>, list: Kept) -> Result<Code, Problem> {
    let name = cx.list(list.input);
    name.ok_or_else(|| Problem::defect("a list attribute is not stored as a constant"))
}

/// Returns the name of an optional list, as an `Option` in the generated code.
pub fn optional_name(cx: &mut Emit<'_, '_>, list: Option<Kept>) -> Result<Code, Problem> {
    match list {
        Some(list) => {
            let name = name(cx, list)?;
            Ok(code!(Some(#name)))
        }
        None => Ok(code!(None)),
    }
}

impl Labels {
    /// Returns the labels as code.
    pub fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let name = name(cx, self.list)?;
        Ok(match self.list.dtype {
            DType::String => code!(layers::Labels::strings(weights, #name)),
            _ => code!(layers::Labels::ints(weights, #name)),
        })
    }

    /// Returns the outputs of the classifier in this field.
    pub fn forward(&self, cx: &Emit<'_, '_>, layer: &Code, x: &Code) -> Code {
        let call = match self.list.dtype {
            DType::String => code!(#layer.forward_strings(#x)),
            _ => code!(#layer.forward(#x)),
        };
        match cx.outputs() {
            1 => code!(#call.0),
            _ => call,
        }
    }
}
