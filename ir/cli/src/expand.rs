//! `expand`: the Rust code or the graph of a model.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::{BufWriter, Write as _};
use std::process::ExitCode;

use anyhow::{Context, Result};
use onnx_embed_ir::diagnostics::plain;
use onnx_embed_ir::emit::Item;
use onnx_embed_ir::model::display_name;
use onnx_embed_ir::passes::rewrite::{Event, Report};
use onnx_embed_ir::print;
use quote::quote;

use crate::args::Expand;
use crate::style;

/// So many places of one rule are named.
const NAMED: usize = 3;

/// The most parts of code that the formatter sees: with the parser it takes 300 bytes for each.
const MOST_FORMATTED: usize = 120_000;

pub fn expand(arguments: &Expand) -> Result<ExitCode> {
    let options = arguments.choices.options(arguments.weights);
    let path = &arguments.model;
    let mut passes = String::new();
    let model = onnx_embed_ir::load_observed(path, &options, &mut |step| {
        if arguments.passes {
            let _ = writeln!(passes, "# {}\n{}", step.name, print::graph(step.graph));
            let _ = writeln!(passes, "{}", step.rules.map(rules).unwrap_or_default());
        }
    });
    anstream::print!("{}", plain(&passes));
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
        anstream::print!("{}", plain(&print::graph(&model.graph)));
        return Ok(ExitCode::SUCCESS);
    }
    let name = syn::parse_str(&arguments.name);
    let item = Item {
        attributes: quote!(),
        visibility: quote!(pub),
        name: name.with_context(|| format!("`{}` is no name of a type", arguments.name))?,
        runtime: quote!(::onnx_embed),
        file: display_name(path),
        functions: Default::default(),
    };
    let code = match onnx_embed_ir::tree(&model, &item, &options) {
        Ok(code) => code,
        Err(found) => return problems(found),
    };
    drop(model);
    if code.len() > MOST_FORMATTED {
        let mut out = BufWriter::new(std::io::stdout().lock());
        code.write_lines(&mut out)?;
        out.flush()?;
    } else {
        let file = syn::parse2(code.into_tokens()).context("the expansion is not Rust")?;
        anstream::print!("{}", prettyplease::unparse(&file));
    }
    Ok(ExitCode::SUCCESS)
}

/// What each rule did, and where it nearly did something.
fn rules(report: &Report) -> String {
    let mut text = String::new();
    let mut table = |events: &[Event], sign: &str| {
        let mut kinds: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for event in events {
            let places = kinds.entry((event.rule, event.reason)).or_default();
            places.push(&event.value);
        }
        for ((rule, reason), places) in kinds {
            let more = if places.len() > NAMED { ", .." } else { "" };
            let named = places.get(..NAMED).unwrap_or(&places).join(", ");
            let reason = if reason.is_empty() { "" } else { ": " }.to_owned() + reason;
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{sign} {rule}{reason}, {} at {named}{more}",
                places.len()
            );
        }
    };
    table(&report.applied, "+");
    table(&report.missed, "-");
    text
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn places_of_a_rule_stand_together() {
        let event = |rule, value: &str, reason| Event {
            rule,
            value: value.to_owned(),
            reason,
        };
        let applied = ["a", "b", "c", "d"].map(|value| event("silu", value, ""));
        let report = Report {
            applied: applied.to_vec(),
            missed: vec![event("layer norm", "y", "reduced axes vanish")],
        };
        expect![[r#"
            + silu, 4 at a, b, c, ..
            - layer norm: reduced axes vanish, 1 at y
        "#]]
        .assert_eq(&rules(&report));
    }
}
