//! Constructors of models.

use crate::model::Model;
use crate::options::{Options, Weights};
use crate::rust::{Code, code};

/// Returns `from_file`, `from_bytes` and, if the weights are in the program, `new`.
pub fn constructors(model: &Model, options: &Options) -> Code {
    let files = model.files.list().len();
    let new = match options.weights {
        Weights::Embed => code! {
            /// Creates the model with the embedded weights.
            pub fn new(device: &Device) -> Self {
                Self::load(&Weights::new(&WEIGHTS, &files(), device))
            }
        },
        Weights::File => Code::default(),
    };
    let from_bytes = match files {
        _ if options.signature.is_some() => code! {
            /// Creates the model with the weights of other files with the same graph: the model, then its external
            /// data, then the signature of each of these files.
            ///
            /// # Errors
            ///
            /// If the bytes are not files with the same graph, or are not signed with the key of the model.
            pub fn from_bytes(files: &[&[u8]], device: &Device) -> Result<Self, Error> {
                <Self as OnnxModel>::from_bytes(files, device)
            }
        },
        1 => code! {
            /// Creates the model with the weights of another file with the same graph.
            ///
            /// # Errors
            ///
            /// If the bytes are not a file with the same graph.
            pub fn from_bytes(bytes: &[u8], device: &Device) -> Result<Self, Error> {
                <Self as OnnxModel>::from_bytes(&[bytes], device)
            }
        },
        _ => code! {
            /// Creates the model with the weights of other files with the same graph: the model, then its external
            /// data.
            ///
            /// # Errors
            ///
            /// If the bytes are not files with the same graph.
            pub fn from_bytes(files: &[&[u8]], device: &Device) -> Result<Self, Error> {
                <Self as OnnxModel>::from_bytes(files, device)
            }
        },
    };
    code! {
        #new

        from_file!();

        #from_bytes
    }
}

/// Returns `Default` if the weights are in the program.
pub fn default(name: &Code, options: &Options) -> Code {
    match options.weights {
        Weights::Embed => code! {
            impl Default for #name {
                fn default() -> Self {
                    Self::new(&Device::default())
                }
            }
        },
        Weights::File => Code::default(),
    }
}
