//! Messages about operators that no function computes.

use super::Custom;
use super::formal::Formal;
use crate::diagnostics::{Problem, Topic, shown};
use crate::dtype::ElementClass;
use crate::emit::{distinct, operator, snake};
use crate::infer::Infer;
use crate::types::Type;

/// Maximum number of parameters in a displayed signature.
const MAX_SHOWN_PARAMETERS: usize = 24;
/// Maximum length of an operator's name in an example.
const MAX_OPERATOR_NAME_LEN: usize = 80;

/// Advice for an operator, independent of its nodes.
#[derive(Debug)]
pub struct Advice {
    pub kind: String,
    pub message: String,
    pub help: String,
}

/// A function's signature without its name, and the declaration of its results.
#[derive(Debug)]
pub struct Signature {
    parameters: String,
    results: String,
    declared: String,
}

impl Advice {
    pub fn problem(&self, signature: Option<Signature>) -> Problem {
        let problem = Problem::new(&self.message).unless_bound().about(Topic::Operator(shown(&self.kind)));
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-:/".contains(letter);
        if self.kind.len() > MAX_OPERATOR_NAME_LEN || !self.kind.chars().all(plain) {
            return problem.help(&self.help);
        }
        let (kind, name) = (&self.kind, snake(operator(&self.kind)));
        let declared = signature.as_ref().map_or("", |signature| &signature.declared);
        let function = signature
            .as_ref()
            .map(|signature| format!(", fn {name}({}) -> {}", signature.parameters, signature.results));
        let function = function.unwrap_or_default();
        problem.help(format!(
            "{}\nor bind it to a function: #[onnx(ops(\"{kind}\" = crate::{name}{declared}))]{function}",
            self.help
        ))
    }
}

/// Returns the signature of a function for this node, if a function can compute it.
pub fn signature(custom: &Custom, cx: &Infer<'_>) -> Option<Signature> {
    let mut names = Vec::new();
    let mut types = Vec::new();
    for (at, formal) in custom.formals.inputs().take(MAX_SHOWN_PARAMETERS) {
        let own = cx.value(at).filter(|_| at < custom.named);
        let value = own.or_else(|| formal.like.map(|id| cx.value_of(id)))?;
        let own_name = (at > 0 && value.is_stored()).then(|| last(&value.name));
        names.push(own_name.unwrap_or_else(|| "x".to_owned()));
        types.push(optional(formal, rust(value.ty.as_ref()?)?));
    }
    for (name, formal) in custom.formals.attributes().take(MAX_SHOWN_PARAMETERS) {
        let own = custom.arguments.iter().find(|(own, _)| own == name);
        let argument = own.map(|(_, own)| own).or(formal.sample())?;
        let ty = match argument.written() {
            Some(written) => written.to_owned(),
            None => rust(formal.like.and_then(|id| cx.value_of(id).ty.as_ref())?)?,
        };
        names.push(snake(name));
        types.push(optional(formal, ty));
    }
    let outputs = cx.outputs();
    let first = cx.value(0).filter(|_| custom.named > 0);
    let first = first.and_then(|first| rust(first.ty.as_ref()?));
    let (declared, result) = match &first {
        Some(ty) => ("like(0)", ty.as_str()),
        None => ("float32[size]", "Tensor<1>"),
    };
    let several = |text: &str| match outputs {
        1 => text.to_owned(),
        _ => format!("({})", vec![text; outputs.min(super::MAX_RESULTS)].join(", ")),
    };
    let parameters = distinct(&names).into_iter().zip(types);
    let parameters = parameters.map(|(name, ty)| format!("{name}: {ty}"));
    Some(Signature {
        parameters: parameters.collect::<Vec<_>>().join(", "),
        results: several(result),
        declared: match (outputs, &first) {
            (1, Some(_)) => String::new(),
            _ => format!(" -> {}", several(declared)),
        },
    })
}

fn optional(formal: &Formal, ty: String) -> String {
    if formal.is_optional() { format!("Option<{ty}>") } else { ty }
}

/// Returns the last segment of a weight's name, as in `layers.0.bias`.
fn last(name: &str) -> String {
    snake(name.rsplit(['.', '/', ':']).next().unwrap_or(name))
}

/// Returns the type of a tensor as displayed in messages.
fn rust(ty: &Type) -> Option<String> {
    let tensor = ty.as_tensor()?;
    let rank = tensor.burn_rank();
    Some(match tensor.dtype.kind() {
        ElementClass::Float => format!("Tensor<{rank}>"),
        ElementClass::Int => format!("Tensor<{rank}, Int>"),
        ElementClass::Bool => format!("Tensor<{rank}, Bool>"),
        ElementClass::String => "Array<String>".to_owned(),
        ElementClass::Complex => return None,
    })
}
