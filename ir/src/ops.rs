//! Operators: rooms of families, one family a file. `kernels` and the layers of the runtime have the
//! same rooms with the same names.

pub mod arity;
pub mod attention;
mod axes;
mod broadcast;
pub mod classical;
pub mod control;
pub mod convolution;
pub mod create;
pub mod custom;
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

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::LazyLock;

use crate::attributes::Attributes;
use crate::diagnostics::Problem;
pub use arity::{Arity, Signs};

/// One operator of a family.
#[derive(Debug)]
pub struct Row {
    pub domain: &'static str,
    pub name: &'static str,
    /// The opset versions that changed the operator.
    pub since: &'static [i64],
    pub read: Read,
    /// Inputs and outputs of the newest version.
    arity: Arity,
    /// Inputs and outputs before a version; the versions ascend.
    before: &'static [(i64, Signs, Signs)],
    /// Version in which the operator was removed from the standard, and the operator that replaces it.
    pub removed: Option<(i64, &'static str)>,
    /// Attributes that later versions brought, with the first of these versions.
    newer: &'static [(&'static str, i64)],
    pub facts: Facts,
    /// What OPERATORS.md says beside it.
    pub notes: &'static str,
}

/// What rules and passes may rely on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Each element of the result depends on those at the same place of the inputs alone, which broadcast as
    /// of version 7.
    pub elementwise: bool,
    /// The order of two inputs does not matter.
    pub commutative: bool,
    /// Results are neither negative nor -0.
    pub nonnegative: bool,
    /// A constructor may compute it when the model is loaded.
    pub hoisted: bool,
    /// Results are the elements of an input in other steps, which Burn does not copy.
    pub view: bool,
    /// In what it computes where a model is to compute in 16 bits.
    pub width: Width,
    /// The range of inputs whose types do not depend on those of the others: the first, and the one after the last.
    pub independent: (usize, usize),
}

/// In what an operator computes floats where a model is to compute in 16 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    /// In single precision: it sums, grows without bound, counts or compares.
    #[default]
    Single,
    /// In single precision, as does what its operand is computed by: of an angle, of what is near zero,
    /// errors count that are small beside what it was computed from.
    Exact,
    /// In 16 bits where an operand is of 16 bits; sums, if any, are of single precision.
    Operands,
    /// In 16 bits, with sums of single precision.
    Half,
}

impl Facts {
    /// Of which nothing may be relied on.
    pub const NONE: Facts = Facts {
        elementwise: false,
        commutative: false,
        nonnegative: false,
        hoisted: false,
        view: false,
        width: Width::Single,
        independent: (0, 0),
    };
}

/// Operators of this and later versions do not compute in place.
const OUT_OF_PLACE: i64 = 6;

