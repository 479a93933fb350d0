//! `record`: inputs for a model, and outputs of ONNX Runtime.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use onnx_embed_ir::attributes::any_of;
use onnx_embed_ir::dim::Dim;
use onnx_embed_ir::inspect::{Port, inspect};
use onnx_embed_ir::options::{Options, Size};
use onnx_embed_ir::types::Type;
use serde_json::json;

use crate::npz;
use crate::settings::{dim, input as sizes};
use crate::style::{GOOD, count};
use crate::value::{Value, Values};
use crate::{random, reference};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    cargo onnx-embed record model.onnx\n  \
    cargo onnx-embed record model.onnx --dim batch=2 --input image=cat.npy -o io2.npz\n\n\
    The file contains the arrays in/NAME and out/NAME. `verify` and `bench` look for it in the folder of the model.")]
pub struct Record {
    /// The model
    pub model: PathBuf,
    /// Named size of random inputs; others are 1
    #[arg(long = "dim", value_name = "NAME=SIZE", value_parser = dim)]
    pub dims: Vec<(String, i64)>,
    /// Input from a .npy file, or the sizes of a random input. Other inputs are random: floats from 0 to 1,
    /// integers 0 and 1
    #[arg(long = "input", value_name = "NAME=FILE.npy", value_parser = given)]
    pub inputs: Vec<(String, Given)>,
    /// File to write [default: io.npz in the folder of the model]
    #[arg(short, long = "out", value_name = "FILE.npz")]
    pub output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
    /// Write JSON: the file and the names in it
    #[arg(long)]
    pub json: bool,
    /// Python with `onnxruntime` and `numpy`
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    pub python: PathBuf,
}

/// Value of an input: from a file, or random with these sizes.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    File(PathBuf),
    Sizes(Vec<usize>),
}

