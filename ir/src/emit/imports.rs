//! Imports of expansions.

use std::collections::BTreeSet;

use crate::rust::{Code, CodeNode, code};

/// Names that expansions import, by path. Unused ones are omitted.
const IMPORTS: &[(&[&str], &[&str])] = &[
    (
        &[],
        &[
            "Array",
            "Bool",
            "DType",
            "Device",
            "ElementType",
            "Error",
            "Int",
            "Kept",
            "Metadata",
            "OnnxModel",
            "Parameter",
            "Port",
            "Signature",
            "Size",
            "Tensor",
            "ValueType",
            "Values",
        ],
    ),
    (
        &["__private"],
        &[
            "Activation",
            "Anchor",
            "BTreeMap",
            "Box",
            "Node",
            "Outputs",
            "String",
            "Vec",
            "attempt",
            "attempt_async",
            "bf16",
            "constant",
            "custom",
            "deterministic",
            "deterministic_async",
            "device",
            "embedded",
            "entry",
            "exit",
            "f16",
            "from_file",
            "host",
            "layers",
            "ops",
            "or_memory_limit",
            "or_memory_limit_async",
            "printed",
            "state",
            "take",
            "trace",
            "vec",
        ],
    ),
    (&["__private", "ops", "window"], &["Window"]),
    (
        &["__private", "weights"],
        &["ByteRange", "Encoding", "Entry", "File", "Fixed", "Table", "WeightSource", "Weights"],
    ),
    (&["burn", "module"], &["Module", "Param"]),
    (&["burn", "tensor"], &["activation"]),
];

/// Names that expansions and derive macros use without importing them.
const PRELUDE: &[&str] =
    &["AsRef", "Clone", "Default", "Err", "From", "Into", "None", "Ok", "Option", "Result", "Self", "Some"];

/// Returns all names with a meaning in expansions. Structs must have other names.
pub fn names<'a>() -> impl Iterator<Item = &'a str> {
    let imported = IMPORTS.iter().flat_map(|(_, names)| names.iter());
    imported.chain(PRELUDE).copied()
}

/// Returns `use` declarations for the names in the items. Burn's derive macros refer to their crate as `burn`.
pub fn of(items: &Code, runtime: &Code) -> Code {
    let mut mentioned = BTreeSet::new();
    let mut maps = false;
    items.each_part(&mut |part| match part {
        CodeNode::Word(word) => {
            mentioned.insert(*word);
        }
        CodeNode::Method("map_async", _) => maps = true,
        _ => {}
    });
    let maps = maps.then(|| code!(use #runtime::__private::MapAsync as _;));
    let used = |(module, names): &(&[&'static str], &[&'static str])| {
        let names = names.iter().filter(|used| mentioned.contains(**used));
        let names: Vec<Code> = names.map(|used| CodeNode::Word(used).into()).collect();
        let module = module.iter().map(|part| Code::from(CodeNode::Member(part)));
        let module: Code = module.map(|part| code!(#part::)).collect();
        match (names.as_slice(), module.is_empty()) {
            ([], _) => Code::default(),
            ([one], false) => code!(use #runtime::#module #one;),
            (_, false) => code!(use #runtime::#module{#(#names),*};),
            (_, true) => code!(use #runtime::{burn, #(#names),*};),
        }
    };
    let used: Code = IMPORTS.iter().map(used).collect();
    code!(#used #maps)
}
