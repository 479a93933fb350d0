//! The signatures of all versions of the operators, which `ui-tests/conformance/operand_types.py` writes.

use std::sync::{LazyLock, OnceLock};

use super::signature::Signature;

const TEXT: &str = include_str!("types.txt");

/// One line of the table. Signatures are parsed when a model uses them.
struct Line {
    kind: &'static str,
    version: i64,
    operands: &'static str,
    signature: OnceLock<Signature>,
}

/// Lines in the order of kinds and versions.
static LINES: LazyLock<Vec<Line>> = LazyLock::new(|| TEXT.lines().filter_map(line).collect());

fn line(text: &'static str) -> Option<Line> {
    let (kind, rest) = text.split_once(' ')?;
    let (version, operands) = rest.split_once(' ')?;
    Some(Line { kind, version: version.parse().ok()?, operands, signature: OnceLock::new() })
}

/// Returns the signatures of an operator at a version and at later ones, none for operators of other domains.
pub fn since(kind: &str, version: i64) -> impl Iterator<Item = &'static Signature> {
    let next = LINES.partition_point(|line| (line.kind, line.version) <= (kind, version));
    let lines = LINES.iter().skip(next.saturating_sub(1)).take_while(move |line| line.kind == kind);
    lines.map(|line| line.signature.get_or_init(|| Signature::parse(line.operands)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_sorted() {
        assert!(LINES.len() > 550);
        assert_eq!(LINES.len(), TEXT.lines().count());
        assert!(LINES.is_sorted_by(|a, b| (a.kind, a.version) < (b.kind, b.version)));
    }
}
