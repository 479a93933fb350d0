//! Inputs and the outputs that replace them in the next step.

use std::collections::BTreeSet;

use crate::diagnostics::Problem;
use crate::dim::{Dim, Symbol};
use crate::dtype::ElementClass;
use crate::emit::signature::Port;
use crate::options::Kept;
use crate::rust::{Code, code};
use crate::types::TensorType;

/// An input, and the output that it is in the next step.
#[derive(Debug)]
pub struct Pair<'a> {
    pub input: &'a Port,
    pub output: &'a Port,
    tensor: &'a TensorType,
    /// The axis along which the output has more elements.
    pub grows: Option<usize>,
}

/// Returns the tensors of a state.
pub fn of<'a>(states: &[Kept], inputs: &'a [Port], outputs: &'a [Port]) -> Result<Vec<Pair<'a>>, Problem> {
    let mut named: Vec<(&Port, &Port)> = Vec::new();
    for kept in states {
        let found = matching(kept, inputs, outputs)?;
        for (input, output) in found {
            let twice = |port: &Port| {
                let message = format!("{} is part of the state twice", port.span());
                Err(Problem::new(message).choice(&kept.input))
            };
            if named.iter().any(|(other, _)| other.id == input.id) {
                return twice(input);
            }
            if named.iter().any(|(_, other)| other.onnx == output.onnx) {
                return twice(output);
            }
            named.push((input, output));
        }
    }
    let is_kept = |port: &&Port| named.iter().any(|(input, _)| input.id == port.id);
    let others = inputs.iter().filter(|port| !is_kept(port)).filter_map(|port| port.ty.as_tensor());
    let others: BTreeSet<Symbol> = others.flat_map(|tensor| &tensor.shape).flat_map(Dim::symbols).collect();
    named.into_iter().map(|(input, output)| pair(input, output, &others)).collect()
}

/// Returns the inputs and outputs with names of this form.
fn matching<'a>(
    kept: &Kept,
    inputs: &'a [Port],
    outputs: &'a [Port],
) -> Result<Vec<(&'a Port, &'a Port)>, Problem> {
    let [before, after] = [&kept.input, &kept.output].map(|name| name.matches('*').count());
    if before != after || before > 1 {
        let message = format!(
            "the state `{}` = `{}` has other wildcards than one `*` in both names, or none",
            kept.input, kept.output
        );
        return Err(Problem::new(message).choice(&kept.input));
    }
    let mut found = Vec::new();
    for input in inputs {
        let Some(part) = part(&input.onnx, &kept.input) else {
            continue;
        };
        let wanted = kept.output.replacen('*', part, 1);
        let Some(output) = outputs.iter().find(|output| output.onnx == wanted) else {
            return Err(missing("output", &wanted, outputs).choice(&kept.input));
        };
        found.push((input, output));
    }
    if found.is_empty() {
        return Err(missing("input", &kept.input, inputs).choice(&kept.input));
    }
    Ok(found)
}

/// Returns the text of a name that `*` matches.
fn part<'n>(name: &'n str, pattern: &str) -> Option<&'n str> {
    match pattern.split_once('*') {
        Some((before, after)) => name.strip_prefix(before)?.strip_suffix(after),
        None => (name == pattern).then_some(""),
    }
}

fn missing(what: &str, name: &str, ports: &[Port]) -> Problem {
    let names: Vec<String> = ports.iter().map(Port::span).collect();
    let help = format!("the {what}s are {}", names.join(", "));
    Problem::new(format!("the model has no {what} `{name}` for the state")).help(help)
}

/// Returns the tensor of a state. Sizes of `others`, the inputs that are not part of it, do not grow.
fn pair<'a>(input: &'a Port, output: &'a Port, others: &BTreeSet<Symbol>) -> Result<Pair<'a>, Problem> {
    let wrong = |reason: &str| {
        let message =
            format!("{} and {} cannot be a state: {reason}", input.documentation(), output.documentation());
        Problem::new(message).choice(&input.onnx)
    };
    let (Some(before), Some(after)) = (input.ty.as_tensor(), output.ty.as_tensor()) else {
        return Err(wrong("expected tensors"));
    };
    if !input.is_device() || !output.is_device() {
        return Err(wrong("the host computes with the elements"));
    }
    if before.dtype != after.dtype || before.rank() != after.rank() {
        return Err(wrong("expected the same element type and rank"));
    }
    let mut grows = None;
    for (axis, (size, next)) in before.shape.iter().zip(&after.shape).enumerate() {
        let is_free = size.name().is_some_and(|name| !others.contains(name));
        if size == next || next.is_any() && !is_free {
            continue;
        }
        if !is_free {
            return Err(wrong("expected the same sizes, except along one axis that grows"));
        }
        if grows.replace(axis).is_some() {
            return Err(wrong("it grows along several axes"));
        }
    }
    Ok(Pair { input, output, tensor: before, grows })
}

impl Pair<'_> {
    pub fn shape(&self) -> &[Dim] {
        &self.tensor.shape
    }

    /// Returns the names of the sizes that the program chooses.
    pub fn chosen(&self) -> impl Iterator<Item = Result<&Symbol, Problem>> {
        let shape = self.shape().iter().enumerate();
        let open = shape.filter(|(axis, dim)| Some(*axis) != self.grows && dim.fixed().is_none());
        open.map(|(axis, dim)| {
            dim.name().filter(|_| !dim.is_any()).ok_or_else(|| {
                let message = format!(
                    "axis {axis} of the state {} has size `{dim}`, expected a number or a name",
                    self.input.documentation()
                );
                Problem::new(message).choice(&self.input.onnx)
            })
        })
    }

    /// Returns the type of the field in the state.
    pub fn kept(&self) -> Code {
        let rank = proc_macro2::Literal::usize_unsuffixed(self.tensor.rank().max(1));
        match self.tensor.dtype.kind() {
            ElementClass::Int => code!(Kept<#rank, Int>),
            ElementClass::Bool => code!(Kept<#rank, Bool>),
            _ => code!(Kept<#rank>),
        }
    }
}
