//! Everything that can go wrong outside of compilation.

mod text;

#[cfg(feature = "std")]
use alloc::boxed::Box;
use alloc::{format, string::String, vec::Vec};
use core::fmt;
#[cfg(feature = "std")]
use std::{io, path::PathBuf};

use burn::tensor::DType;

use crate::near::near;
use crate::{ElementType, Kind, Port, Size};

/// Why a model cannot be loaded or run, or a value not be read.
///
/// The text says what was found and what the model takes, by the names of its file.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// An input of the model is not among the values.
    MissingInput {
        /// The input that is missing.
        name: &'static str,
        /// All inputs of the model.
        inputs: &'static [Port],
    },
    /// A value is none of the model's inputs.
    UnexpectedInput {
        /// The name of the value.
        name: String,
        /// All inputs of the model.
        inputs: &'static [Port],
    },
    /// A sequence where the model takes a tensor, and the like.
    WrongKind {
        /// The input.
        name: &'static str,
        /// What the model takes.
        expected: Kind,
        /// What the value is, in words.
        found: &'static str,
    },
    /// A tensor of another element type than the model takes, as `run` converts none.
    WrongType {
        /// The input.
        name: &'static str,
        /// What the model takes.
        expected: ElementType,
        /// What the tensor has.
        found: DType,
    },
    /// A tensor of other sizes than the model takes.
    WrongShape {
        /// The input.
        name: &'static str,
        /// The sizes that the model takes.
        expected: &'static [Size],
        /// The sizes that the tensor has.
        found: Vec<usize>,
    },
    /// A tensor whose sizes ask for more memory than a tensor may take, or for more than can be addressed.
    ///
    /// Sizes of 0 count as 1: a model computes with the other sizes of a tensor without elements too.
    InputTooLarge {
        /// The input.
        name: &'static str,
        /// The sizes that the tensor has.
        found: Vec<usize>,
        /// The memory limit in bytes.
        limit: usize,
    },
    /// Two inputs, or two axes of one, disagree about a named size.
    UnequalSizes {
        /// The name of the size.
        size: &'static str,
        /// The input that was looked at first, and its size.
        first: (&'static str, usize),
        /// The input that disagrees, and its size.
        second: (&'static str, usize),
    },
    /// A size was given that no input has.
    UnknownSize {
        /// The name of the size.
        size: String,
    },
    /// A value was asked for elements of a type that is not its own.
    WrongElements {
        /// The type that was asked for.
        asked: ElementType,
        /// The type of the elements; `None` of a value that is no tensor.
        found: Option<ElementType>,
        /// What the value is, as `float32[2, 3]`.
        kind: String,
    },
    /// The model consists of another number of files.
    FileCount {
        /// The number of files that were compiled.
        expected: usize,
        /// The number of files that came.
        found: usize,
    },
    /// A weight file has another length than the one that was compiled.
    FileLength {
        /// The file, as it was called when it was compiled.
        file: &'static str,
        /// The bytes that it had then.
        expected: usize,
        /// The bytes that it has.
        found: usize,
    },
    /// A weight file differs from the one that was compiled, apart from the weights.
    FileDiffers {
        /// The file, as it was called when it was compiled.
        file: &'static str,
        /// The weight before which it differs; `None` after the last one.
        before: Option<&'static str>,
    },
    /// A weight that other files may not have other values of has another one than in the file that was
    /// compiled.
    WeightDiffers {
        /// The weight.
        name: &'static str,
    },
    /// A weight's bytes are not what its type and shape say.
    BadWeight {
        /// The weight.
        name: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A layer cannot be made of the values that its weights have.
    Load {
        /// What the layer says.
        reason: String,
    },
    /// The files at a path are not those that were compiled.
    #[cfg(feature = "std")]
    AtPath {
        /// The path that was given.
        path: PathBuf,
        /// What is wrong with them.
        error: Box<Error>,
    },
    /// A file cannot be read.
    #[cfg(feature = "std")]
    File {
        /// Where it was looked for.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A node cannot be run on the data of the inputs.
    Run {
        /// The node's name in the file.
        node: &'static str,
        /// The kind of the node, as `Gather`.
        operator: &'static str,
        /// What is wrong with the data.
        reason: String,
    },
    /// Code without a known node panicked on the data of the inputs.
    Panic {
        /// The text of the panic.
        reason: String,
    },
    /// An output cannot be read from the device.
    Output {
        /// The output.
        name: &'static str,
        /// What the device says.
        reason: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::MissingInput { name, inputs } => {
                write!(f, "missing input `{name}` (inputs are: {})", names(inputs))
            }
            Error::UnexpectedInput { name, inputs } => {
                write!(f, "unexpected input `{name}`")?;
                let known: Vec<&str> = inputs.iter().map(|port| port.name).collect();
                match near(name, &known) {
                    Some(near) => write!(f, ": did you mean `{near}`?"),
                    None if inputs.is_empty() => f.write_str(": the model has no inputs"),
                    None => write!(f, " (inputs are: {})", names(inputs)),
                }
            }
            Error::WrongKind { name, expected, found } => {
                write!(f, "`{name}` is {found}, the model takes {expected}")
            }
            Error::WrongType { name, expected, found } => {
                write!(f, "`{name}` is {}, the model takes {expected}", type_name(*found))?;
                match expected.carrier().and_then(ElementType::of) {
                    Some(carrier) if carrier != *expected => write!(f, " carried in {carrier}"),
                    _ => Ok(()),
                }
            }
            Error::WrongShape { name, expected, found } => text::wrong_shape(f, name, found, expected),
            Error::InputTooLarge { name, found, limit } => text::too_large(f, name, found, *limit),
            Error::UnequalSizes { size, first, second } => {
                let ((one, a), (other, b)) = (first, second);
                write!(f, "size `{size}` is {a} in `{one}` but {b} in `{other}`")
            }
            Error::WrongElements { asked, found, kind } => match found {
                Some(found) => {
                    write!(f, "the value is {kind}, not {asked}: use `to_vec::<{}>()`", found.in_rust())
                }
                None => write!(f, "the value is {kind}, which is no tensor of {asked}"),
            },
            Error::FileCount { expected, found } => {
                write!(f, "{found} files are given, the model was compiled from {expected}")
            }
            Error::UnknownSize { size } => write!(f, "no input has a size `{size}`"),
            Error::FileLength { file, expected, found } => {
                text::other_file(f, None, file, &format!("{found} bytes, not {expected}"))
            }
            Error::FileDiffers { file, before } => text::other_file(f, None, file, &text::place(*before)),
            #[cfg(feature = "std")]
            Error::AtPath { path, error } => text::at_path(f, path, error),
            Error::WeightDiffers { name } => write!(
                f,
                "weight `{name}` differs from the compiled model, whose code depends on its value: \
                 compile the model again from this file"
            ),
            Error::BadWeight { name, reason } => write!(f, "weight `{name}` {reason}"),
            Error::Load { reason } => write!(f, "cannot load the model: {reason}"),
            #[cfg(feature = "std")]
            Error::File { path, error } => write!(f, "cannot read `{}`: {error}", path.display()),
            Error::Run { node, operator, reason } => write!(f, "cannot run `{node}` ({operator}): {reason}"),
            Error::Panic { reason } => write!(f, "cannot run the model: {reason}"),
            Error::Output { name, reason } => write!(f, "cannot read output `{name}`: {reason}"),
        }
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            #[cfg(feature = "std")]
            Error::File { error, .. } => Some(error),
            #[cfg(feature = "std")]
            Error::AtPath { error, .. } => Some(error),
            _ => None,
        }
    }
}

fn names(ports: &[Port]) -> String {
    let names: Vec<_> = ports.iter().map(|port| format!("`{}`", port.name)).collect();
    names.join(", ")
}

fn type_name(dtype: DType) -> &'static str {
    ElementType::of(dtype).map_or("quantized", ElementType::name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_that_burn_lacks_names_its_carrier() {
        let error = Error::WrongType { name: "x", expected: ElementType::Int4, found: DType::I64 };
        assert_eq!(error.to_string(), "`x` is int64, the model takes int4 carried in int8");
    }
}
