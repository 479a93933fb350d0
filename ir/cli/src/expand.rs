//! `expand`: the Rust code or the graph of a model.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use onnx_embed_ir::emit::Item;
use onnx_embed_ir::print;
use onnx_embed_ir::read::display_name;
use quote::quote;

use crate::args::Expand;
use crate::style;

pub fn expand(arguments: &Expand) -> Result<ExitCode> {
    let options = arguments.sizes.options(arguments.weights);
    let path = &arguments.model;
    let mut passes = String::new();
    let model = onnx_embed_ir::load_observed(path, &options, &mut |pass, graph| {
        if arguments.passes {
            let _ = writeln!(passes, "# {pass}\n{}", print::graph(graph));
        }
    });
    anstream::print!("{passes}");
    let problems = |problems: onnx_embed_ir::diagnostics::Diagnostics| {
        let style = style::BAD;
        let report = problems.report(&path.display().to_string());
        anstream::eprintln!("{style}error{style:#}: {report}");
        Ok(ExitCode::FAILURE)
    };
    let model = match model {
        Ok(model) => model,
        Err(found) => return problems(found),
    };
    if arguments.passes {
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.graph {
        anstream::print!("{}", print::graph(&model.graph));
        return Ok(ExitCode::SUCCESS);
    }
    let name = syn::parse_str(&arguments.name);
    let item = Item {
        attributes: quote!(),
        visibility: quote!(pub),
        name: name.with_context(|| format!("`{}` is no name of a type", arguments.name))?,
        runtime: quote!(::onnx_embed),
        file: display_name(path),
    };
    match onnx_embed_ir::code(&model, &item, &options) {
        Ok(tokens) => {
            let file = syn::parse2(tokens).context("the expansion is not Rust")?;
            anstream::print!("{}", prettyplease::unparse(&file));
            Ok(ExitCode::SUCCESS)
        }
        Err(found) => problems(found),
    }
}
