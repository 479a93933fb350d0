//! Options that several verbs share.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use onnx_embed_ir::emit::{operator, snake};
use onnx_embed_ir::options::{self, Binding, Options, Outputs, Size, Weights, operator_name};

/// Options that `verify` and `bench` share.
#[derive(Debug, Args)]
pub struct Programs {
    /// Device to run on
    #[arg(long, value_enum, default_value = "flex")]
    pub device: Device,
    /// Use only models whose name contains SUBSTRING
    #[arg(long, value_name = "SUBSTRING")]
    pub filter: Option<String>,
    /// Target folder of the programs [default: that of the current workspace]
    #[arg(long, value_name = "FOLDER")]
    pub target_dir: Option<PathBuf>,
    /// Keep inputs, outputs and messages of every model
    #[arg(long)]
    pub keep: bool,
    /// Disable operator fusion on GPUs
    #[arg(long)]
    pub no_fusion: bool,
    /// Disable autotuning: use default GPU kernels instead of measuring the fastest
    #[arg(long)]
    pub no_autotune: bool,
    /// Do not simplify the graph
    #[arg(long)]
    pub no_simplify: bool,
    /// Precision of float32 computation
    #[arg(long, value_enum, default_value = "as-is")]
    pub precision: Precision,
    /// Compute an operator with a function of --functions, whose result has the type of its first input
    #[arg(long = "op", value_name = "DOMAIN.NAME[=PATH]", value_parser = bound, requires = "functions")]
    pub operators: Vec<Bound>,
    /// Rust file with the public functions of --op, included at the root of the crate; it may use
    /// `onnx_embed`
    #[arg(long, value_name = "FILE.rs", requires = "operators")]
    pub functions: Option<PathBuf>,
}

/// The options of `onnx_model!`.
#[derive(Debug, Default, Args)]
pub struct Choices {
    /// Fix a named size
    #[arg(long = "dim", value_name = "NAME=SIZE", value_parser = dim)]
    pub dims: Vec<(String, i64)>,
    /// Set the shape of an input, in numbers and names
    #[arg(long = "input", value_name = "NAME=SIZE,..", value_parser = input)]
    pub inputs: Vec<(String, Vec<Size>)>,
    /// Return this value instead of the outputs of the file; `..` keeps those as well
    #[arg(long = "output", value_name = "NAME")]
    pub outputs: Vec<String>,
    /// Do not simplify the graph
    #[arg(long)]
    pub no_simplify: bool,
    /// Precision of float32 computation
    #[arg(long, value_enum, default_value = "as-is")]
    pub precision: Precision,
    /// Bind an operator to a function of the program, whose result has the type of its first input
    #[arg(long = "op", value_name = "DOMAIN.NAME[=PATH]", value_parser = bound)]
    pub operators: Vec<Bound>,
}

/// An operator, and the path of the function that computes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    operator: String,
    path: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Storage {
    Embed,
    File,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Precision {
    #[default]
    AsIs,
    F16,
    Bf16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Device {
    Flex,
    Wgpu,
    Webgpu,
    Vulkan,
    Metal,
    Cuda,
    Rocm,
}

impl Precision {
    /// Returns the option of the compiler.
    pub fn option(self) -> options::Precision {
        match self {
            Precision::AsIs => options::Precision::AsIs,
            Precision::F16 => options::Precision::F16,
            Precision::Bf16 => options::Precision::Bf16,
        }
    }
}

impl Device {
    /// Returns the name of the device, which is also that of its feature.
    pub fn name(self) -> &'static str {
        match self {
            Device::Flex => "flex",
            Device::Wgpu => "wgpu",
            Device::Webgpu => "webgpu",
            Device::Vulkan => "vulkan",
            Device::Metal => "metal",
            Device::Cuda => "cuda",
            Device::Rocm => "rocm",
        }
    }
}

impl Programs {
    /// Returns the options of the compiler.
    pub fn options(&self) -> Options {
        Options {
            simplify: !self.no_simplify,
            precision: self.precision.option(),
            operators: self.operators.iter().map(Bound::binding).collect(),
            ..Options::default()
        }
    }

    /// Returns the features of the `onnx-embed` crate.
    pub fn features(&self) -> Vec<&'static str> {
        // `image` and `regex` enable operators. `flex` is always on, as in tests of kernels, to share a build of Burn.
        let mut features = vec!["flex", "image", "regex"];
        if self.device == Device::Flex {
            return features;
        }
        features.push(self.device.name());
        if !self.no_fusion {
            features.push("fusion");
        }
        if !self.no_autotune {
            features.push("autotune");
        }
        features
    }
}

