//! Limits of time and memory for hostile and large files.
//!
//! Each file results in a diagnostic or in code.
//!
//! ```sh
//! cargo test -p cargo-onnx-embed --test limits                        # the files written here
//! FOLDER=/tmp/files cargo test --release -p cargo-onnx-embed --test limits  # the files of a folder
//! GROWTH=1000,5000,10000 cargo test --release -p cargo-onnx-embed --test limits  # a table
//! BLESS=1 cargo test -p cargo-onnx-embed --test limits                # writes ui-tests/models/hostile
//! ```

#[cfg(unix)]
#[path = "limits/run.rs"]
mod run;

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(unix)]
    return run::main();
    #[cfg(not(unix))]
    ExitCode::SUCCESS
}
