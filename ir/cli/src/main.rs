//! `cargo onnx-embed`: inspects, builds and runs models.

#![forbid(unsafe_code)]

mod adapt;
mod args;
mod copies;
mod diff;
mod doctor;
mod expand;
mod externalize;
mod inspect;
mod new;
mod operators;
mod sbom;
mod shell;
mod shrink;
mod view;

use std::process::ExitCode;

use args::{Arguments, Command};
use clap::Parser;
use onnx_embed_harness::{bench, compare, cost, record, style, verify};

fn main() -> ExitCode {
    if let Some(code) = cost::run() {
        return code;
    }
    // Cargo passes the subcommand's own name first.
    let cargo = std::env::args().nth(1).is_some_and(|first| first == "onnx-embed");
    let line = std::env::args_os().enumerate();
    let line = line.filter(|(at, _)| !(cargo && *at == 1));
    let arguments = Arguments::parse_from(line.map(|(_, argument)| argument));
    let result = match arguments.command {
        Command::Inspect(arguments) => inspect::inspect(&arguments),
        Command::Expand(arguments) => expand::expand(&arguments),
        Command::View(arguments) => view::view(&arguments),
        Command::Diff(arguments) => diff::diff(&arguments),
        Command::Adapt(arguments) => adapt::adapt(&arguments),
        Command::Externalize(arguments) => externalize::externalize(&arguments),
        Command::Shrink(arguments) => shrink::shrink(&arguments),
        Command::Doctor(arguments) => doctor::doctor(&arguments),
        Command::New(arguments) => new::new(&arguments),
        Command::Operators(arguments) => operators::operators(&arguments),
        Command::Sbom(arguments) => sbom::sbom(&arguments),
        Command::Completions(arguments) => shell::completions(&arguments),
        Command::Man(arguments) => shell::man(&arguments),
        Command::Verify(arguments) => verify::verify(&arguments),
        Command::Bench(arguments) => bench::bench(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Record(arguments) => record::record(&arguments),
    };
    result.unwrap_or_else(|error| {
        let error_style = style::BAD;
        anstream::eprintln!("{error_style}error{error_style:#}: {error:#}");
        ExitCode::from(2)
    })
}
