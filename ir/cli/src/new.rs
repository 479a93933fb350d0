//! `new`: a crate that runs a model.

mod program;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use clap::Args;
use onnx_embed_ir::emit::arguments::arguments as ports;
use onnx_embed_ir::model::Model;
use onnx_embed_ir::options::Options;
use serde_json::json;

use onnx_embed_harness::scratch;
use onnx_embed_harness::settings::dim;
use onnx_embed_harness::style::{BAD, GOOD};
use program::Program;

/// Maximum number of class names in a program. If there are more, none are listed.
const LABELS: usize = 2000;
/// Subfolder of the crate for the model and its external data. Cargo treats no file in it as part of the crate.
const MODEL_FOLDER: &str = "model";

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo onnx-embed new mobilenet.onnx            a crate in ./mobilenet
  cargo onnx-embed new encoder.onnx demo --dim sequence=16
  cd demo && cargo run --release")]
pub struct New {
    /// The model: .onnx
    pub model: PathBuf,
    /// Folder of the crate [default: the model's name]
    pub folder: Option<PathBuf>,
    /// Named sizes of the inputs that the program creates; others are 1
    #[arg(long = "dim", value_name = "NAME=SIZE", value_parser = dim)]
    pub dims: Vec<(String, i64)>,
    /// Write JSON
    #[arg(long)]
    pub json: bool,
}

pub fn new(arguments: &New) -> Result<ExitCode> {
    let path = &arguments.model;
    let model = match onnx_embed_ir::load(path, &Options::default()) {
        Ok(model) => model,
        Err(problems) => {
            let report = problems.report(&path.display().to_string());
            anstream::eprintln!("{BAD}error{BAD:#}: {report}");
            return Ok(ExitCode::FAILURE);
        }
    };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = package(&stem);
    let folder = arguments.folder.clone().unwrap_or_else(|| name.clone().into());
    if folder.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        bail!("`{}` is not empty, expected a new or empty folder", folder.display());
    }
    let file = format!("{MODEL_FOLDER}/{name}.onnx");
    let copies = copies(&model, &file)?;
    write(&folder.join("Cargo.toml"), manifest(&name).as_bytes())?;
    for (name, bytes) in copies {
        write(&folder.join(name), &bytes)?;
    }
    let (inputs, outputs) = ports(&model);
    let program = Program {
        file: &file,
        inputs: &inputs,
        outputs: &outputs,
        dims: &arguments.dims,
        labels: labels(&model),
    };
    write(&folder.join("src/main.rs"), program.source()?.as_bytes())?;
    write(&folder.join("README.md"), readme(&name, &file).as_bytes())?;
    write(&folder.join(".gitignore"), b"/target\n")?;
    let folder = folder.display().to_string();
    if arguments.json {
        println!("{:#}", json!({ "package": name, "folder": folder }));
    } else {
        anstream::println!("{GOOD}wrote{GOOD:#} `{folder}`; run it with: cd {folder} && cargo run --release");
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns a package name that is derived from the name of a file.
fn package(stem: &str) -> String {
    let plain = |letter: char| match letter.to_ascii_lowercase() {
        letter if letter.is_ascii_alphanumeric() || letter == '-' => letter,
        _ => '_',
    };
    let name: String = stem.chars().map(plain).take(60).collect();
    let name = name.trim_matches(['_', '-']);
    // A keyword, or the name of a crate that every program has, cannot be used.
    let taken = ["test", "core", "std", "alloc", "proc_macro", "onnx-embed", "onnx_embed", "burn"];
    let is_word = syn::parse_str::<syn::Ident>(&name.replace('-', "_")).is_ok();
    match name {
        "" => "model".to_owned(),
        name if is_word && !taken.contains(&name) => name.to_owned(),
        name => format!("model_{name}"),
    }
}

/// Returns the names of the classes, if there are at least 2 and at most [`LABELS`].
fn labels(model: &Model) -> Vec<String> {
    let labels = &model.facts.labels;
    if (2..=LABELS).contains(&labels.len()) { labels.clone() } else { Vec::new() }
}

fn manifest(name: &str) -> String {
    let source = scratch::dependency("runtime");
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nonnx-embed = {{ {source} }}\n\n\
         # Not part of a surrounding workspace.\n[workspace]\n"
    )
}

fn readme(name: &str, file: &str) -> String {
    format!(
        "# {name}\n\nRuns `{file}`. [onnx-embed](https://github.com/onnx-embed/onnx-embed) compiles the model into the \
         program.\n\n\
         `cargo run --release` prints the outputs for inputs of zeros. The first build compiles Burn, which takes some \
         minutes.\n\
         `cargo doc --open` shows the signature of `forward`, and `cargo onnx-embed view {file} -o graph.html` draws the \
         graph.\n"
    )
}

/// Returns the files to write for the model, relative to the crate: `file`, and the external data under the names that
/// the model uses.
///
/// # Errors
///
/// If two paths are the same file on a case-insensitive file system, or if tools would read one as their configuration.
fn copies(model: &Model, file: &str) -> Result<Vec<(PathBuf, Bytes)>> {
    let mut copies: Vec<(PathBuf, Bytes)> = Vec::new();
    let mut taken = BTreeSet::new();
    for (at, (name, bytes)) in model.files.list().into_iter().enumerate() {
        let path = match at {
            0 => PathBuf::from(file),
            _ => Path::new(MODEL_FOLDER).join(inside(&name)?),
        };
        if !taken.insert(path.to_string_lossy().to_lowercase()) {
            bail!(
                "external data `{}` has the same name as another file of the crate; rename it",
                name.display()
            );
        }
        copies.push((path, bytes));
    }
    Ok(copies)
}

/// Returns a relative path without `.`. Refuses `..` and hidden files such as `.git/config` and `.cargo/config.toml`.
fn inside(name: &Path) -> Result<PathBuf> {
    let mut plain = PathBuf::new();
    for part in name.components() {
        match part {
            Component::CurDir => {}
            Component::Normal(part) if !part.to_string_lossy().starts_with('.') => plain.push(part),
            _ => bail!(
                "external data `{}` has `..` or a name that starts with `.` in its path, which tools may \
                 read as configuration; rename it",
                name.display()
            ),
        }
    }
    Ok(plain)
}

/// Writes a new file. Returns an error if it exists.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = || format!("cannot write `{}`", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(failed)?;
    }
    let mut file = fs::File::create_new(path).with_context(failed)?;
    file.write_all(bytes).with_context(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_have_names_that_cargo_takes() {
        let names = ["MobileNet v2.1", "7seg", "test", "画像", "crate", "a-b"].map(package);
        assert_eq!(names, ["mobilenet_v2_1", "model_7seg", "model_test", "model", "model_crate", "a-b"]);
    }
}
