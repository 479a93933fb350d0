use super::*;
use crate::weights::{ByteRange, Encoding, Entry, File, Table, WeightSource};
use alloc::{boxed::Box, string::String, string::ToString, vec::Vec};
use burn::tensor::{Device, TensorData};

/// FNV-1a hash of no bytes.
const NOTHING: u64 = 0xcbf2_9ce4_8422_2325;

/// Returns a file of consecutive lists, and its table.
pub fn file(lists: &[(&'static str, ElementType, Vec<u8>)]) -> (Vec<u8>, &'static Table) {
    let mut bytes = Vec::new();
    let mut entry = |(name, dtype, list): &(&'static str, ElementType, Vec<u8>)| {
        let part = ByteRange { file: 0, start: bytes.len(), length: list.len(), gap: NOTHING };
        bytes.extend(list);
        let size = if *dtype == ElementType::Int64 { 8 } else { 4 };
        let (count, encoding) = match dtype {
            ElementType::String => (1, Encoding::Records),
            _ => (list.len() / size, Encoding::Raw),
        };
        Entry {
            name,
            dtype: *dtype,
            shape: Box::leak(Box::new([count])),
            parts: Box::leak(Box::new([part])),
            encoding,
        }
    };
    let entries: Vec<Entry> = lists.iter().map(&mut entry).collect();
    let file = File { name: "m.onnx", length: bytes.len(), tail: NOTHING };
    let table = Table { files: Box::leak(Box::new([file])), entries: entries.leak(), fixed: &[] };
    (bytes, Box::leak(Box::new(table)))
}

/// Loads a tree of one node with number `node` and `mode`, and a weight that belongs to node `of`.
fn load(node: i64, of: i64, mode: &str) -> Result<TreeRegressor, String> {
    let ints = |value: i64| value.to_le_bytes().to_vec();
    let text = [&[0x32, mode.len() as u8], mode.as_bytes()].concat();
    let (bytes, table) = file(&[
        ("node", ElementType::Int64, ints(node)),
        ("of", ElementType::Int64, ints(of)),
        ("zero", ElementType::Int64, ints(0)),
        ("weight", ElementType::Float32, 1.5f32.to_le_bytes().to_vec()),
        ("mode", ElementType::String, text),
    ]);
    let trees = Trees::Labeled {
        trees: "zero",
        nodes: "node",
        modes: "mode",
        features: "zero",
        values: "weight",
        yes: "zero",
        no: "zero",
        missing: None,
        weight_trees: "zero",
        weight_nodes: "of",
        weight_targets: "zero",
        weights: "weight",
    };
    let types = [ElementType::Float32; 2];
    let load = |weights: &Weights<'_>| {
        let (sum, none) = (Aggregate::Sum, Transform::None);
        TreeRegressor::load(weights, trees, types, 1, sum, none, None)
    };
    let made = table.load(WeightSource::Memory(&[&bytes]), &Device::flex(), load);
    made.map_err(|error| error.to_string())
}

#[test]
fn broken_trees_of_another_file_are_an_error() {
    let leaf = load(3, 3, "LEAF").unwrap();
    let x = Tensor::<2>::zeros([1, 1], &Device::flex());
    assert_eq!(leaf.forward(x).into_data(), TensorData::from([[1.5f32]]));
    let refused = |node, of, mode| load(node, of, mode).unwrap_err();
    assert_eq!(
        refused(3, 4, "LEAF"),
        "cannot load the model: the tree ensemble of `mode` has a weight for a node that does not exist"
    );
    assert_eq!(
        refused(3, 3, "BRANCH_LEQ"),
        "cannot load the model: the tree ensemble of `mode` has a node whose child does not exist"
    );
    assert_eq!(refused(3, 3, "LEAG"), "cannot load the model: `mode` contains the unknown mode \"LEAG\"");
}
