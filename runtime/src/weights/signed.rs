//! Signatures of model files, as `minisign` writes them.

use alloc::string::ToString;

use minisign_verify::{PublicKey, Signature};

use super::Table;
use crate::Error;

/// Checks that the file with an index is signed with the key.
pub fn verify(table: &Table, key: &str, index: usize, bytes: &[u8], signature: &[u8]) -> Result<(), Error> {
    let file = table.files.get(index).map_or("", |file| file.name);
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

/// Checks files in memory, which are followed by the signature of each, and returns those without the signatures.
pub fn in_memory<'f, 'b>(table: &Table, key: &str, files: &'f [&'b [u8]]) -> Result<&'f [&'b [u8]], Error> {
    let count = table.files.len();
    if files.len() != 2 * count {
        return Err(Error::FileCount { expected: 2 * count, found: files.len() });
    }
    let (files, signatures) = files.split_at(count);
    for (index, (bytes, signature)) in files.iter().zip(signatures).enumerate() {
        verify(table, key, index, bytes, signature)?;
    }
    Ok(files)
}
