//! OPERATORS.md: what is supported, and with which element types a case has shown it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use onnx_embed_ir::dtype::DType;
use onnx_embed_ir::ops::{self, Row};

use crate::Outcome;

/// Whether OPERATORS.md says what these outcomes say; `BLESS=1` writes it anew.
pub fn is_fresh(outcomes: &[Outcome]) -> bool {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../OPERATORS.md");
    let fresh = text(outcomes);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &fresh).expect("the checkout can be written");
    }
    std::fs::read_to_string(&path).unwrap_or_default() == fresh
}

fn text(outcomes: &[Outcome]) -> String {
    let seen = seen(outcomes);
    let mut domains: BTreeMap<&str, BTreeMap<&str, &Row>> = BTreeMap::new();
    for row in ops::all() {
        domains.entry(row.domain).or_default().insert(row.name, row);
    }
    let mut text = String::from(HEAD);
    for (domain, operators) in domains {
        let name = if domain.is_empty() { "ai.onnx" } else { domain };
        let count = operators.len();
        write!(text, "\n## {name}\n\n{count} operators.\n\n").unwrap();
        text.push_str(
            "| operator | versions | element types | notes |\n| --- | --- | --- | --- |\n",
        );
        for (operator, row) in operators {
            let since: Vec<String> = row.since.iter().map(i64::to_string).collect();
            let types = seen.get(&(domain, operator)).cloned().unwrap_or_default();
            let types: Vec<String> = types.iter().map(DType::to_string).collect();
            let (since, types) = (since.join(", "), types.join(", "));
            writeln!(text, "| {operator} | {since} | {types} | {} |", row.notes).unwrap();
        }
    }
    text
}

const HEAD: &str = "# Operators

Written by `BLESS=1 cargo test -p onnx-embed-conformance`; do not edit.

Versions are the opsets that changed the operator; each is read by its own rules. Element types are
those of the inputs and outputs of cases that pass, one operator each.
";

/// The element types around each operator that stands alone in a model.
fn seen(outcomes: &[Outcome]) -> BTreeMap<(&str, &str), BTreeSet<DType>> {
    let mut seen: BTreeMap<(&str, &str), BTreeSet<DType>> = BTreeMap::new();
    for outcome in outcomes.iter().filter(|outcome| outcome.result.is_ok()) {
        if let [(domain, name, _)] = outcome.operators.as_slice() {
            let types = seen.entry((domain, name)).or_default();
            types.extend(&outcome.types);
        }
    }
    seen
}
