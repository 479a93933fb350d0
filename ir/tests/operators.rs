//! The list of operators is in order.

use std::collections::BTreeSet;

use onnx_embed_ir::ops;

#[test]
fn versions_rise_and_names_are_unique() {
    let mut seen = BTreeSet::new();
    for row in ops::all() {
        assert!(row.since.is_sorted_by(|a, b| a < b), "{}", row.name);
        let fresh = seen.insert((row.domain, row.name));
        assert!(fresh, "{} stands twice", row.name);
    }
}

/// Every operator of the standard, with its versions and the most inputs and outputs of each, written by
/// `schemas.py`.
const STANDARD: &str = include_str!("../../ui-tests/conformance/schemas.txt");

#[test]
fn nodes_have_no_more_than_the_standard_says() {
    let most = |text: &str| match text {
        "*" => usize::MAX,
        number => number.parse().unwrap(),
    };
    let mut compared = 0;
    for line in STANDARD.lines() {
        let mut words = line.split(' ');
        let (domain, name) = (words.next().unwrap(), words.next().unwrap());
        let held = if domain == "ai.onnx" { "" } else { domain };
        let row = ops::all().find(|row| row.domain == held && row.name == name);
        let Some(row) = row else { continue };
        for word in words {
            let mut numbers = word.split(':');
            let version: i64 = numbers.next().unwrap().parse().unwrap();
            let expected = (most(numbers.next().unwrap()), most(numbers.next().unwrap()));
            assert_eq!(
                row.most(version),
                expected,
                "{domain}.{name} version {version}"
            );
            compared += 1;
        }
    }
    assert!(compared > 600, "{compared}");
}
