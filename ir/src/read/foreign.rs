//! Recognizes files that are not ONNX models.

use crate::diagnostics::{Format, Problem, Topic};

/// Signatures of other files: offset, bytes, format, message and help.
const MARKS: &[(usize, &[u8], Format, &str, &str)] = &[
    (
        0,
        b"version https://git-lfs",
        Format::GitLfsPointer,
        "the file is a Git LFS pointer, not the model",
        "run `git lfs pull` to download the model",
    ),
    (0, b"PK\x03\x04", Format::Archive, "the file is a ZIP archive or a PyTorch checkpoint", EXPORT),
    (0, b"\x80\x02", Format::Pickle, "the file is a Python pickle", EXPORT),
    (0, b"\x89HDF", Format::Keras, "the file is a Keras model in HDF5", EXPORT),
    (0, b"GGUF", Format::Gguf, "the file is a GGUF model", EXPORT),
    (4, b"TFL3", Format::TensorFlowLite, "the file is a TensorFlow Lite model", EXPORT),
    (
        4,
        b"ORTM",
        Format::OnnxRuntime,
        "the file is a model in ONNX Runtime's format (.ort)",
        "use the .onnx file that it was created from",
    ),
    (8, b"{\"", Format::Safetensors, "the file contains safetensors weights, but no graph", EXPORT),
    (0, b"\x1f\x8b", Format::Compressed, "the file is compressed", "decompress it first"),
];

const EXPORT: &str = "export the model to ONNX first";

/// Returns the problem of a file that cannot be decoded, if its first bytes identify another format.
pub fn recognize(bytes: &[u8]) -> Option<Problem> {
    let marked = |row: &&(usize, &[u8], Format, &str, &str)| {
        let (start, mark) = (row.0, row.1);
        bytes.get(start..).is_some_and(|rest| rest.starts_with(mark))
    };
    if let Some(&(.., format, what, help)) = MARKS.iter().find(marked) {
        return Some(Problem::new(what).help(help).about(Topic::Format(format)));
    }
    let start = bytes.get(..64.min(bytes.len())).unwrap_or_default();
    let text = start.trim_ascii_start().to_ascii_lowercase();
    if text.starts_with(b"<!doctype html") || text.starts_with(b"<html") {
        let problem = Problem::new("the file is a web page, not the model");
        let problem = problem.help("download the model itself; the link leads to a page about it");
        return Some(problem.about(Topic::Format(Format::WebPage)));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_a_failed_download_is_recognized() {
        let problem = recognize(b"\n<!doctype HTML><html>").unwrap();
        assert_eq!(problem.to_string(), "the file is a web page, not the model");
    }

    #[test]
    fn weights_without_a_graph_are_recognized() {
        let problem = recognize(b"\x10\0\0\0\0\0\0\0{\"a\":{\"dtype\":").unwrap();
        assert!(problem.to_string().contains("safetensors"));
    }

    #[test]
    fn the_beginning_of_a_model_is_not() {
        assert_eq!(recognize(b"\x08\x08\x12\x07pytorch"), None);
    }
}
