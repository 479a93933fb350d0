//! Rust source that tests read.

use syn::Attribute;

/// Returns `true` for attributes of an item that is compiled for tests only.
pub fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let list = attribute.meta.require_list().ok().filter(|list| list.path.is_ident("cfg"));
        list.is_some_and(|list| {
            list.tokens.to_string().split(|c: char| !c.is_alphabetic()).any(|word| word == "test")
        })
    })
}
