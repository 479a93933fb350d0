//! The command line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use onnx_embed_ir::emit::{operator, snake};
use onnx_embed_ir::options::{self, Binding, Options, Outputs, Size, Weights, operator_name};

use crate::bench::Bench;
use crate::compare_models::Compare;
use crate::inspect::Inspect;
use crate::record::Record;

/// Looks into ONNX models, shows what `onnx_model!` makes of them, and tries it.
#[derive(Debug, Parser)]
#[command(name = "cargo-onnx-embed", bin_name = "cargo onnx-embed", version)]
#[command(after_help = "\
Exit codes:
  0  all is well
  1  a model is at fault: it does not compile, differs from what was recorded, or fails
  2  the call is at fault: arguments, files that cannot be read or written, tools that are missing")]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show signature, opsets, operators, weights, and what is unsupported
    Inspect(Inspect),
    /// Show the Rust code of a model, or its graph
    Expand(Expand),
    /// Draw the graph, nested by module: SVG, a page to click through, Mermaid, Graphviz
    View(crate::view::View),
    /// Say whether a program compiled from one file can load the weights of another
    Diff(crate::diff::Diff),
    /// Say why a model does not compile and what to export anew, and what to expect of one that does
    Doctor(crate::doctor::Doctor),
    /// Write a crate that runs a model
    New(crate::new::New),
    /// List the operators that are supported, or tell of one
    Operators(crate::operators::Operators),
    /// Write a script by which a shell completes commands
    Completions(crate::shell::Completions),
    /// Write manual pages
    Man(crate::shell::Man),
    /// Run models through the real macro and compare with recorded outputs
    Verify(Box<Verify>),
    /// Measure load, first run, later runs and memory, and the time of each node
    Bench(Bench),
    /// Make inputs for a model and record what ONNX Runtime answers
    Record(Record),
    /// Compare two models, or two settings of one, value by value
    Compare(Box<Compare>),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo onnx-embed expand model.onnx > model.rs     the code that the macro writes
  cargo onnx-embed expand model.onnx --passes       what each rule changed, and nearly changed")]
