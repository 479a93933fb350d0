//! Operators computed by functions of the caller.

mod argument;
mod formal;
mod help;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use crate::attributes::{Attribute, Attributes, Described};
use crate::diagnostics::{Problem, Site};
use crate::dim::Dim;
use crate::dtype::{DType, ElementClass};
use crate::emit::{Emit, Expected};
use crate::infer::Infer;
use crate::ops::Operator;
use crate::options::{Declared, DeclaredShape, Size};
use crate::rust::{Code, code};
use crate::types::{Shape, TensorType, Type};
use argument::Argument;
use formal::Formals;

pub use formal::agree;
pub use help::Advice;

/// Maximum number of results of a function. A longer tuple lacks traits that the results require.
const MAX_RESULTS: usize = 8;

/// A node whose operator is not built in.
#[derive(Clone, Debug)]
pub struct Custom {
    /// Domain and name.
    kind: Rc<str>,
    site: Site,
    /// Number of inputs that the node names. Tensors among its attributes follow them.
    named: usize,
    arguments: Vec<(String, Argument)>,
    /// Parameters of the function, shared by all nodes of the operator.
    formals: Rc<Formals>,
    binding: Result<Rc<[Declared]>, Rc<Advice>>,
}

impl Custom {
    /// Reads a node. `binding` contains the results of its function, or the advice to report if it has none.
    pub fn read(
        kind: &str,
        site: Site,
        attributes: &Attributes<'_>,
        binding: Result<Rc<[Declared]>, Rc<Advice>>,
    ) -> Result<Self, Problem> {
        let arguments = match &binding {
            Ok(_) => argument::list(attributes)?,
            // Attributes that a function cannot take are reported only if there is a function.
            Err(_) => argument::list(attributes).unwrap_or_default(),
        };
        Ok(Custom {
            kind: kind.into(),
            site,
            named: attributes.inputs(),
            arguments,
            formals: Rc::default(),
            binding,
        })
    }

    /// Returns `true` if the node has input `at`. Tensors of attributes follow the inputs that it names.
    fn has(&self, at: usize, is_there: impl Fn(usize) -> bool) -> bool {
        at < self.named && is_there(at)
    }

    /// Returns the element type and rank of a result.
    fn result(
        &self,
        declared: &Declared,
        input: impl Fn(usize) -> Result<TensorType, Problem>,
    ) -> Result<(DType, usize), Problem> {
        let like = match &declared.shape {
            DeclaredShape::Like(like) => *like,
            DeclaredShape::Sizes(_) => 0,
        };
        let dtype = match declared.element {
            Some(element) => element,
            None => self.like(like, &input)?.dtype,
        };
        let rank = match &declared.shape {
            DeclaredShape::Like(like) => self.like(*like, &input)?.rank(),
            DeclaredShape::Sizes(sizes) => sizes.len(),
        };
        Ok((dtype, rank))
    }

    /// Returns the type of the input whose type a result has.
    fn like(
        &self,
        at: usize,
        input: impl Fn(usize) -> Result<TensorType, Problem>,
    ) -> Result<TensorType, Problem> {
        let found = if at < self.named { input(at).ok() } else { None };
        found.ok_or_else(|| {
            Problem::new(format!(
                "the function returns the type of input {at}, which is missing or not a tensor"
            ))
            .help(format!("declare the result: `ops(\"{}\" = path -> float32[batch, 10])`", self.kind))
        })
    }

    fn declared_shape(&self, shape: &DeclaredShape, cx: &mut Infer<'_>) -> Result<Shape, Problem> {
        let sizes = match shape {
            DeclaredShape::Like(like) => return Ok(self.like(*like, |at| cx.tensor(at))?.shape),
            DeclaredShape::Sizes(sizes) => sizes,
        };
        let dim = |(axis, size): (usize, &Option<Size>)| match size {
            Some(Size::Fixed(size)) => Ok(Dim::from(*size)),
            Some(Size::Named(name)) => {
                let known = cx.size_of_inputs(name);
                Ok(known.unwrap_or_else(|| cx.fresh(name)))
            }
            None => {
                let first = self.like(0, |at| cx.tensor(at))?;
                first.shape.get(axis).cloned().ok_or_else(|| {
                    Problem::new(format!(
                        "`_` is the size of axis {axis}, which is out of bounds for {first}"
                    ))
                })
            }
        };
        sizes.iter().enumerate().map(dim).collect()
    }
}

/// Returns the default declaration: one result with the type of the first input.
fn like_first() -> Rc<[Declared]> {
    Rc::new([Declared { element: None, shape: DeclaredShape::Like(0) }])
}

