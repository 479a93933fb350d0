//! Every rule has a proof of its current texts, or the reason why it has none.

use std::collections::BTreeMap;
use std::path::Path;

#[test]
fn every_rule_is_proved_as_it_is() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("results.tsv");
    let text = std::fs::read_to_string(&path).unwrap();
    let rows = text.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>());
    let mut proved: BTreeMap<&str, &str> = BTreeMap::new();
    for row in rows {
        let [name, hash, proof, ..] = row[..] else {
            panic!("a row of results.tsv is incomplete: {row:?}");
        };
        assert!(!proof.is_empty(), "`{name}` has no proof in results.tsv");
        assert!(proved.insert(name, hash).is_none(), "`{name}` is in results.tsv twice");
    }
    let records = onnx_embed_proofs::records();
    let names: Vec<&str> = records.iter().map(|record| record.name).collect();
    let changed: Vec<&str> = records
        .iter()
        .filter(|record| proved.get(record.name) != Some(&record.hash().as_str()))
        .map(|record| record.name)
        .collect();
    assert!(
        changed.is_empty(),
        "these rules are new, or have changed since they were proved: {changed:?}\n\
         prove them with `python ui-tests/proofs/prove.py`, which needs `pip install z3-solver numpy`",
    );
    let gone: Vec<&&str> = proved.keys().filter(|name| !names.contains(name)).collect();
    assert!(gone.is_empty(), "results.tsv has rules that no longer exist: {gone:?}");
}
