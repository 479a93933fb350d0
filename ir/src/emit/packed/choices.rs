//! Options on which the graph of a model depends.

use std::collections::BTreeMap;

use prost::Message;

use crate::dtype::DType;
use crate::options::{Binding, Declared, DeclaredShape, Kept, Options, Precision, Size, Step, Weights};

#[derive(Clone, PartialEq, Message)]
pub struct Choices {
    #[prost(btree_map = "string, int64", tag = "1")]
    dims: BTreeMap<String, i64>,
    #[prost(btree_map = "string, message", tag = "2")]
    inputs: BTreeMap<String, Sizes>,
    #[prost(message, repeated, tag = "3")]
    names: Vec<Renamed>,
    #[prost(bool, tag = "4")]
    training: bool,
    #[prost(bool, tag = "5")]
    simplify: bool,
    /// Name of the precision.
    #[prost(string, tag = "6")]
    precision: String,
    #[prost(btree_map = "string, message", tag = "7")]
    operators: BTreeMap<String, Function>,
    #[prost(bool, tag = "8")]
    trace: bool,
    #[prost(bool, tag = "9")]
    deterministic: bool,
    #[prost(message, repeated, tag = "10")]
    states: Vec<State>,
}

#[derive(Clone, PartialEq, Message)]
struct Sizes {
    #[prost(message, repeated, tag = "1")]
    sizes: Vec<OneSize>,
}

/// A number, or else a name, or else the size of the first input.
#[derive(Clone, PartialEq, Message)]
struct OneSize {
    #[prost(int64, optional, tag = "1")]
    number: Option<i64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Renamed {
    #[prost(string, tag = "1")]
    input: String,
    #[prost(uint64, tag = "2")]
    axis: u64,
    #[prost(string, tag = "3")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Function {
    #[prost(string, tag = "1")]
    path: String,
    #[prost(message, repeated, tag = "2")]
    results: Vec<FunctionResult>,
}

#[derive(Clone, PartialEq, Message)]
struct FunctionResult {
    #[prost(int32, optional, tag = "1")]
    element: Option<i32>,
    /// Index of the input with the same shape, else `sizes`.
    #[prost(uint64, optional, tag = "2")]
    like: Option<u64>,
    #[prost(message, repeated, tag = "3")]
    sizes: Vec<OneSize>,
}

#[derive(Clone, PartialEq, Message)]
struct State {
    #[prost(string, tag = "1")]
    input: String,
    #[prost(string, tag = "2")]
    output: String,
    /// Whether the output comes from the first step.
    #[prost(bool, tag = "3")]
    first: bool,
}

impl State {
    fn kept(self) -> Kept {
        let step = if self.first { Step::First } else { Step::Last };
        Kept { input: self.input, output: self.output, step }
    }
}

impl Choices {
    pub fn of(options: &Options) -> Self {
        let inputs = options.inputs.iter().map(|(name, sizes)| {
            let sizes = sizes.iter().map(|size| OneSize::of(Some(size))).collect();
            (name.clone(), Sizes { sizes })
        });
        let names = options.names.iter().map(|((input, axis), name)| Renamed {
            input: input.clone(),
            axis: *axis as u64,
            name: name.clone(),
        });
        let named = Precision::ALL.iter().find(|(_, precision)| *precision == options.precision);
        let states = options.states.iter();
        let operators = options.operators.iter();
        Choices {
            dims: options.dims.clone(),
            inputs: inputs.collect(),
            names: names.collect(),
            training: options.training,
            simplify: options.simplify,
            precision: named.map(|(name, _)| (*name).to_owned()).unwrap_or_default(),
            operators: operators.map(|(name, binding)| (name.clone(), Function::of(binding))).collect(),
            trace: options.trace,
            deterministic: options.deterministic,
            states: states
                .map(|kept| State {
                    input: kept.input.clone(),
                    output: kept.output.clone(),
                    first: kept.step == Step::First,
                })
                .collect(),
        }
    }

