//! Writes random graphs that exercise rules: `grow SEED COUNT FOLDER`, a folder for each.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [seed, count, folder] = &arguments[..] else {
        eprintln!("usage: grow SEED COUNT FOLDER");
        return ExitCode::FAILURE;
    };
    let (Ok(seed), Ok(count)) = (seed.parse(), count.parse()) else {
        eprintln!("SEED and COUNT are numbers");
        return ExitCode::FAILURE;
    };
    onnx_embed_property_graphs::write_grown(seed, count, Path::new(folder));
    ExitCode::SUCCESS
}
