//! OPERATORS.md: supported operators, and element types of their passing cases.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use onnx_embed_ir::dtype::DType;
use onnx_embed_ir::ops::{self, Row};

use crate::Outcome;
use crate::bodies::Bodies;

/// Returns `true` if OPERATORS.md agrees with these outcomes. `BLESS=1` writes it again.
pub fn is_fresh(outcomes: &[Outcome]) -> bool {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../OPERATORS.md");
    let fresh = text(outcomes);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &fresh).expect("the checkout can be written");
    }
    std::fs::read_to_string(&path).unwrap_or_default() == fresh
}

fn text(outcomes: &[Outcome]) -> String {
    let (alone, bodies) = (alone(outcomes), Bodies::of_sources());
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
            "| operator | versions | element types | CPU | GPU | notes |\n\
             | --- | --- | --- | --- | --- | --- |\n",
        );
        for (operator, row) in operators {
            let since: Vec<String> = row.since.iter().map(i64::to_string).collect();
            let cases = alone.get(&(domain, operator));
            let cases = cases.map_or(&[][..], Vec::as_slice);
            let types: BTreeSet<DType> = cases.iter().flat_map(|case| case.types.clone()).collect();
            let types: Vec<String> = types.iter().map(DType::to_string).collect();
            let (since, types) = (since.join(", "), types.join(", "));
            let ([cpu, gpu], notes) = (bodies.cells(cases), row.notes);
            writeln!(text, "| {operator} | {since} | {types} | {cpu} | {gpu} | {notes} |").unwrap();
        }
    }
    text
}

const HEAD: &str = "# Operators

The operators that onnx-embed supports. `BLESS=1 cargo test -p onnx-embed-conformance` generates this page; do not edit it.

- *Versions* are the opsets that changed the operator. Each version is compiled with its own semantics.
- *Element types* are those of inputs and outputs in the test cases that pass, each with this operator only.
- *CPU* and *GPU* name the kernels of onnx-embed that ran in these cases. Burn computes everything else. `reads` means that the
  host computes a part of the operator, for which a call waits for values of the GPU; `may read` means that some cases do.
";

/// Returns the passing cases of each operator that contain only this operator.
fn alone(outcomes: &[Outcome]) -> BTreeMap<(&str, &str), Vec<&Outcome>> {
    let mut alone: BTreeMap<(&str, &str), Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes.iter().filter(|outcome| outcome.result.is_ok()) {
        if let [(domain, name, _)] = outcome.operators.as_slice() {
            alone.entry((domain, name)).or_default().push(outcome);
        }
    }
    alone
}