impl Operator for Custom {
    fn unbound(&self) -> Option<Problem> {
        let advice = self.binding.as_ref().err()?;
        Some(advice.problem(None).at(self.site.clone()))
    }

    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem> {
        let results = match &self.binding {
            Ok(results) => results,
            Err(advice) => {
                let signature = help::signature(self, cx);
                let first = (0..cx.outputs()).find(|_| self.named > 0 && cx.has(0));
                if let Some(ty) = first.and_then(|_| cx.ty(0).ok().cloned()) {
                    for output in 0..cx.outputs() {
                        cx.output_type(output, ty.clone());
                    }
                }
                cx.guess(advice.problem(signature).at(self.site.clone()));
                return Ok(());
            }
        };
        self.bound(results, cx).map_err(|problem| problem.at(self.site.clone()))
    }

    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem> {
        let Ok(results) = &self.binding else {
            return Err(Problem::defect("the operator is not bound to a function"));
        };
        cx.may_fail();
        let mut parameters = Vec::new();
        let mut arguments = Vec::new();
        for (at, formal) in self.formals.inputs() {
            let (ty, value) = match self.has(at, |at| cx.has(at)) {
                true => cx.argument(at)?,
                false => (cx.argument_type(formal.like)?, code!(None)),
            };
            let present = self.has(at, |at| cx.has(at));
            parameters.push(formal.parameter(ty));
            arguments.push(formal.argument(present, value));
        }
        for (name, formal) in self.formals.attributes() {
            let own = self.arguments.iter().find(|(own, _)| own == name);
            let (ty, value) = match own {
                Some((_, argument)) => argument.emit(cx)?,
                None => (formal.absent(cx)?, code!(None)),
            };
            parameters.push(formal.parameter(ty));
            arguments.push(formal.argument(own.is_some(), value));
        }
        let mut types = Vec::new();
        let mut expected = Vec::new();
        for (output, declared) in results.iter().enumerate() {
            let (dtype, rank) = self.result(declared, |at| cx.tensor_type(at).cloned())?;
            let Expected { ty, value } = cx.expected(output, dtype, rank);
            types.push(ty);
            expected.push(value);
        }
        let call = cx.call(&self.kind, &parameters, &types, &arguments)?;
        Ok(match expected.as_slice() {
            [only] => code!(custom::checked(#call, #only)),
            _ => code!(custom::checked(#call, (#(#expected),*))),
        })
    }

    fn takes_strings(&self) -> bool {
        true
    }
}

impl Custom {
    /// Sets the types of the results of the function.
    fn bound(&self, results: &[Declared], cx: &mut Infer<'_>) -> Result<(), Problem> {
        for at in (0..cx.inputs()).filter(|at| cx.has(*at)) {
            let ty = cx.ty(at)?;
            let takes = matches!(ty, Type::Tensor(tensor) if tensor.dtype.kind() != ElementClass::Complex);
            if !takes {
                let expected = "a tensor of numbers, booleans or strings";
                return Err(Problem::expected(format_args!("input {at}"), ty, expected));
            }
        }
        if cx.outputs() > results.len() || results.len() > MAX_RESULTS {
            return Err(self.miscounted(cx.outputs(), results.len()));
        }
        for (output, declared) in results.iter().enumerate() {
            let (dtype, _) = self.result(declared, |at| cx.tensor(at))?;
            let shape = self.declared_shape(&declared.shape, cx)?;
            cx.output(output, dtype, shape);
        }
        Ok(())
    }

    fn miscounted(&self, outputs: usize, results: usize) -> Problem {
        let each = vec!["like(0)"; outputs.min(MAX_RESULTS)].join(", ");
        let each = if outputs == 1 { each } else { format!("({each})") };
        let message = match results <= MAX_RESULTS {
            true => format!("the number of results of the function is {results}, expected {outputs}"),
            false => {
                format!("the number of results of the function is {results}, expected at most {MAX_RESULTS}")
            }
        };
        Problem::new(message).help(format!(
            "declare the results of the function, as in `ops(\"{}\" = path -> {each})`",
            self.kind
        ))
    }

    /// Returns the results that a binding declares. The default is one result.
    pub fn results(declared: &[Declared]) -> Rc<[Declared]> {
        if declared.is_empty() { like_first() } else { declared.into() }
    }
}

/// Nodes of one operator with equal attributes compute the same.
impl Described for Custom {
    fn attributes(&self) -> Attribute {
        let arguments = self.arguments.iter();
        let arguments = arguments.map(|(name, value)| {
            let pair = vec![("", Attribute::Text(name.clone())), ("", value.attributes())];
            Attribute::Fields("", pair)
        });
        Attribute::Fields("Custom", vec![("", Attribute::List(arguments.collect()))])
    }
}
