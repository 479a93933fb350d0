//! Key of the signatures that the files of a model must have.

use std::path::Path;

use crate::files::Files;
use crate::files::signed::signature_of;
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
