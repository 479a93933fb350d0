//! `doctor`: causes of problems, advice for the export, and warnings.

mod causes;
mod warnings;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use onnx_embed_ir::diagnostics::{Diagnostics, Problem, shown};
use onnx_embed_ir::inspect::inspect as look;
use serde_json::{Value as Json, json};

use crate::inspect::{code, listed};
use causes::{Cause, Source, cause};
use onnx_embed_harness::settings::{Choices, Storage};
use onnx_embed_harness::style::{self, BAD, DIM, DOUBTFUL, GOOD, HEADING};
use warnings::{Warning, warnings};

/// Maximum number of listed problems with one cause.
const MAX_LISTED_PROBLEMS: usize = 8;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  cargo onnx-embed doctor model.onnx                problems by cause, and how to export it again
  cargo onnx-embed doctor model.onnx --json | jq .causes")]
pub struct Doctor {
    /// The model: .onnx, or .onnxtxt in ONNX's text syntax
    pub model: PathBuf,
    #[command(flatten)]
    pub choices: Choices,
    /// Write JSON
    #[arg(long)]
    pub json: bool,
}

/// Problems with the same cause.
struct Group<'p> {
    cause: Cause,
    problems: Vec<(&'p Problem, usize)>,
}

pub fn doctor(arguments: &Doctor) -> Result<ExitCode> {
    let path = &arguments.model;
    let options = arguments.choices.options(Storage::Embed);
    let name = shown(&path.display().to_string());
    let (problems, source, warnings) = match look(path, &options) {
        Ok(found) => {
            let source = Source::of(&found.facts.producer);
            let warnings = match found.problems.is_empty() {
                true => warnings(path, &options, &found),
                false => Vec::new(),
            };
            (found.problems, source, warnings)
        }
        Err(problems) => (problems, Source::Unknown, Vec::new()),
    };
    let groups = groups(&problems, source);
    if arguments.json {
        println!("{:#}", describe(&name, &problems, &groups, &warnings));
    } else {
        anstream::print!("{}", text(&name, &groups, &warnings));
    }
    Ok(code(problems.is_empty()))
}

fn groups(problems: &Diagnostics, source: Source) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (problem, others) in problems.listed() {
        let cause = cause(problem, source);
        match groups.iter_mut().find(|group| group.cause.title == cause.title) {
            Some(group) => group.problems.push((problem, others)),
            None => groups.push(Group { cause, problems: vec![(problem, others)] }),
        }
    }
    groups
}

fn text(name: &str, groups: &[Group<'_>], warnings: &[Warning]) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    match groups.len() {
        0 => line(format!("{GOOD}{name} compiles{GOOD:#}")),
        count => line(format!("{BAD}{name} does not compile{BAD:#}: {}", style::count(count, "cause"))),
    }
    for (number, group) in (1..).zip(groups) {
        line(format!("\n{HEADING}{number}. {}{HEADING:#}", group.cause.title));
        for (problem, others) in group.problems.iter().take(MAX_LISTED_PROBLEMS) {
            let site = problem.site().map_or(String::new(), |site| match others {
                0 => format!(" at node `{}`", site.node),
                more => format!(" at node `{}` and {more} more", site.node),
            });
            line(format!("   {}{DIM}{site}{DIM:#}", problem.message().replace('\n', " ")));
        }
        if group.problems.len() > MAX_LISTED_PROBLEMS {
            line(format!("   {DIM}and {} more{DIM:#}", group.problems.len() - MAX_LISTED_PROBLEMS));
        }
        line("   help:".to_owned());
        for advice in &group.cause.advice {
            line(format!("   - {}", advice.replace('\n', "\n     ")));
        }
    }
    if !warnings.is_empty() {
        line(format!("\n{DOUBTFUL}{}{DOUBTFUL:#}", style::count(warnings.len(), "warning")));
    }
    for warning in warnings {
        line(format!("   {}", warning.fact));
        line(format!("   {DIM}help: {}{DIM:#}", warning.advice));
    }
    text
}

fn describe(name: &str, problems: &Diagnostics, groups: &[Group<'_>], warnings: &[Warning]) -> Json {
    let groups = groups.iter().map(|group| {
        let messages = group.problems.iter().map(|(problem, _)| problem.message());
        json!({
            "cause": group.cause.title,
            "problems": messages.collect::<Vec<_>>(),
            "advice": group.cause.advice,
        })
    });
    let warnings = warnings.iter().map(|warning| json!({ "fact": warning.fact, "advice": warning.advice }));
    json!({
        "model": name,
        "compiles": problems.is_empty(),
        "causes": groups.collect::<Vec<_>>(),
        "problems": listed(problems),
        "warnings": warnings.collect::<Vec<_>>(),
    })
}
