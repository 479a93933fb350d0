//! The command line.

use clap::{Parser, Subcommand};

use crate::expand::Expand;
use crate::inspect::Inspect;
use onnx_embed_harness::bench::Bench;
use onnx_embed_harness::compare::Compare;
use onnx_embed_harness::record::Record;
use onnx_embed_harness::verify::Verify;

/// Inspects ONNX models, shows the code that `onnx_embed::onnx_model!` generates, and runs it.
#[derive(Debug, Parser)]
#[command(name = "cargo-onnx-embed", bin_name = "cargo onnx-embed", version)]
#[command(after_help = "\
Exit codes:
  0  success
  1  a problem in a model: it does not compile, differs from the recorded outputs, or fails
  2  invalid arguments, files that cannot be read or written, or missing tools")]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show the signature, opsets, operators, weights and unsupported operators
    Inspect(Inspect),
    /// Show the Rust code of a model, or its graph
    Expand(Expand),
    /// Draw the graph, nested by module, as SVG, an interactive page, Mermaid or Graphviz
    View(crate::view::View),
    /// Check whether a program compiled from one file can load the weights of another
    Diff(crate::diff::Diff),
    /// Write the weights of a file in a form that a program compiled from another one loads
    Adapt(crate::adapt::Adapt),
    /// Move the weights of a model to other files, aligned, of a maximum size
    Externalize(crate::externalize::Externalize),
    /// Store the weights of a model in 16, 8 or 4 bits, with the errors
    Shrink(crate::shrink::Shrink),
    /// Explain why a model does not compile and how to export it again, or warn about a model that does
    Doctor(crate::doctor::Doctor),
    /// Write a crate that runs a model
    New(crate::new::New),
    /// List the supported operators, or describe one
    Operators(crate::operators::Operators),
    /// Write a bill of materials of a program and its models (CycloneDX)
    Sbom(crate::sbom::Sbom),
    /// Write a completion script for a shell
    Completions(crate::shell::Completions),
    /// Write the manual pages
    Man(crate::shell::Man),
    /// Run models through the real macro and compare them with recorded outputs
    Verify(Box<Verify>),
    /// Measure load time, first call, later calls, memory and the time of each node
    Bench(Bench),
    /// Create inputs for a model and record the outputs of ONNX Runtime
    Record(Record),
    /// Compare two models, or two settings of one, value by value
    Compare(Box<Compare>),
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
