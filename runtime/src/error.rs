//! Everything that can go wrong outside of compilation.

mod text;

use std::path::PathBuf;
use std::{fmt, io};

use burn::tensor::DType;
use onnx_embed_kernels::fault::{self, Fault, Name};

use crate::{ElementType, Kind, Port, Size};

/// Why a model cannot be loaded or run.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    MissingInput {
        name: &'static str,
        inputs: &'static [Port],
    },
    UnexpectedInput {
        name: String,
        inputs: &'static [Port],
    },
    /// A sequence where the model takes a tensor, and the like.
    WrongKind {
        name: &'static str,
        expected: Kind,
        found: &'static str,
    },
    WrongType {
        name: &'static str,
        expected: ElementType,
        found: DType,
    },
    WrongShape {
        name: &'static str,
        expected: &'static [Size],
        found: Vec<usize>,
    },
    /// Two inputs, or two axes of one, disagree about a named size.
    UnequalSizes {
        size: &'static str,
        first: (&'static str, usize),
        second: (&'static str, usize),
    },
    /// A size was given that no input has.
    UnknownSize { size: String },
    /// The model consists of another number of files.
    FileCount { expected: usize, found: usize },
    /// A weight file has another length than the one that was compiled.
    FileLength {
        file: &'static str,
        expected: usize,
        found: usize,
    },
    /// A weight file differs from the one that was compiled, apart from the weights.
    FileDiffers {
        file: &'static str,
        /// The weight before which it differs; `None` after the last one.
        before: Option<&'static str>,
    },
    /// A weight that other files may not have other values of has another one than in the file that
    /// was compiled.
    WeightDiffers { name: &'static str },
    /// A weight's bytes are not what its type and shape say.
    BadWeight {
        name: &'static str,
        reason: &'static str,
    },
    /// A layer cannot be made of the values that its weights have.
    Load { reason: String },
    /// The files at a path are not those that were compiled.
    AtPath { path: PathBuf, error: Box<Error> },
    /// A file cannot be read.
    File { path: PathBuf, error: io::Error },
    /// A node cannot be run on the data of the inputs.
    Run {
        /// The node's name in the file.
        node: &'static str,
        operator: &'static str,
        reason: String,
    },
    /// Code without a known node panicked on the data of the inputs.
    Panic { reason: String },
    /// An output cannot be read from the device.
    Output { name: &'static str, reason: String },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::MissingInput { name, inputs } => {
                write!(f, "missing input `{name}` (inputs are: {})", names(inputs))
            }
            Error::UnexpectedInput { name, inputs } => {
                write!(
                    f,
                    "unexpected input `{name}` (inputs are: {})",
                    names(inputs)
                )
            }
            Error::WrongKind {
                name,
                expected,
                found,
            } => {
                write!(f, "`{name}` is {found}, the model takes {expected}")
            }
            Error::WrongType {
                name,
                expected,
                found,
            } => {
                write!(
                    f,
                    "`{name}` is {}, the model takes {expected}",
                    type_name(*found)
                )?;
                match expected.carrier().and_then(ElementType::of) {
                    Some(carrier) if carrier != *expected => write!(f, " carried in {carrier}"),
                    _ => Ok(()),
                }
            }
            Error::WrongShape {
                name,
                expected,
                found,
            } => text::wrong_shape(f, name, found, expected),
            Error::UnequalSizes {
                size,
                first,
                second,
            } => {
                let ((one, a), (other, b)) = (first, second);
                write!(f, "size `{size}` is {a} in `{one}` but {b} in `{other}`")
            }
            Error::FileCount { expected, found } => {
                write!(
                    f,
                    "{found} files are given, the model was compiled from {expected}"
                )
            }
            Error::UnknownSize { size } => write!(f, "no input has a size `{size}`"),
            Error::FileLength {
                file,
                expected,
                found,
            } => text::other_file(f, None, file, &format!("{found} bytes, not {expected}")),
            Error::FileDiffers { file, before } => {
                text::other_file(f, None, file, &text::place(*before))
            }
            Error::AtPath { path, error } => text::at_path(f, path, error),
            Error::WeightDiffers { name } => write!(
                f,
                "weight `{name}` differs from the compiled model, whose code depends on its value: \
                 compile the model again from this file"
            ),
            Error::BadWeight { name, reason } => write!(f, "weight `{name}` {reason}"),
            Error::Load { reason } => write!(f, "cannot load the model: {reason}"),
            Error::File { path, error } => write!(f, "cannot read `{}`: {error}", path.display()),
            Error::Run {
                node,
                operator,
                reason,
            } => write!(f, "cannot run `{node}` ({operator}): {reason}"),
            Error::Panic { reason } => write!(f, "cannot run the model: {reason}"),
            Error::Output { name, reason } => write!(f, "cannot read output `{name}`: {reason}"),
        }
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        let Fault { node, reason } = fault;
        match node {
            Some(Name { node, operator }) => Error::Run {
                node,
                operator,
                reason,
            },
            None => Error::Panic { reason },
        }
    }
}

/// What `run` gives; where a node fails in it, an error that names the node.
pub fn attempt<T>(run: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    fault::attempt(run)?
}

/// [`attempt`], of what may wait.
pub fn attempt_async<T>(
    run: impl Future<Output = Result<T, Error>>,
) -> impl Future<Output = Result<T, Error>> {
    let run = fault::attempt_async(run);
    async { run.await? }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::File { error, .. } => Some(error),
            Error::AtPath { error, .. } => Some(error),
            _ => None,
        }
    }
}

fn names(ports: &[Port]) -> String {
    let names: Vec<_> = ports
        .iter()
        .map(|port| format!("`{}`", port.name))
        .collect();
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
        let error = Error::WrongType {
            name: "x",
            expected: ElementType::Int4,
            found: DType::I64,
        };
        assert_eq!(
            error.to_string(),
            "`x` is int64, the model takes int4 carried in int8"
        );
    }
}
