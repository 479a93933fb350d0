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
