//! Signatures of model files, as `minisign` writes them.

use alloc::string::ToString;

use minisign_verify::{PublicKey, Signature};

use super::Table;
use crate::Error;

/// Checks that a file, which has this name in errors, is signed with the key.
pub fn verify(file: &'static str, key: &str, bytes: &[u8], signature: &[u8]) -> Result<(), Error> {
    let refused = |reason| Error::Signature { file, reason };
    let text = core::str::from_utf8(signature).map(Signature::decode);
    let Ok(Ok(signature)) = text else {
        return Err(refused("is not a signature of minisign"));
    };
    // The compiler has read the key.
    let key = PublicKey::from_base64(key).map_err(|error| Error::Load { reason: error.to_string() })?;
    key.verify(bytes, &signature, false).map_err(|error| {
        refused(match error {
            minisign_verify::Error::UnexpectedKeyId => "was written with another key than that of the model",
            minisign_verify::Error::UnexpectedAlgorithm => {
                "has the old form of minisign, which signs the bytes instead of their hash"
            }
            _ => "is not that of the bytes of the file",
        })
    })
}

/// Checks files in memory, which are followed by the signature of each, and returns those without the signatures. The number of
/// files may differ from that of the compiled model.
pub fn in_memory<'f, 'b>(table: &Table, key: &str, files: &'f [&'b [u8]]) -> Result<&'f [&'b [u8]], Error> {
    let count = files.len() / 2;
    if files.len() != 2 * count {
        return Err(Error::FileCount { expected: 2 * table.files.len(), found: files.len() });
    }
    let (files, signatures) = files.split_at(count);
    for (index, (bytes, signature)) in files.iter().zip(signatures).enumerate() {
        let name = table.files.get(index).map_or("external data", |file| file.name);
        verify(name, key, bytes, signature)?;
    }
    Ok(files)
}
