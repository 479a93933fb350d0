//! Writes the files from which a target starts: `seeds TARGET FOLDER`.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, folder] = &arguments[..] else {
        eprintln!("usage: seeds TARGET FOLDER");
        return ExitCode::FAILURE;
    };
    onnx_embed_fuzz_targets::seeds::write(target, Path::new(folder));
    ExitCode::SUCCESS
}
