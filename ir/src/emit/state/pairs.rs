//! Inputs and the outputs that replace them in the next step.

use std::collections::BTreeSet;

use crate::diagnostics::Problem;
use crate::dim::{Dim, Symbol};
use crate::dtype::ElementClass;
use crate::emit::signature::Port;
use crate::options::{Kept, Step};
use crate::rust::{Code, code};
use crate::types::TensorType;

/// An input, and the output of an earlier step that it is.
#[derive(Debug)]
pub struct Pair<'a> {
    pub input: &'a Port,
    pub output: &'a Port,
    pub step: Step,
    tensor: &'a TensorType,
    /// The axis along which the output has more elements.
    pub grows: Option<usize>,
    /// Axes without elements before the first step, because nothing else has their size.
    empty: BTreeSet<usize>,
}

/// Returns the tensors of a state.
pub fn of<'a>(states: &[Kept], inputs: &'a [Port], outputs: &'a [Port]) -> Result<Vec<Pair<'a>>, Problem> {
    let mut named: Vec<(&Port, &Port, Step)> = Vec::new();
    for kept in states {
        let found = matching(kept, inputs, outputs)?;
        for (input, output) in found {
            let twice = |port: &Port| {
                let message = format!("{} is part of the state twice", port.span());
                Err(Problem::new(message).choice(&kept.input))
            };
            if named.iter().any(|(other, ..)| other.id == input.id) {
                return twice(input);
            }
            if named.iter().any(|(_, other, _)| other.onnx == output.onnx) {
                return twice(output);
            }
            named.push((input, output, kept.step));
        }
    }
    let is_kept = |port: &&Port| named.iter().any(|(input, ..)| input.id == port.id);
    let others = inputs.iter().filter(|port| !is_kept(port)).filter_map(|port| port.ty.as_tensor());
    let others: BTreeSet<Symbol> = others.flat_map(|tensor| &tensor.shape).flat_map(Dim::symbols).collect();
    let mut pairs = Vec::new();
    for named in named {
        pairs.push(pair(named, &others)?);
    }
    let last = pairs.iter().filter(|pair| pair.step == Step::Last);
    let last: BTreeSet<Symbol> = last.flat_map(Pair::shape).flat_map(Dim::symbols).collect();
    for pair in pairs.iter_mut().filter(|pair| pair.step == Step::First) {
        let is_own =
            |dim: &Dim| dim.name().is_some_and(|name| !others.contains(name) && !last.contains(name));
        let own = pair.tensor.shape.iter().enumerate().filter(|(_, dim)| is_own(dim));
        pair.empty = own.map(|(axis, _)| axis).collect();
    }
    Ok(pairs)
}

/// Returns the inputs and outputs with names of this form.
fn matching<'a>(
    kept: &Kept,
    inputs: &'a [Port],
    outputs: &'a [Port],
) -> Result<Vec<(&'a Port, &'a Port)>, Problem> {
    if !kept.is_even() {
        let message = format!(
            "the state `{}` = `{}` has more `*` in one name than in the other",
            kept.input, kept.output
        );
        return Err(Problem::new(message).choice(&kept.input));
    }
    let mut found = Vec::new();
    for input in inputs {
        let Some(wanted) = kept.output_of(&input.onnx) else {
            continue;
        };
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

fn missing(what: &str, name: &str, ports: &[Port]) -> Problem {
    let names: Vec<String> = ports.iter().map(Port::span).collect();
    let help = format!("the {what}s are {}", names.join(", "));
    Problem::new(format!("the model has no {what} `{name}` for the state")).help(help)
}

/// Returns the tensor of a state. Sizes of `others`, the inputs that are not part of it, do not grow.
fn pair<'a>(
    (input, output, step): (&'a Port, &'a Port, Step),
    others: &BTreeSet<Symbol>,
) -> Result<Pair<'a>, Problem> {
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
    if step == Step::First {
        // Sizes of later steps may differ, and so may those before the first step.
        let sizes = before.shape.iter().zip(&after.shape);
        let mut fixed = sizes.filter_map(|(size, next)| Some((size.fixed()?, next.fixed()?)));
        return match fixed.all(|(size, next)| size == next) {
            true => Ok(Pair { input, output, step, tensor: before, grows: None, empty: BTreeSet::new() }),
            false => Err(wrong("expected the same sizes")),
        };
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
    Ok(Pair { input, output, step, tensor: before, grows, empty: BTreeSet::new() })
}

impl Pair<'_> {
    pub fn shape(&self) -> &[Dim] {
        &self.tensor.shape
    }

    /// Returns `true` if the tensor has no elements along an axis before the first step.
    pub fn is_empty(&self, axis: usize) -> bool {
        self.grows == Some(axis) || self.empty.contains(&axis)
    }

    /// Returns the names of the sizes that the program chooses.
    pub fn chosen(&self) -> impl Iterator<Item = Result<&Symbol, Problem>> {
        let shape = self.shape().iter().enumerate();
        let open = shape.filter(|(axis, dim)| !self.is_empty(*axis) && dim.fixed().is_none());
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
