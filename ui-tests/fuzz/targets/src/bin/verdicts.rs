//! Reads paths of models, a line each, and prints a line for each: `compiles`, or the first problem.

use std::io::{BufRead, Write};

use onnx_embed_fuzz_targets::verdict;

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for path in std::io::stdin().lock().lines() {
        let bytes = std::fs::read(path?)?;
        writeln!(out, "{}", verdict(&bytes))?;
        out.flush()?;
    }
    Ok(())
}