/// Reads the attributes of one version into the operator.
pub type Read = fn(&Attributes<'_>) -> Result<Rc<dyn Operator>, Problem>;

/// An operator of the domain `ai.onnx`.
pub const fn row(name: &'static str, since: &'static [i64], read: Read) -> Row {
    Row {
        domain: "",
        name,
        since,
        read,
        arity: Arity { inputs: "r", outputs: "r" },
        before: &[],
        removed: None,
        newer: &[],
        facts: Facts::NONE,
        notes: "",
    }
}

/// The domains beside `ai.onnx`, which is the empty one.
pub const ML: &str = "ai.onnx.ml";
pub const MICROSOFT: &str = "com.microsoft";
pub const PREVIEW: &str = "ai.onnx.preview";
pub const TRAINING: &str = "ai.onnx.preview.training";

impl Row {
    /// The same operator in another domain.
    pub const fn of(self, domain: &'static str) -> Row {
        Row { domain, ..self }
    }

    /// Sets the inputs and outputs of the newest version, if they are not one required of each.
    pub const fn arity(self, inputs: Signs, outputs: Signs) -> Row {
        let arity = Arity { inputs, outputs };
        Row { arity, ..self }
    }

    /// Sets the inputs and outputs of the versions before some version.
    pub const fn before(self, before: &'static [(i64, Signs, Signs)]) -> Row {
        Row { before, ..self }
    }

    /// Sets the version that removed the operator from the standard, and the operator to use instead.
    pub const fn removed(self, version: i64, instead: &'static str) -> Row {
        let removed = Some((version, instead));
        Row { removed, ..self }
    }

    /// Sets attributes that `read` reads for any version, with the versions that brought them.
    pub const fn newer(self, newer: &'static [(&'static str, i64)]) -> Row {
        Row { newer, ..self }
    }

    /// Checks that this version has an attribute, as far as `read` does not check it.
    pub fn has_attribute(&self, name: &str, version: i64) -> Result<(), Problem> {
        let mut newer = self.newer.iter();
        let since = newer.find(|(newer, since)| *newer == name && version < *since);
        let message = match since {
            Some((_, since)) => {
                format!("attribute `{name}` exists since version {since} of the operator")
            }
            None if name == "consumed_inputs" && version >= OUT_OF_PLACE => {
                format!("attribute `{name}` exists before version {OUT_OF_PLACE} of the operator")
            }
            None => return Ok(()),
        };
        let help = "export the model for the opset that has it, or remove the attribute";
        Err(Problem::new(message).help(help))
    }

    /// Returns the inputs and outputs of this version.
    pub fn arity_at(&self, version: i64) -> Arity {
        let mut before = self.before.iter();
        let found = before.find(|(next, ..)| version < *next);
        found.map_or(self.arity, |&(_, inputs, outputs)| Arity { inputs, outputs })
    }

    /// With results of each element alone, which a constructor may compute too.
    pub const fn elementwise(mut self) -> Row {
        self.facts.elementwise = true;
        self.hoisted()
    }

    pub const fn commutative(mut self) -> Row {
        self.facts.commutative = true;
        self
    }

    pub const fn nonnegative(mut self) -> Row {
        self.facts.nonnegative = true;
        self
    }

    pub const fn hoisted(mut self) -> Row {
        self.facts.hoisted = true;
        self
    }

    const fn view(mut self) -> Row {
        self.facts.view = true;
        self
    }

    /// Which computes in 16 bits where an operand is of 16 bits.
    pub const fn follows(mut self) -> Row {
        self.facts.width = Width::Operands;
        self
    }

    /// Which computes in 16 bits, with sums of single precision.
    pub const fn half(mut self) -> Row {
        self.facts.width = Width::Half;
        self
    }

    /// Whose operand is computed in single precision too.
    pub const fn exact(mut self) -> Row {
        self.facts.width = Width::Exact;
        self
    }

    /// With a range of inputs whose types do not depend on those of the others.
    pub const fn independent(mut self, first: usize, end: usize) -> Row {
        self.facts.independent = (first, end);
        self
    }

    /// The operator as nodes name it: `Conv`, or `com.microsoft.FusedConv`.
    pub fn kind(&self) -> String {
        kind(self.domain, self.name)
    }

    /// With something to say in OPERATORS.md.
    pub const fn noted(self, notes: &'static str) -> Row {
        Row { notes, ..self }
    }
}

/// Lists the families of a room, each a file with its `ROWS`, which may be of several domains.
macro_rules! families {
    ($($family:ident),*) => {
        pub const FAMILIES: &[&[crate::ops::Row]] = &[$($family::ROWS,)*];
    };
}
use families;

pub use crate::operator::Operator;
pub use elementwise::arithmetic::fold;
pub use sequence::construct;
pub use train::gradient::{DERIVATIVES, Named, WRITTEN};

/// The rooms by name.
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

/// Every operator, room by room, family by family.
pub fn all() -> impl Iterator<Item = &'static Row> {
    rooms().map(|(_, row)| row)
}

/// Every operator with the name of its room.
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

/// An operator as nodes name it.
pub fn kind(domain: &str, name: &str) -> String {
    if domain.is_empty() { name.to_owned() } else { format!("{domain}.{name}") }
}

/// What rules and passes may rely on of an operator as nodes name it.
pub fn facts(kind: &str) -> Facts {
    static FACTS: LazyLock<HashMap<String, Facts>> = LazyLock::new(|| {
        let rows = all().chain(product::matmul::WRITTEN);
        let written = [
            (attention::joined::KIND, attention::joined::FACTS),
            (normalize::channels::KIND, normalize::channels::FACTS),
        ];
        let written = written.map(|(kind, facts)| (kind.to_owned(), facts));
        rows.map(|row| (row.kind(), row.facts)).chain(written).collect()
    });
    FACTS.get(kind).copied().unwrap_or_default()
}

/// The operator called `name` in `domain`, with the version that `opset` selects.
pub fn find(domain: &str, name: &str, opset: i64) -> Option<(&'static Row, Option<i64>)> {
    let row = rows(domain, name).iter().find(|row| row.name == name)?;
    let version = row.since.iter().copied().filter(|&since| since <= opset);
    Some((row, version.max()))
}

/// An operator's name as it is written, whatever its letters' case here.
pub fn spelling(domain: &str, name: &str) -> Option<&'static str> {
    rows(domain, name).first().map(|row| row.name)
}
