//! Builds programs that run models.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use anyhow::Result;
use indicatif::ProgressBar;
use onnx_embed_ir::diagnostics::{Diagnostics, Topic};
use onnx_embed_ir::emit::Item;
use onnx_embed_ir::options::Options;

use crate::build::{BuildRequest, Built, build};
use crate::cost::Cost;
use crate::models::Model;
use crate::parallel;
use crate::scratch::Scratch;
use crate::style::count;

/// Reason why a model has no program.
#[derive(Clone, Debug, PartialEq)]
pub enum Obstacle {
    /// Problems that the compiler reported.
    Unsupported(String),
    /// The compiler panicked, or rustc refused the expansion.
    Broken(String),
}

/// A model with its program.
#[derive(Clone, Debug, PartialEq)]
pub struct Ready<'m> {
    pub model: &'m Model,
    pub program: PathBuf,
    /// Number of nodes in the graph after simplification, including nested blocks.
    pub nodes: usize,
    /// Cost of compiling its crate, if recorded.
    pub cost: Option<Cost>,
    pub warnings: usize,
}

/// Builds programs for the models. Reports a model without a program as soon as this is known.
pub fn prepare<'m>(
    scratch: &Scratch,
    models: &'m [Model],
    release: bool,
    bar: &ProgressBar,
    mut report: impl FnMut(&'m Model, Obstacle),
) -> Result<Vec<Ready<'m>>> {
    let mut compiled: Vec<&Model> = Vec::new();
    let mut nodes = BTreeMap::new();
    say(bar, &format!("compiling {}", count(models.len(), "model")));
    panics_are_kept();
    let cores = parallel::cores();
    let compile = |model: &Model| compile(model, &scratch.options);
    parallel::each(models, cores, compile, |model, counted| match counted {
        Ok(count) => {
            compiled.push(model);
            nodes.insert(&model.path, count);
        }
        Err(obstacle) => report(model, obstacle),
    });
    let _ = std::panic::take_hook();
    compiled.sort_by(|a, b| a.path.cmp(&b.path));
    if compiled.is_empty() {
        return Ok(Vec::new());
    }
    scratch.write_libraries(&compiled)?;
    let packages: Vec<String> = compiled.iter().map(|model| model.package()).collect();
    bar.set_length(packages.len() as u64);
    say(bar, &format!("building {}", count(packages.len(), "crate")));
    let costs = scratch.costs(release);
    let plan = BuildRequest { root: scratch.root(), target: &scratch.target, costs: Some(&costs), release };
    let mut libraries = build(&plan, &packages, bar)?;
    let mut linked: Vec<&Model> = Vec::new();
    for model in compiled {
        match libraries.errors.remove(&model.package()) {
            None => linked.push(model),
            Some(errors) => {
                std::fs::write(scratch.messages(model), &errors)?;
                report(model, Obstacle::Broken(refused(&errors, &scratch.messages(model))));
            }
        }
    }
    let programs = scratch.write_programs(&linked)?;
    let packages: Vec<String> = programs.iter().map(|program| program.0.clone()).collect();
    bar.reset();
    bar.set_length(packages.len() as u64);
    say(bar, &format!("linking {}", count(packages.len(), "program")));
    let mut built = if packages.is_empty() { Built::default() } else { build(&plan, &packages, bar)? };
    let mut ready = Vec::new();
    for (package, models) in programs {
        let program = built.programs.remove(&package);
        let errors = built.errors.remove(&package).unwrap_or_default();
        for model in models {
            match &program {
                Some(program) => ready.push(Ready {
                    model,
                    program: program.clone(),
                    nodes: nodes.get(&model.path).copied().unwrap_or_default(),
                    cost: Cost::of(&costs, &model.package()),
                    warnings: libraries.warnings.get(&model.package()).copied().unwrap_or(0),
                }),
                None => {
                    std::fs::write(scratch.messages(model), &errors)?;
                    report(model, Obstacle::Broken(refused(&errors, &scratch.messages(model))));
                }
            }
        }
    }
    Ok(ready)
}

/// Shows the current step in the bar or, if there is no terminal for it, on standard error.
pub fn say(bar: &ProgressBar, text: &str) {
    if bar.is_hidden() { eprintln!("{text}") } else { bar.set_message(text.to_owned()) }
}

