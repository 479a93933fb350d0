//! What expansions import.

use std::collections::BTreeSet;

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::name;

/// Names that expansions import, by where from; only those in use are.
const IMPORTS: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "Array",
            "Bool",
            "DType",
            "Device",
            "ElementType",
            "Error",
            "Int",
            "Kind",
            "OnnxModel",
            "Parameter",
            "Port",
            "Signature",
            "Size",
            "Tensor",
            "Values",
        ],
    ),
    (
        "__private",
        &[
            "Anchor", "BTreeMap", "Node", "attempt", "bf16", "constant", "device", "entry", "exit",
            "f16", "host", "layers", "ops", "put", "take",
        ],
    ),
    ("__private::ops::window", &["Window"]),
    (
        "__private::weights",
        &[
            "Encoding", "Entry", "File", "Fixed", "Part", "Table", "Weights",
        ],
    ),
    ("burn::module", &["Module", "Param"]),
    ("burn::tensor", &["activation"]),
];

/// What expansions and derive macros name without importing it.
const PRELUDE: &[&str] = &[
    "AsRef", "Box", "Clone", "Default", "Err", "From", "Into", "None", "Ok", "Option", "Result",
    "Self", "Some", "String", "Vec",
];

/// Every name with a meaning in expansions, which no struct may have.
pub fn names<'a>() -> impl Iterator<Item = &'a str> {
    let imported = IMPORTS.iter().flat_map(|(_, names)| names.iter());
    imported.chain(PRELUDE).copied()
}

/// `use` of what the items mention; `burn` is what its derive macros call their crate.
pub fn of(items: &TokenStream, runtime: &TokenStream) -> TokenStream {
    let mut mentioned = BTreeSet::new();
    name::identifiers(items, &mut mentioned);
    let used = |(module, names): &(&str, &[&str])| {
        let names = names.iter().filter(|used| mentioned.contains(**used));
        let names: Vec<Ident> = names.map(|used| format_ident!("{used}")).collect();
        let module = module.parse::<TokenStream>().unwrap_or_default();
        match (names.as_slice(), module.is_empty()) {
            ([], _) => TokenStream::new(),
            ([one], false) => quote!(use #runtime::#module::#one;),
            (_, false) => quote!(use #runtime::#module::{#(#names),*};),
            (_, true) => quote!(use #runtime::{burn, #(#names),*};),
        }
    };
    IMPORTS.iter().map(used).collect()
}
