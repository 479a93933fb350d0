//! OPERATORS.md says what the compiler supports.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use onnx_embed_ir::ops;

#[test]
fn operators_md_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../OPERATORS.md");
    let fresh = table();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    let held = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        held == fresh,
        "OPERATORS.md is stale; write it anew with `BLESS=1 cargo test -p onnx-embed-ir`"
    );
}

#[test]
fn versions_rise_and_names_are_unique() {
    let mut seen = BTreeSet::new();
    for row in ops::all() {
        assert!(row.since.is_sorted_by(|a, b| a < b), "{}", row.name);
        let fresh = seen.insert((row.domain, row.name));
        assert!(fresh, "{} stands twice", row.name);
    }
}

fn table() -> String {
    let mut domains: BTreeMap<&str, BTreeMap<&str, &[i64]>> = BTreeMap::new();
    for row in ops::all() {
        let operators = domains.entry(row.domain).or_default();
        operators.insert(row.name, row.since);
    }
    let mut text = String::from(
        "# Operators\n\nWritten by `BLESS=1 cargo test -p onnx-embed-ir`; do not edit.\n\n\
         Versions are the opsets that changed the operator; each is read by its own rules.\n",
    );
    for (domain, operators) in domains {
        let name = if domain.is_empty() { "ai.onnx" } else { domain };
        let count = operators.len();
        write!(text, "\n## {name}\n\n{count} operators.\n\n").unwrap();
        text.push_str("| operator | versions |\n| --- | --- |\n");
        for (operator, since) in operators {
            let since: Vec<String> = since.iter().map(i64::to_string).collect();
            writeln!(text, "| {operator} | {} |", since.join(", ")).unwrap();
        }
    }
    text
}