/// Runs the compiler without rustc. Returns the number of nodes after simplification.
fn compile(model: &Model, options: &Options) -> Result<usize, Obstacle> {
    let item = Item::model(&model.name);
    let compile = || {
        let model = onnx_embed_ir::load(&model.path, options)?;
        let nodes = model.graph.body.nodes_within();
        onnx_embed_ir::code(model, &item, options).map(|_| nodes)
    };
    // The closure only reads the values that it borrows, so a panic leaves them valid.
    match catch_unwind(AssertUnwindSafe(compile)) {
        Ok(Ok(nodes)) => Ok(nodes),
        Ok(Err(problems)) => Err(Obstacle::Unsupported(summary(&problems))),
        Err(_) => {
            let panic = PANIC.with_borrow(Clone::clone);
            Err(Obstacle::Broken(format!("the compiler panicked: {panic}")))
        }
    }
}

thread_local! {
    /// Message of the last panic of this thread.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

fn panics_are_kept() {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string().replace('\n', " ");
        PANIC.with_borrow_mut(|message| *message = text);
    }));
}

/// Describes the problems in one line, with all unsupported operators together.
fn summary(problems: &Diagnostics) -> String {
    let (mut operators, mut others) = (Vec::new(), Vec::new());
    for (problem, _) in problems.listed() {
        match problem.topic() {
            Topic::Operator(operator) if !operators.contains(operator) => operators.push(operator.clone()),
            Topic::Operator(_) => {}
            _ => others.push(problem.message().replace('\n', " ")),
        }
    }
    match operators.as_slice() {
        [] => {}
        [only] => others.insert(0, format!("operator `{only}` is not supported")),
        all => others.insert(0, format!("operators `{}` are not supported", all.join("`, `"))),
    }
    others.join("; ")
}

/// Describes the first error of rustc, with the number of errors and the file that contains them.
fn refused(errors: &str, file: &Path) -> String {
    let headlines = errors.lines().filter(|line| line.starts_with("error"));
    let headlines: Vec<&str> = headlines.collect();
    let first = headlines.first().copied().or(errors.lines().next());
    let first = first.unwrap_or_default();
    format!(
        "rustc: {first}{} ({} in {})",
        linker(first, errors).unwrap_or_default(),
        count(headlines.len(), "error"),
        file.display()
    )
}

/// Returns the message of the linker, which is far below the headline of rustc.
fn linker(headline: &str, errors: &str) -> Option<String> {
    if !headline.starts_with("error: linking") {
        return None;
    }
    let is_linker = |line: &&str| line.contains("ld: ") || line.contains("collect2: ");
    let line = errors.lines().find(is_linker)?;
    Some(format!(": {}", line.trim_start_matches([' ', '=']).trim_start_matches("note: ")))
}

#[cfg(test)]
mod tests {
    use onnx_embed_ir::diagnostics::Problem;

    use super::*;

    #[test]
    fn unsupported_operators_are_listed_together() {
        let mut problems = Diagnostics::default();
        for operator in ["Foo", "acme.Bar", "Foo"] {
            let problem = Problem::new(format!("operator `{operator}` is not supported"));
            problems.push(problem.about(Topic::Operator(operator.to_owned())));
        }
        problems.push(Problem::new("input `x` has no rank"));
        assert_eq!(
            summary(&problems),
            "operators `Foo`, `acme.Bar` are not supported; input `x` has no rank"
        );
    }

    #[test]
    fn errors_of_rustc_are_counted() {
        let errors = "error[E0308]: mismatched types\n --> src\nerror: aborting\n";
        let summary = refused(errors, Path::new("/m.txt"));
        assert_eq!(summary, "rustc: error[E0308]: mismatched types (2 errors in /m.txt)");
    }

    #[test]
    fn the_linker_says_why_it_failed() {
        let errors = "error: linking with `cc` failed: exit status: 1\n  |\n  = note:  \"cc\" \"-m64\"\n  \
             = note: /usr/bin/ld: final link failed: No space left on device\n          \
             collect2: error: ld returned 1 exit status\n";
        assert_eq!(
            refused(errors, Path::new("/m.txt")),
            "rustc: error: linking with `cc` failed: exit status: 1: /usr/bin/ld: final link failed: \
             No space left on device (1 error in /m.txt)"
        );
    }
}
