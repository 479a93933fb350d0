//! `externalize`: moves weights to files next to the model.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use onnx_embed_ir::diagnostics::shown;
use onnx_embed_ir::model::display_name;
use onnx_embed_ir::resave::{Copy, externalize as externalized};
use serde_json::json;

use crate::copies::{Target, check, failed};
use onnx_embed_harness::style::{self, DIM, GOOD};

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo onnx-embed externalize model.onnx -o large/model.onnx
  cargo onnx-embed externalize model.onnx -o large/model.onnx --shard-size 2GB

The copy contains initializers of at most 1 kB. Larger ones are in FILE.data, at multiples of 64 bytes,
those of 1 MiB and more at multiples of 64 KiB. External data of the original move as well.")]
pub struct Externalize {
    /// The model
    pub model: PathBuf,
    #[command(flatten)]
    pub target: Target,
    /// Write JSON
    #[arg(long)]
    pub json: bool,
}

pub fn externalize(arguments: &Externalize) -> Result<ExitCode> {
    let (model, target) = (&arguments.model, &arguments.target);
    let sharding = target.sharding()?;
    let mut files = target.files(model)?;
    let copy = externalized(model, &sharding, &mut |name| files.create(name));
    let copy = copy.map_err(|failure| failed(failure, model))?;
    files.finish(&copy.model)?;
    check(model, &target.output)?;
    if arguments.json {
        println!("{:#}", describe(&copy));
    } else {
        anstream::print!("{}", text(arguments, &copy));
    }
    Ok(ExitCode::SUCCESS)
}

fn text(arguments: &Externalize, copy: &Copy) -> String {
    let name = shown(&display_name(&arguments.target.output));
    let size = style::bytes(copy.model.len() as u64);
    let mut text = match copy.shards.len() {
        0 => format!("{GOOD}wrote {name}{GOOD:#}, {size}; no initializer has more than 1 kB\n"),
        count => {
            let tensors: usize = copy.shards.iter().map(|shard| shard.tensors).sum();
            let (tensors, files) = (style::count(tensors, "weight"), style::count(count, "file"));
            format!("{GOOD}wrote {name}{GOOD:#}, {size}, with {tensors} in {files}\n")
        }
    };
    for shard in &copy.shards {
        let (name, tensors) = (shown(&shard.name), style::count(shard.tensors, "weight"));
        text.push_str(&format!("  {DIM}{name}: {}, {tensors}{DIM:#}\n", style::bytes(shard.bytes)));
    }
    text
}

fn describe(copy: &Copy) -> serde_json::Value {
    let shards = copy.shards.iter();
    let shards =
        shards.map(|shard| json!({ "name": shard.name, "bytes": shard.bytes, "weights": shard.tensors }));
    json!({ "model_bytes": copy.model.len(), "external_data": shards.collect::<Vec<_>>() })
}