impl Choices {
    /// Returns the options of the compiler.
    pub fn options(&self, weights: Storage) -> Options {
        Options {
            dims: self.dims.iter().cloned().collect::<BTreeMap<_, _>>(),
            inputs: self.inputs.iter().cloned().collect(),
            outputs: outputs(&self.outputs),
            weights: match weights {
                Storage::Embed => Weights::Embed,
                Storage::File => Weights::File,
            },
            simplify: !self.no_simplify,
            precision: self.precision.option(),
            operators: self.operators.iter().map(Bound::binding).collect(),
            ..Options::default()
        }
    }
}

impl Bound {
    fn binding(&self) -> (String, Binding) {
        let function = self.path.clone();
        let results = Vec::new();
        (self.operator.clone(), Binding { function, results })
    }
}

fn bound(text: &str) -> Result<Bound, String> {
    let (name, path) = match text.split_once('=') {
        Some((name, path)) => (name, path.to_owned()),
        None => (text, format!("crate::{}", snake(operator(text)))),
    };
    match syn::parse_str::<syn::Path>(&path) {
        Ok(_) => Ok(Bound { operator: operator_name(name).to_owned(), path }),
        Err(_) => Err("expected DOMAIN.NAME or DOMAIN.NAME=PATH, as in my.Swish=crate::swish".to_owned()),
    }
}

fn outputs(names: &[String]) -> Outputs {
    let named = names.iter().filter(|name| *name != "..");
    Outputs { names: named.cloned().collect(), rest: names.iter().any(|name| name == "..") }
}

/// Parses `NAME=SIZE`.
pub fn dim(text: &str) -> Result<(String, i64), String> {
    let parts = text.rsplit_once('=');
    let (name, size) = parts.ok_or("expected NAME=SIZE, as in batch=1")?;
    let size: u32 =
        size.parse().map_err(|_| format!("size is `{size}`, expected an integer from 0 to {}", u32::MAX))?;
    Ok((name.to_owned(), size.into()))
}

/// Parses `NAME=SIZE,..`.
pub fn input(text: &str) -> Result<(String, Vec<Size>), String> {
    let parts = text.rsplit_once('=');
    let (name, sizes) = parts.ok_or("expected NAME=SIZE,.., as in image=batch,3,224,224")?;
    let size = |size: &str| match size.trim().parse::<u32>() {
        Ok(size) => Size::Fixed(size.into()),
        Err(_) => Size::Named(size.trim().to_owned()),
    };
    let sizes = sizes.split(',').filter(|size| !size.trim().is_empty());
    Ok((name.to_owned(), sizes.map(size).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sizes_may_hold_an_equals_sign() {
        assert_eq!(dim("a=b=3"), Ok(("a=b".to_owned(), 3)));
        assert!(dim("batch").is_err());
        assert!(dim("batch=-1").is_err());
    }

    #[test]
    fn shapes_are_numbers_and_names() {
        let sizes = vec![Size::Named("batch".to_owned()), Size::Fixed(3)];
        assert_eq!(input("x=batch, 3"), Ok(("x".to_owned(), sizes)));
        assert_eq!(input("x="), Ok(("x".to_owned(), Vec::new())));
    }

    #[test]
    fn functions_are_called_as_their_operators_unless_a_path_says_so() {
        let path = |text| bound(text).map(|bound| (bound.operator, bound.path));
        let pair = |operator: &str, path: &str| Ok((operator.to_owned(), path.to_owned()));
        assert_eq!(path("my.BiasSwish"), pair("my.BiasSwish", "crate::bias_swish"));
        assert_eq!(path("ai.onnx.Relux=a::b"), pair("Relux", "a::b"));
        assert!(path("my.Swish=1").is_err());
    }
}
