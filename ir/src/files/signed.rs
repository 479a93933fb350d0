//! Signatures of model files, as `minisign` writes them.

use std::fmt;
use std::path::{Path, PathBuf};

use minisign_verify::{PublicKey, Signature};

use super::{read_short, shown};
use crate::diagnostics::Problem;

/// Name of the option, whose place in the source a problem of the key has.
pub const OPTION: &str = "signature";

/// A public key, and the file that contains it.
#[derive(Clone)]
pub struct Key {
    path: PathBuf,
    key: PublicKey,
    /// The key in base64, for the program.
    text: String,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("path", &self.path).field("text", &self.text).finish_non_exhaustive()
    }
}

impl Key {
    /// Reads the public key from its file: a comment and a line in base64.
    pub fn read(path: &Path) -> Result<Self, Problem> {
        let wrong = |what: String| {
            Problem::new(what)
                .help("specify a public key that `minisign -G` or `rsign generate` wrote")
                .choice(OPTION)
        };
        let text = read_short(path)
            .map_err(|error| wrong(format!("cannot read the public key {}: {error}", shown(path))))?;
        let key = PublicKey::decode(&text);
        let key = key.map_err(|_| wrong(format!("{} is not a public key of minisign", shown(path))))?;
        let text = text.lines().nth(1).unwrap_or_default().to_owned();
        Ok(Key { path: path.to_owned(), key, text })
    }

    /// Returns the key in base64.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the file of the key.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks the bytes of a file against the signature next to it.
    pub fn check(&self, file: &Path, bytes: &[u8]) -> Result<(), Problem> {
        let beside = signature_of(file);
        let help =
            "sign the file with the secret key (`minisign -Sm FILE`), or remove the option `signature`";
        let text = read_short(&beside).map_err(|error| {
            Problem::new(format!("cannot read the signature {}: {error}", shown(&beside))).help(help)
        })?;
        let refused = |why: &str| Problem::new(format!("{} {why}", shown(&beside))).help(help);
        let signature = Signature::decode(&text).map_err(|_| refused("is not a signature of minisign"))?;
        self.key.verify(bytes, &signature, false).map_err(|error| match error {
            minisign_verify::Error::UnexpectedKeyId => {
                refused(&format!("was written with another key than {}", shown(&self.path)))
            }
            minisign_verify::Error::UnexpectedAlgorithm => {
                refused("has the old form of minisign, which signs the bytes instead of their hash")
            }
            _ => refused(&format!("is not the signature of the bytes of {}", shown(file))),
        })
    }
}

/// Returns the file with the signature of another file.
pub fn signature_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".minisig");
    name.into()
}
