//! The operators, grouped in rooms and families.
//!
//! A room is a folder and a family is a file in it. `kernels` and the layers of the runtime have the same rooms with
//! the same names.

pub mod arity;
pub mod attention;
mod axes;
mod broadcast;
pub mod classical;
pub mod control;
pub mod convolution;
pub mod create;
pub mod custom;
mod declaration;
pub mod elementwise;
pub mod image;
pub mod index;
pub mod normalize;
pub mod pool;
pub mod product;
pub mod quantize;
pub mod random;
pub mod recurrent;
pub mod reduce;
pub mod sequence;
pub mod shape;
pub mod signal;
mod sizes;
pub mod text;
pub mod train;

use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use declaration::families;

pub use crate::operator::Operator;
pub use arity::{Arity, Signs};
pub use declaration::{Facts, MICROSOFT, ML, PREVIEW, Read, Row, TRAINING, Width, kind, row};
pub use elementwise::arithmetic::fold;
pub use sequence::construct;
pub use train::gradient::{DERIVATIVES, Named, WRITTEN};

/// The rooms and their families.
const ROOMS: &[(&str, &[&[Row]])] = &[
    ("attention", attention::FAMILIES),
    ("classical", classical::FAMILIES),
    ("control", control::FAMILIES),
    ("convolution", convolution::FAMILIES),
    ("create", create::FAMILIES),
    ("elementwise", elementwise::FAMILIES),
    ("image", image::FAMILIES),
    ("index", index::FAMILIES),
    ("normalize", normalize::FAMILIES),
    ("pool", pool::FAMILIES),
    ("product", product::FAMILIES),
    ("quantize", quantize::FAMILIES),
    ("random", random::FAMILIES),
    ("recurrent", recurrent::FAMILIES),
    ("reduce", reduce::FAMILIES),
    ("sequence", sequence::FAMILIES),
    ("shape", shape::FAMILIES),
    ("signal", signal::FAMILIES),
    ("text", text::FAMILIES),
    ("train", train::FAMILIES),
];

/// Returns all operators in the order of rooms and families.
pub fn all() -> impl Iterator<Item = &'static Row> {
    rooms().map(|(_, row)| row)
}

/// Returns all operators with the names of their rooms.
pub fn rooms() -> impl Iterator<Item = (&'static str, &'static Row)> {
    ROOMS.iter().flat_map(|(name, families)| {
        let rows = families.iter().copied().flatten();
        rows.map(move |row| (*name, row))
    })
}

/// Rows by domain and by name in lower case.
static ROWS: LazyLock<HashMap<&str, HashMap<String, Vec<&'static Row>>>> = LazyLock::new(|| {
    let mut domains: HashMap<&str, HashMap<String, Vec<&Row>>> = HashMap::new();
    for row in all().chain(train::gradient::WRITTEN) {
        let rows = domains.entry(row.domain).or_default();
        rows.entry(row.name.to_lowercase()).or_default().push(row);
    }
    domains
});

fn rows(domain: &str, name: &str) -> &'static [&'static Row] {
    let rows = ROWS.get(domain);
    let found = rows.and_then(|rows| rows.get(&name.to_lowercase()));
    found.map(Vec::as_slice).unwrap_or_default()
}

/// Properties of the operators that files or rules contain.
static FACTS: LazyLock<BTreeMap<String, Facts>> = LazyLock::new(|| {
    let rows = all().chain(product::matmul::WRITTEN);
    let written = [
        (attention::joined::KIND, attention::joined::FACTS),
        (normalize::channels::KIND, normalize::channels::FACTS),
    ];
    let written = written.map(|(kind, facts)| (kind.to_owned(), facts));
    rows.map(|row| (row.kind(), row.facts)).chain(written).collect()
});

/// Returns the properties of an operator type, which rules and passes may rely on.
pub fn facts(kind: &str) -> Facts {
    FACTS.get(kind).copied().unwrap_or_default()
}

/// Returns the operators of a class, as rules name it: those with one of the [`Facts`].
pub fn class(name: &str) -> Option<Vec<&'static str>> {
    let belongs: fn(&Facts) -> bool = match name {
        "activation" => |facts| facts.activation,
        _ => return None,
    };
    let members = FACTS.iter().filter(|(_, facts)| belongs(facts));
    Some(members.map(|(kind, _)| kind.as_str()).collect())
}

/// Returns the operator called `name` in `domain`, and the version that `opset` selects.
pub fn find(domain: &str, name: &str, opset: i64) -> Option<(&'static Row, Option<i64>)> {
    let row = rows(domain, name).iter().find(|row| row.name == name)?;
    let version = row.since.iter().copied().filter(|&since| since <= opset);
    Some((row, version.max()))
}

/// Returns the correct spelling of an operator's name, compared without case.
pub fn spelling(domain: &str, name: &str) -> Option<&'static str> {
    rows(domain, name).first().map(|row| row.name)
}
