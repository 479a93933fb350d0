//! What a program needs to check or to adapt the files that it loads.

use std::path::Path;

use proc_macro2::Literal;

use super::packed::packed;
use crate::files::Files;
use crate::files::signed::signature_of;
use crate::model::Model;
use crate::options::Options;
use crate::rust::{Code, code};

/// Returns the key as a constant of the model, if there is one.
pub fn constant(options: &Options) -> Code {
    let Some(key) = &options.signature else {
        return Code::default();
    };
    let text = key.text();
    code!(const PUBLIC_KEY: Option<&'static str> = Some(#text);)
}

/// Returns the files without large weights as a constant of the model, if it loads files of other exporters. The code must be
/// complete.
pub fn compiled(model: &Model, options: &Options) -> Code {
    if !options.structure {
        return Code::default();
    }
    let packed = Literal::byte_string(&packed(model, options));
    code!(const COMPILED: Option<&'static [u8]> = Some(#packed);)
}

/// Returns an unused function that makes rustc watch the key and the signatures, so that Cargo compiles the model again when
/// they change.
pub fn watched(files: &Files, folder: &Path, options: &Options) -> Code {
    let Some(key) = &options.signature else {
        return Code::default();
    };
    let files = files.list().into_iter().map(|(name, _)| signature_of(&folder.join(name)));
    let paths = files.chain([key.path().to_owned()]);
    let watched = paths.map(|path| {
        let path = path.to_string_lossy().into_owned();
        code!(include_bytes!(#path);)
    });
    let watched: Vec<Code> = watched.collect();
    code! {
        /// Makes Cargo compile the model again when its signature changes.
        #[allow(dead_code)]
        fn signatures() {
            #(#watched)*
        }
    }
}
