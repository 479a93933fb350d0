//! Environment variables that disable kernels and fusion.
//!
//! They are read once. Tests run with each of them, and users can find out whether a kernel is at fault.

use alloc::{format, string::String, vec::Vec};
use std::{env, ffi::OsStr, sync::OnceLock};

/// Returns `true` if all operations are computed by primitives: `ONNX_EMBED_PLAIN=1`.
pub fn is_plain() -> bool {
    static PLAIN: OnceLock<bool> = OnceLock::new();
    *PLAIN.get_or_init(|| chosen("ONNX_EMBED_PLAIN", &[("0", false), ("1", true)]).unwrap_or(false))
}

/// Applies `ONNX_EMBED_UNFUSED=1`, which disables the fusion of CubeCL operations. Call it before a device
/// has its first tensor.
///
/// # Panics
/// If the variable disables fusion and a device already has tensors.
pub fn settle() {
    static SETTLED: OnceLock<()> = OnceLock::new();
    SETTLED.get_or_init(|| {
        let is_unfused = chosen("ONNX_EMBED_UNFUSED", &[("0", false), ("1", true)]);
        if is_unfused.unwrap_or(false) {
            unfuse();
        }
    });
}

#[cfg(all(feature = "cube", feature = "fusion"))]
fn unfuse() {
    use burn_cubecl::fusion::{BUILTIN_NAMES, remove};

    for name in BUILTIN_NAMES {
        if let Err(problem) = remove(name) {
            panic!("cannot apply ONNX_EMBED_UNFUSED: {problem}");
        }
    }
}

/// Does nothing: without the feature there is no fusion.
#[cfg(not(all(feature = "cube", feature = "fusion")))]
fn unfuse() {}

/// Returns the choice of a variable, `None` if it is not set.
///
/// # Panics
/// If the value is not one of the choices. Ignoring it would hide that the run differs from the requested one.
pub fn chosen<T: Copy>(variable: &str, choices: &[(&str, T)]) -> Option<T> {
    let word = env::var_os(variable)?;
    match parsed(&word, choices) {
        Ok(choice) => choice,
        Err(problem) => panic!("{variable} is {problem}"),
    }
}

fn parsed<T: Copy>(word: &OsStr, choices: &[(&str, T)]) -> Result<Option<T>, String> {
    if word.is_empty() {
        return Ok(None);
    }
    match choices.iter().find(|(name, _)| word == *name) {
        Some((_, choice)) => Ok(Some(*choice)),
        None => {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            Err(format!("{word:?}, expected one of {}", names.join(", ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_choices() {
        let choices = [("0", false), ("1", true)];
        let parsed = |word: &str| parsed(OsStr::new(word), &choices);
        assert_eq!(parsed("1"), Ok(Some(true)));
        assert_eq!(parsed(""), Ok(None));
        assert_eq!(parsed("yes"), Err(String::from("\"yes\", expected one of 0, 1")));
    }
}