pub struct Expand {
    /// The model: .onnx, or .onnxtxt in ONNX's text syntax
    pub model: PathBuf,
    #[command(flatten)]
    pub choices: Choices,
    /// Show the graph instead of Rust
    #[arg(long)]
    pub graph: bool,
    /// Show the graph as it is read and after each pass
    #[arg(long, conflicts_with = "graph")]
    pub passes: bool,
    /// The name of the struct
    #[arg(long, default_value = "Model")]
    pub name: String,
    /// Where the weights are when the program runs
    #[arg(long, value_enum, default_value = "embed")]
    pub weights: Storage,
    /// Write JSON: `code`, `graph` or `passes`, and the problems of a model that does not compile
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo onnx-embed verify models/ --release         every model beside its io.npz
  cargo onnx-embed verify model.onnx --device wgpu  on a GPU, with launches and reads
  cargo onnx-embed verify model.onnx --op my.company.BiasSwish --functions src/operators.rs")]
pub struct Verify {
    /// Models with an io.npz beside them (io2.npz and so on for further inputs), or folders of folders of
    /// such. It has the arrays in/NAME and out/NAME, as `numpy.savez("io.npz", **{"in/x": x, "out/y": y})`
    /// writes them, or `record`
    #[arg(required = true)]
    pub models: Vec<PathBuf>,
    #[command(flatten)]
    pub programs: Programs,
    /// Build with optimisations
    #[arg(long)]
    pub release: bool,
    /// Write JSON
    #[arg(long)]
    pub json: bool,
    /// Succeed when this many models match and the others are only unsupported
    #[arg(long, value_name = "N")]
    pub at_least: Option<usize>,
    /// A file of `model = "reason"` lines: models that are known to differ, and, below `[reads]`, how often
    /// models wait for values of the device
    #[arg(long, value_name = "FILE")]
    pub expect: Option<PathBuf>,
    /// Models that run at the same time [default: the number of cores]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Change the constants of each model one at a time, and then all; the program refuses the changed file
    /// or agrees with ONNX Runtime on it. At most so many files of a kind are tried
    #[arg(long, value_name = "N")]
    pub other_weights: Option<usize>,
    /// Where a model differs, compute its graph in double precision; it matches if it is at most twice as far
    /// from that as the recorded answer is
    #[arg(long)]
    pub exact: bool,
    /// Where a model differs, find the first node at which it goes wrong: against its run by primitives,
    /// without simplification, and ONNX Runtime
    #[arg(long, conflicts_with = "json", conflicts_with = "other_weights")]
    pub bisect: bool,
    /// A run that waits for values of the device more often, and more often than --expect says, fails
    #[arg(long, value_name = "N")]
    pub most_reads: Option<u64>,
    /// A run that launches more kernels for each node of the simplified graph fails
    #[arg(long, value_name = "RATIO")]
    pub most_launches: Option<f64>,
    /// The Python that has `onnx` and `onnxruntime`, for --exact, --bisect and --other-weights
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    pub python: PathBuf,
    /// Give up on a model that runs longer
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub timeout: u64,
}

/// What `verify` and `bench` share.
#[derive(Debug, Args)]
pub struct Programs {
    /// The device to run on
    #[arg(long, value_enum, default_value = "flex")]
    pub device: Device,
    /// Take only models whose name contains this
    #[arg(long, value_name = "SUBSTRING")]
    pub filter: Option<String>,
    /// The target folder of the programs [default: that of the workspace here]
    #[arg(long, value_name = "FOLDER")]
    pub target_dir: Option<PathBuf>,
    /// Keep inputs, outputs and messages of every model
    #[arg(long)]
    pub keep: bool,
    /// Do without operator fusion on GPUs
    #[arg(long)]
    pub no_fusion: bool,
    /// Take GPU kernels as they come, without measuring which one is fastest
    #[arg(long)]
    pub no_autotune: bool,
    /// Leave the operators as the files have them
    #[arg(long)]
    pub no_simplify: bool,
    /// In what floats of single precision are computed
    #[arg(long, value_enum, default_value = "as-is")]
    pub precision: Precision,
    /// Compute an operator by a function of --functions that gives a tensor like its first input
    #[arg(long = "op", value_name = "DOMAIN.NAME[=PATH]", value_parser = bound, requires = "functions")]
    pub operators: Vec<Bound>,
    /// A Rust file with the public functions of --op, as items of the root of the crate; it may use `onnx_embed`
    #[arg(long, value_name = "FILE.rs", requires = "operators")]
    pub functions: Option<PathBuf>,
}

/// The options of `onnx_model!`.
#[derive(Debug, Default, Args)]
pub struct Choices {
    /// Pin a named size
    #[arg(long = "dim", value_name = "NAME=SIZE", value_parser = dim)]
    pub dims: Vec<(String, i64)>,
    /// Give an input's shape, in numbers and names
    #[arg(long = "input", value_name = "NAME=SIZE,..", value_parser = input)]
    pub inputs: Vec<(String, Vec<Size>)>,
    /// Give this value of the graph as an output, in place of those of the file; `..` keeps those too
    #[arg(long = "output", value_name = "NAME")]
    pub outputs: Vec<String>,
    /// Leave the operators as the file has them
    #[arg(long)]
    pub no_simplify: bool,
    /// In what floats of single precision are computed
    #[arg(long, value_enum, default_value = "as-is")]
    pub precision: Precision,
    /// Take an operator as computed by a function of the program that gives a tensor like its first input
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
    let size: u32 = size.parse().map_err(|error| format!("{size:?}: {error}"))?;
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
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

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

    #[test]
    fn only_gpus_are_fused() {
        let features = |line: &[&str]| {
            let line = [&["x", "verify", "m"], line].concat();
            let Command::Verify(verify) = Arguments::parse_from(line).command else {
                panic!("another command");
            };
            verify.programs.features()
        };
        assert_eq!(features(&[]), ["flex", "image", "regex"]);
        assert_eq!(features(&["--device", "wgpu"]), ["flex", "image", "regex", "wgpu", "fusion", "autotune"]);
        assert_eq!(
            features(&["--device", "wgpu", "--no-fusion"]),
            ["flex", "image", "regex", "wgpu", "autotune"]
        );
        assert_eq!(
            features(&["--device", "wgpu", "--no-autotune"]),
            ["flex", "image", "regex", "wgpu", "fusion"]
        );
    }
}
