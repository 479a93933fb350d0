//! Rewrites Rust files so that each mutant of them can be chosen when the program runs: one build has all mutants.
//!
//! `onnx-embed-mutants FILE..` replaces the files and writes a line for each mutant: number, file, line, function, change.
//! `ONNX_EMBED_WITHOUT=3,17` leaves out mutants that do not compile. The crate needs the function `crate::mutant::is`, which returns true for the number of the chosen one.

mod change;

use std::{env, fs, process};

use change::Mutants;

fn main() {
    let mut mutants = Mutants::without(&env::var("ONNX_EMBED_WITHOUT").unwrap_or_default());
    for path in env::args().skip(1) {
        let rewritten = fs::read_to_string(&path).map_err(|error| error.to_string()).and_then(|text| {
            let mut file = syn::parse_file(&text).map_err(|error| error.to_string())?;
            mutants.rewrite(&path, &mut file);
            fs::write(&path, prettyplease::unparse(&file)).map_err(|error| error.to_string())
        });
        if let Err(reason) = rewritten {
            eprintln!("error: cannot rewrite {path}: {reason}");
            process::exit(1);
        }
    }
    for line in mutants.lines() {
        println!("{line}");
    }
}