    pub fn options(self) -> Option<Options> {
        let precision = Precision::ALL.iter().find(|(name, _)| *name == self.precision)?.1;
        let inputs = self.inputs.into_iter().map(|(name, Sizes { sizes })| {
            Some((name, sizes.into_iter().map(OneSize::size).collect::<Option<_>>()?))
        });
        let names = self
            .names
            .into_iter()
            .map(|Renamed { input, axis, name }| Some(((input, usize::try_from(axis).ok()?), name)));
        let operators = self.operators.into_iter();
        Some(Options {
            dims: self.dims,
            inputs: inputs.collect::<Option<_>>()?,
            names: names.collect::<Option<_>>()?,
            weights: Weights::File,
            training: self.training,
            simplify: self.simplify,
            precision,
            operators: operators
                .map(|(name, function)| Some((name, function.binding()?)))
                .collect::<Option<_>>()?,
            trace: self.trace,
            deterministic: self.deterministic,
            states: self.states.into_iter().map(State::kept).collect(),
            ..Options::default()
        })
    }
}

impl OneSize {
    fn of(size: Option<&Size>) -> Self {
        match size {
            Some(Size::Fixed(number)) => OneSize { number: Some(*number), name: None },
            Some(Size::Named(name)) => OneSize { number: None, name: Some(name.clone()) },
            None => OneSize::default(),
        }
    }

    fn size(self) -> Option<Size> {
        self.number.map(Size::Fixed).or(self.name.map(Size::Named))
    }
}

impl Function {
    fn of(binding: &Binding) -> Self {
        let results = binding.results.iter().map(|declared| {
            let element = declared.element.map(DType::number);
            match &declared.shape {
                DeclaredShape::Like(input) => {
                    FunctionResult { element, like: Some(*input as u64), sizes: Vec::new() }
                }
                DeclaredShape::Sizes(sizes) => {
                    let sizes = sizes.iter().map(|size| OneSize::of(size.as_ref())).collect();
                    FunctionResult { element, like: None, sizes }
                }
            }
        });
        Function { path: binding.function.clone(), results: results.collect() }
    }

    fn binding(self) -> Option<Binding> {
        let results = self.results.into_iter().map(|FunctionResult { element, like, sizes }| {
            let element = match element {
                Some(number) => Some(DType::from_onnx(number)?),
                None => None,
            };
            let shape = match like {
                Some(input) => DeclaredShape::Like(usize::try_from(input).ok()?),
                None => DeclaredShape::Sizes(sizes.into_iter().map(OneSize::size).collect()),
            };
            Some(Declared { element, shape })
        });
        Some(Binding { function: self.path, results: results.collect::<Option<_>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_they_were_written() {
        let binding = Binding {
            function: "crate::swish".to_owned(),
            results: vec![
                Declared { element: Some(DType::I64), shape: DeclaredShape::Like(1) },
                Declared {
                    element: None,
                    shape: DeclaredShape::Sizes(vec![
                        None,
                        Some(Size::Fixed(3)),
                        Some(Size::Named("n".into())),
                    ]),
                },
            ],
        };
        let options = Options {
            dims: [("batch".to_owned(), 1)].into(),
            inputs: [("x".to_owned(), vec![Size::Named("n".into()), Size::Fixed(3)])].into(),
            names: [(("x".to_owned(), 1), "m".to_owned())].into(),
            weights: Weights::File,
            training: true,
            simplify: false,
            precision: Precision::F16,
            operators: [("com.acme.Swish".to_owned(), binding)].into(),
            trace: true,
            deterministic: true,
            states: vec![
                Kept { input: "s".to_owned(), output: "t".to_owned(), step: Step::Last },
                Kept { input: "u".to_owned(), output: "v".to_owned(), step: Step::First },
            ],
            ..Options::default()
        };
        let read = Choices::decode(Choices::of(&options).encode_to_vec().as_slice()).unwrap();
        assert_eq!(format!("{:?}", read.options().unwrap()), format!("{options:?}"));
    }
}