pub fn record(arguments: &Record) -> Result<ExitCode> {
    let model = &arguments.model;
    let name = model.display().to_string();
    let inspection = match inspect(model, &Options::default()) {
        Ok(inspection) => inspection,
        Err(problems) => bail!("{}", problems.report(&name)),
    };
    let beside = || model.with_file_name("io.npz");
    let output = arguments.output.clone().unwrap_or_else(beside);
    if output.exists() && !arguments.force {
        bail!(
            "`{}` already exists; choose another file with `-o FILE.npz`, or overwrite it with `--force`",
            output.display()
        );
    }
    let inputs = inputs(&inspection.inputs, arguments)?;
    reference::run(&arguments.python, model, &inputs, &output, false)?;
    let recording = npz::Recording::open(&output)?;
    if arguments.json {
        let inputs: Vec<&String> = recording.inputs.iter().map(|(name, _)| name).collect();
        let outputs: Vec<&String> = recording.outputs.iter().map(|(name, _)| name).collect();
        let file = output.display().to_string();
        println!("{:#}", json!({ "file": file, "inputs": inputs, "outputs": outputs }));
        return Ok(ExitCode::SUCCESS);
    }
    let (taken, given) = (recording.inputs.len(), recording.outputs.len());
    anstream::println!(
        "{GOOD}wrote{GOOD:#} `{}`: {} and {}",
        output.display(),
        count(taken, "input"),
        count(given, "output")
    );
    if output.parent() == model.parent() {
        println!("check the model with `cargo onnx-embed verify {name}`");
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the inputs that the caller specified, and random values for the others.
fn inputs(ports: &[Port], arguments: &Record) -> Result<Values> {
    let names: Vec<&str> = ports.iter().map(|port| port.name.as_str()).collect();
    for (name, _) in &arguments.inputs {
        if !names.contains(&name.as_str()) {
            if names.is_empty() {
                bail!("the model has no input `{name}`: it has no inputs");
            }
            bail!("the model has no input `{name}`, expected {}", any_of(&quoted(&names)));
        }
    }
    let mut files: BTreeMap<&str, Value> = BTreeMap::new();
    let mut dims: Vec<(String, i64)> = arguments.dims.clone();
    check_dims(ports, &dims)?;
    let mut ports = ports.to_vec();
    for port in &mut ports {
        let chosen = arguments.inputs.iter().find(|(name, _)| *name == port.name);
        match chosen {
            Some((name, Given::File(path))) => {
                let value = npz::single(path)?;
                dims.extend(named(&port.ty, shape(&value)));
                files.insert(name, value);
            }
            Some((_, Given::Sizes(sizes))) => {
                dims.extend(named(&port.ty, sizes));
                let dtype = port.ty.as_ref().and_then(Type::as_tensor).map(|tensor| tensor.dtype);
                let Some(dtype) = dtype else {
                    bail!("the type of input `{}` is unknown; specify a .npy file", port.name);
                };
                let sizes = sizes.iter().map(|&size| Dim::from(i64::try_from(size).unwrap_or(i64::MAX)));
                port.ty = Some(Type::tensor(dtype, sizes.collect()));
            }
            None => {}
        }
    }
    let random: Vec<Port> =
        ports.iter().filter(|port| !files.contains_key(port.name.as_str())).cloned().collect();
    let mut made = random::inputs(&random, &dims)?;
    made.extend(files.into_iter().map(|(name, value)| (name.to_owned(), value)));
    Ok(made)
}

/// Returns an error if a size is not the size of any input.
fn check_dims(ports: &[Port], dims: &[(String, i64)]) -> Result<()> {
    let tensors = ports.iter().filter_map(|port| port.ty.as_ref()?.as_tensor());
    let names = tensors.flat_map(|tensor| tensor.shape.iter().filter_map(Dim::name));
    let names: BTreeSet<String> = names.map(|name| name.to_string()).collect();
    let names = Vec::from_iter(names);
    match dims.iter().find(|(name, _)| !names.contains(name)) {
        None => Ok(()),
        Some((name, _)) if names.is_empty() => {
            bail!("the model has no size `{name}`: its inputs have no named sizes")
        }
        Some((name, _)) => {
            bail!("the model has no size `{name}`, expected {}", any_of(&quoted(&names)))
        }
    }
}

/// Returns the names in backticks.
fn quoted(names: &[impl AsRef<str>]) -> Vec<String> {
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect()
}

/// Returns the named sizes of an input.
fn named(ty: &Option<Type>, sizes: &[usize]) -> Vec<(String, i64)> {
    let tensor = ty.as_ref().and_then(Type::as_tensor);
    let pairs = tensor.into_iter().flat_map(|tensor| tensor.shape.iter().zip(sizes));
    let named = pairs.filter_map(|(dim, &size)| Some((dim.name()?.to_string(), i64::try_from(size).ok()?)));
    named.collect()
}

fn shape(value: &Value) -> &[usize] {
    match value {
        Value::Tensor(tensor) => &tensor.shape,
        Value::Strings { shape, .. } => shape,
        _ => &[],
    }
}

/// Parses `NAME=FILE.npy` or `NAME=SIZE,..`.
fn given(text: &str) -> Result<(String, Given), String> {
    let parts = text.rsplit_once('=');
    let (name, value) = parts.ok_or("expected NAME=FILE.npy or NAME=SIZE,..")?;
    if Path::new(value).extension().is_some_and(|ending| ending == "npy") {
        return Ok((name.to_owned(), Given::File(value.into())));
    }
    let (name, sizes) = sizes(text)?;
    let fixed = sizes.into_iter().map(|size| match size {
        Size::Fixed(size) => usize::try_from(size).map_err(|error| error.to_string()),
        Size::Named(name) => Err(format!("expected a .npy file or sizes, found `{name}`")),
    });
    Ok((name, Given::Sizes(fixed.collect::<Result<_, _>>()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_files_or_sizes() {
        let file = Given::File("a=b.npy".into());
        assert_eq!(given("x=cat.npy"), Ok(("x".to_owned(), Given::File("cat.npy".into()))));
        assert_ne!(given("x=a=b.npy"), Ok(("x".to_owned(), file)));
        assert_eq!(given("x=1,3"), Ok(("x".to_owned(), Given::Sizes(vec![1, 3]))));
        assert!(given("x=cat.png").unwrap_err().contains("`cat.png`"));
        assert!(given("cat.npy").is_err());
    }
}
