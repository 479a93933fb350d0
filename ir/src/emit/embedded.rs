//! Files of the model in the binary.

use std::path::Path;

use proc_macro2::Literal;

use super::fingerprint::{EMPTY, hash};
use crate::files::Files;
use crate::rust::{Code, code};

/// Minimum length of a file that is assembled, in bytes. For shorter ones, `include_bytes!` alone is cheap.
const ASSEMBLED: usize = 1 << 20;
/// Maximum number of bytes that one directive reads. The assembler's buffer doubles as it grows: with one directive for
/// a file of 430 MB, rustc takes 460 MB more.
const CHUNK: usize = 16 << 20;
/// Size of a page, in bytes. The assembler maps a file for each directive, unless its length is a multiple of this:
/// then it reads the whole file into memory. Such a file has one directive.
const PAGE: usize = 4096;
/// Number of samples of a file that its symbol depends on.
const SAMPLES: usize = 64;

/// Returns `fn files()`, which returns the bytes of the model's files.
pub fn embedded(files: &Files, folder: &Path, origin: &str) -> Code {
    let files = files.list().into_iter();
    let all: Vec<Code> =
        files.map(|(name, bytes)| file(&folder.join(&name), &name, origin, &bytes)).collect();
    let count = Literal::usize_unsuffixed(all.len());
    // In a plain function the bytes cost the compiler least; in a constant, ten times more.
    code! {
        /// Returns the contents of the model's files.
        fn files() -> [&'static [u8]; #count] {
            [#(#all),*]
        }
    }
}

fn file(path: &Path, name: &Path, origin: &str, bytes: &[u8]) -> Code {
    let shown = path.to_string_lossy().into_owned();
    let length = Literal::usize_unsuffixed(bytes.len());
    if bytes.len() < ASSEMBLED {
        return code!(embedded!(include_bytes!(#shown), #length));
    }
    let symbol = symbol(origin, &name.to_string_lossy(), bytes);
    let directives = directives(&from_current_folder(path).to_string_lossy(), bytes.len());
    code!(embedded!(include_bytes!(#shown), #length, #symbol, #directives))
}

/// Returns a symbol for the contents of a file, without reading all of it. Files have the same symbol if the origins of
/// their models, their names, lengths and samples are equal. No path of this computer is part of it, so that builds in
/// different folders have equal programs.
fn symbol(origin: &str, name: &str, bytes: &[u8]) -> String {
    let mut number = hash(EMPTY, origin.as_bytes());
    number = hash(number, &[0]);
    number = hash(number, name.as_bytes());
    number = hash(number, &bytes.len().to_le_bytes());
    let step = (bytes.len() / SAMPLES).max(1);
    for start in (0..bytes.len()).step_by(step) {
        let word = bytes.get(start..).unwrap_or_default();
        number = hash(number, word.get(..8).unwrap_or(word));
    }
    format!("onnx_embed_{number:016x}")
}

/// Returns a path relative to the current folder, if the file is below it. rustc runs in the folder of the workspace, or in
/// that of a package from a registry, and its assembler opens the file in the same process. Absolute paths in directives
/// would change names of symbols, which contain a hash of the module: programs would depend on the folder.
fn from_current_folder(path: &Path) -> &Path {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path)
}

/// Returns the directives for the assembler: `.incbin "path",start,length`.
fn directives(path: &str, length: usize) -> String {
    let path = quoted(path);
    let chunk = if length.is_multiple_of(PAGE) { length } else { CHUNK };
    let starts = (0..length).step_by(chunk.max(1));
    let lines = starts.map(|start| {
        let count = length.saturating_sub(start).min(chunk);
        format!(".incbin {path},{start},{count}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns a string literal of the assembler, in which all characters that may have a meaning are octal.
fn quoted(path: &str) -> String {
    let mut text = "\"".to_owned();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => text.push(byte.into()),
            _ => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    text + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_files_are_included_and_large_ones_assembled() {
        let text = |length| {
            let bytes = vec![7; length];
            let name = Path::new("a b.onnx");
            file(&Path::new("/").join(name), name, "x", &bytes).into_tokens().to_string()
        };
        assert_eq!(text(5), r#"embedded ! (include_bytes ! ("/a b.onnx") , 5)"#);
        let large = text(ASSEMBLED + 1);
        assert!(
            large.starts_with(r#"embedded ! (include_bytes ! ("/a b.onnx") , 1048577 , "onnx_embed_"#),
            "{large}"
        );
        assert!(large.ends_with(r#" , ".incbin \"/a\\040b.onnx\",0,1048577")"#), "{large}");
    }

    #[test]
    fn the_assembler_opens_files_below_the_current_folder_by_their_relative_path() {
        let path = std::env::current_dir().unwrap().join("models").join("m.onnx");
        assert_eq!(from_current_folder(&path), Path::new("models").join("m.onnx"));
        let elsewhere = Path::new("/elsewhere/m.onnx");
        assert_eq!(from_current_folder(elsewhere), elsewhere);
    }

    #[test]
    fn a_file_of_whole_pages_has_one_directive() {
        assert_eq!(directives("m", 3 * CHUNK).lines().count(), 1);
        let lines = directives("m", 2 * CHUNK + 1);
        assert_eq!(
            Vec::from_iter(lines.lines()),
            [".incbin \"m\",0,16777216", ".incbin \"m\",16777216,16777216", ".incbin \"m\",33554432,1"]
        );
    }

    #[test]
    fn paths_have_no_meaning_to_the_assembler() {
        assert_eq!(quoted("C:\\a\"$x{é\n"), "\"C\\072\\134a\\042\\044x\\173\\303\\251\\012\"");
    }

    #[test]
    fn symbols_tell_contents_and_files_apart() {
        let bytes = vec![1; ASSEMBLED];
        let mut other = bytes.clone();
        other[ASSEMBLED / 2] = 2;
        let first = symbol("p 1 m.onnx", "m.onnx", &bytes);
        assert_eq!(first, symbol("p 1 m.onnx", "m.onnx", &bytes));
        for [origin, name] in [["p 2 m.onnx", "m.onnx"], ["p 1 m.onnx", "m.bin"], ["p 1 m.onn", "xm.onnx"]] {
            assert_ne!(first, symbol(origin, name, &bytes), "{origin}");
        }
        assert_ne!(first, symbol("p 1 m.onnx", "m.onnx", &other));
    }
}
