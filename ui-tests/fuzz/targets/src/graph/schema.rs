//! What a node may have, by the tables of the conformance tests.

use std::sync::LazyLock;

/// One version of an operator.
pub struct Schema {
    pub domain: &'static str,
    pub name: &'static str,
    pub version: i64,
    /// A sign for each input, as in `onnx_embed_ir::ops::arity`.
    pub inputs: &'static str,
    pub outputs: &'static str,
    pub attributes: Vec<Declared>,
}

/// An attribute that a schema declares.
pub struct Declared {
    pub name: &'static str,
    pub kind: &'static str,
    pub is_required: bool,
}

const TABLES: [&str; 2] = [
    include_str!("../../../../conformance/schemas.txt"),
    include_str!("../../../../conformance/schemas_microsoft.txt"),
];

/// The versions that were not removed, of operators that the compiler knows.
pub static SCHEMAS: LazyLock<Vec<Schema>> = LazyLock::new(|| {
    let lines = TABLES.iter().flat_map(|table| table.lines());
    lines.filter_map(schema).collect()
});

fn schema(line: &'static str) -> Option<Schema> {
    let mut words = line.split(' ');
    let domain = words.next()?;
    let domain = if domain == "ai.onnx" { "" } else { domain };
    let (name, version) = (words.next()?, words.next()?.parse().ok()?);
    onnx_embed_ir::ops::find(domain, name, version)?;
    let mut signs = || words.next().map(|signs| if signs == "-" { "" } else { signs });
    let (inputs, outputs) = (signs()?, signs()?);
    let attributes = words.filter_map(|word| {
        let (name, kind) = word.split_once(':')?;
        let is_required = kind.ends_with('!');
        Some(Declared { name, kind: kind.trim_end_matches('!'), is_required })
    });
    Some(Schema { domain, name, version, inputs, outputs, attributes: attributes.collect() })
}
