//! Checks that the diffs in CONTRIBUTING.md match the tree.

use std::fs;
use std::path::Path;

const CONTRIBUTING: &str = include_str!("../../CONTRIBUTING.md");

/// A part of a diff: the file, and consecutive lines in it.
struct Hunk<'t> {
    file: &'t str,
    lines: Vec<&'t str>,
    adds: bool,
}

/// Returns the hunks of all diffs in a document. Removed lines are in no file.
fn hunks(document: &str) -> Vec<Hunk<'_>> {
    let mut hunks: Vec<Hunk<'_>> = Vec::new();
    let (mut file, mut inside) = ("", false);
    for line in document.lines() {
        match line {
            "```diff" => inside = true,
            "```" => inside = false,
            _ if !inside || line.starts_with("--- ") => {}
            _ if line.starts_with("+++ b/") => file = &line[6..],
            _ if line.starts_with("@@") => hunks.push(Hunk { file, lines: Vec::new(), adds: false }),
            _ => {
                let hunk = hunks.last_mut().expect("a diff begins with a file and a hunk");
                if let Some(added) = line.strip_prefix('+') {
                    hunk.lines.push(added);
                    hunk.adds = true;
                } else if let Some(context) = line.strip_prefix(' ') {
                    hunk.lines.push(context);
                } else {
                    assert!(line.is_empty(), "no line of a diff: {line}");
                    hunk.lines.push("");
                }
            }
        }
    }
    hunks
}

#[test]
fn every_diff_is_in_the_tree() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let hunks = hunks(CONTRIBUTING);
    assert!(hunks.len() >= 10, "{} hunks were found", hunks.len());
    for Hunk { file, lines, adds } in hunks {
        assert!(adds, "a hunk of {file} adds nothing");
        let text = fs::read_to_string(root.join(file)).unwrap_or_default();
        let all: Vec<&str> = text.lines().collect();
        let found = all.windows(lines.len()).any(|part| part == lines);
        assert!(found, "{file} does not have\n{}", lines.join("\n"));
    }
}
