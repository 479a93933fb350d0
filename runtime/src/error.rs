//! Errors of loading and running models.

mod text;

#[cfg(feature = "std")]
use alloc::boxed::Box;
use alloc::{format, string::String, vec::Vec};
use core::fmt;
#[cfg(feature = "std")]
use std::{io, path::PathBuf};

use burn::tensor::DType;

use crate::near::near;
use crate::{ElementType, Port, Size, ValueType};

/// An error of loading or running a model, or of reading a value.
///
/// Its text states what was found and what the model expects, with the names of the file.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// An input of the model is missing.
    MissingInput {
        /// Name of the missing input.
        name: &'static str,
        /// All inputs of the model.
        inputs: &'static [Port],
    },
    /// A value is not an input of the model.
    UnexpectedInput {
        /// Name of the value.
        name: String,
        /// All inputs of the model.
        inputs: &'static [Port],
    },
    /// A value is of another kind than the model expects, for example a sequence instead of a tensor.
    WrongKind {
        /// Name of the input.
        name: &'static str,
        /// Type that the model expects.
        expected: ValueType,
        /// Description of the value.
        found: &'static str,
    },
    /// A tensor has another element type than the model expects. `run` does not convert element types.
    WrongType {
        /// Name of the input.
        name: &'static str,
        /// Type that the model expects.
        expected: ElementType,
        /// Type of the tensor.
        found: DType,
    },
    /// A tensor has other sizes than the model expects.
    WrongShape {
        /// Name of the input.
        name: &'static str,
        /// Sizes that the model expects.
        expected: &'static [Size],
        /// Sizes of the tensor.
        found: Vec<usize>,
    },
    /// A tensor with these sizes exceeds the memory limit, or cannot be addressed.
    ///
    /// Sizes of 0 count as 1, because a model also computes with the other sizes of a tensor without elements.
    InputTooLarge {
        /// Name of the input.
        name: &'static str,
        /// Sizes of the tensor.
        found: Vec<usize>,
        /// Memory limit in bytes.
        limit: usize,
    },
    /// Two inputs, or two axes of one input, have different values of a named size.
    UnequalSizes {
        /// Name of the size.
        size: &'static str,
        /// The input that was checked first, and its value of the size.
        first: (&'static str, usize),
        /// The input that differs, and its value of the size.
        second: (&'static str, usize),
    },
    /// No input has a size with the specified name.
    UnknownSize {
        /// Name of the size.
        size: String,
    },
    /// Elements of another type than that of the value were requested.
    WrongElements {
        /// Type that was requested.
        asked: ElementType,
        /// Type of the elements; `None` if the value is not a tensor.
        found: Option<ElementType>,
        /// Type of the value, such as `float32[2, 3]`.
        kind: String,
    },
    /// A slice has another length than the value has elements.
    WrongLength {
        /// Length of the slice.
        length: usize,
        /// Type of the value, such as `float32[2, 3]`.
        kind: String,
    },
    /// The number of files differs from the compiled model.
    FileCount {
        /// Number of compiled files.
        expected: usize,
        /// Number of files found.
        found: usize,
    },
    /// The length of a weight file differs from the compiled one.
    FileLength {
        /// Name of the file when it was compiled.
        file: &'static str,
        /// Length of the compiled file in bytes.
        expected: usize,
        /// Length found in bytes.
        found: usize,
    },
    /// A weight file differs from the compiled one in more than the values of weights.
    FileDiffers {
        /// Name of the file when it was compiled.
        file: &'static str,
        /// Name of the first weight after the difference; `None` after the last weight.
        before: Option<&'static str>,
    },
    /// A file is not signed with the key of the model.
    Signature {
        /// Name of the file when it was compiled.
        file: &'static str,
        /// Description of the problem.
        reason: &'static str,
    },
    /// A weight that the code depends on differs from the compiled file.
    WeightDiffers {
        /// Name of the weight.
        name: &'static str,
    },
    /// The bytes of a weight do not match its type and shape.
    BadWeight {
        /// Name of the weight.
        name: &'static str,
        /// Description of the problem.
        reason: &'static str,
    },
    /// The graph of a file from another exporter differs from that of the compiled model.
    GraphDiffers {
        /// Node or value at which the graphs begin to differ.
        location: String,
        /// Description of it in the compiled model.
        expected: String,
        /// Description of it in the file.
        found: String,
    },
    /// A file from another exporter cannot be read, or its weights cannot be those of the compiled model.
    NotAdapted {
        /// Description of the problem.
        reason: String,
    },
    /// A layer cannot be constructed from the values of its weights.
    Load {
        /// Description of the problem.
        reason: String,
    },
    /// The files at a path are not the compiled ones.
    #[cfg(feature = "std")]
    AtPath {
        /// Path that the caller specified.
        path: PathBuf,
        /// Difference from the compiled files.
        error: Box<Error>,
    },
    /// A file cannot be read.
    #[cfg(feature = "std")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        error: io::Error,
    },
    /// A node cannot compute the data of the inputs.
    Run {
        /// Name of the node in the file.
        node: &'static str,
        /// Operator of the node, such as `Gather`.
        operator: &'static str,
        /// Description of the problem.
        reason: String,
    },
    /// Code that belongs to no known node panicked on the data of the inputs.
    Panic {
        /// Text of the panic.
        reason: String,
    },
    /// An output cannot be read from the device.
    Output {
        /// Name of the output.
        name: &'static str,
        /// Error of the device.
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
                write!(f, "`{name}` is {found}, expected {expected}")
            }
            Error::WrongType { name, expected, found } => {
                write!(f, "`{name}` has type {}, expected {expected}", type_name(*found))?;
                match expected.carrier().and_then(ElementType::of) {
                    Some(carrier) if carrier != *expected => write!(f, " stored as {carrier}"),
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
                    write!(
                        f,
                        "the value is {kind}, expected a tensor of {asked}: use `to_vec::<{}>()`",
                        found.in_rust()
                    )
                }
                None => write!(f, "the value is {kind}, expected a tensor of {asked}"),
            },
            Error::WrongLength { length, kind } => {
                write!(f, "the value is {kind}, and the slice has {length} elements")
            }
            Error::FileCount { expected, found } => {
                write!(f, "the number of files is {found}, expected {expected}")
            }
            Error::UnknownSize { size } => write!(f, "the model has no size `{size}`"),
            Error::FileLength { file, expected, found } => {
                text::other_file(f, None, file, &format!("its size in bytes is {found}, expected {expected}"))
            }
            Error::FileDiffers { file, before } => text::other_file(f, None, file, &text::location(*before)),
            Error::Signature { file, reason } => write!(f, "the signature of `{file}` {reason}"),
            #[cfg(feature = "std")]
            Error::AtPath { path, error } => text::at_path(f, path, error),
            Error::WeightDiffers { name } => write!(
                f,
                "weight `{name}` differs from the compiled model, whose code depends on its value; \
                 compile the model again from this file"
            ),
            Error::BadWeight { name, reason } => write!(f, "weight `{name}` {reason}"),
            Error::GraphDiffers { location, expected, found } => write!(
                f,
                "its graph differs from that of the compiled model in {location}: {found}, expected {expected}; compile \
                 the model again from this file"
            ),
            Error::NotAdapted { reason } => {
                write!(f, "its weights cannot be those of the compiled model: {reason}")
            }
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
        assert_eq!(error.to_string(), "`x` has type int64, expected int4 stored as int8");
    }
}
