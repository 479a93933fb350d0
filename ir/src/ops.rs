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
    /// Attributes that later versions introduced, with the first of these versions.
    newer: &'static [(&'static str, i64)],
    pub facts: Facts,
    /// Notes about the operator for OPERATORS.md.
    pub notes: &'static str,
}

/// Properties of an operator that rules and passes may rely on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Each element of the result depends only on the elements with the same index in the inputs, which broadcast as of
    /// version 7.
    pub elementwise: bool,
    /// The order of two inputs does not matter.
    pub commutative: bool,
    /// Results are neither negative nor -0.
    pub nonnegative: bool,
    /// A constructor may compute it when the model is loaded.
    pub hoisted: bool,
    /// The result is a view of an input with other strides, which Burn does not copy.
    pub view: bool,
    /// Precision of the operator if the model computes in 16 bits.
    pub width: Width,
    /// Inputs whose types do not depend on the other inputs: index of the first, and of the one after the last.
    pub independent: (usize, usize),
}

/// Precision in which an operator computes floats if the model computes in 16 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Width {
    /// Single precision: the operator sums, grows without bound, counts or compares.
    #[default]
    Single,
    /// Single precision, also for the operands: angles and values near zero amplify errors that are small relative to
    /// the values from which an operand was computed.
    Exact,
    /// 16 bits if an operand has 16 bits. Sums, if any, use single precision.
    Operands,
    /// 16 bits, with sums in single precision.
    Half,
}

impl Facts {
    /// No properties.
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

/// First version of operators without `consumed_inputs`, which allowed computation in place.
const OUT_OF_PLACE: i64 = 6;

/// Reads the attributes of one version into the operator.
pub type Read = fn(&Attributes<'_>) -> Result<Rc<dyn Operator>, Problem>;

/// Creates the row of an operator of the domain `ai.onnx`.
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

/// Name of the domain `ai.onnx.ml`. The domain `ai.onnx` has the empty name.
pub const ML: &str = "ai.onnx.ml";
pub const MICROSOFT: &str = "com.microsoft";
pub const PREVIEW: &str = "ai.onnx.preview";
pub const TRAINING: &str = "ai.onnx.preview.training";

impl Row {
    /// Moves the operator to another domain.
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

    /// Declares attributes that `read` accepts for every version, with the versions that introduced them.
    pub const fn newer(self, newer: &'static [(&'static str, i64)]) -> Row {
        Row { newer, ..self }
    }

    /// Checks that this version has an attribute, unless `read` checks it.
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

    /// Marks an operator that computes each element separately, and that a constructor may compute, too.
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

    /// Marks an operator that computes in 16 bits if an operand has 16 bits.
    pub const fn follows(mut self) -> Row {
        self.facts.width = Width::Operands;
        self
    }

    /// Marks an operator that computes in 16 bits, with sums in single precision.
    pub const fn half(mut self) -> Row {
        self.facts.width = Width::Half;
        self
    }

    /// Marks an operator that requires operands computed in single precision.
    pub const fn exact(mut self) -> Row {
        self.facts.width = Width::Exact;
        self
    }

    /// Declares the range of inputs whose types do not depend on the other inputs.
    pub const fn independent(mut self, first: usize, end: usize) -> Row {
        self.facts.independent = (first, end);
        self
    }

    /// Returns the operator type as nodes name it: `Conv`, or `com.microsoft.FusedConv`.
    pub fn kind(&self) -> String {
        kind(self.domain, self.name)
    }

    /// Sets the notes for OPERATORS.md.
    pub const fn noted(self, notes: &'static str) -> Row {
        Row { notes, ..self }
    }
}

/// Declares the families of a room. Each is a file with its `ROWS`, which may belong to several domains.
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

/// Returns an operator type as nodes name it.
pub fn kind(domain: &str, name: &str) -> String {
    if domain.is_empty() { name.to_owned() } else { format!("{domain}.{name}") }
}

/// Returns the properties of an operator type, which rules and passes may rely on.
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
