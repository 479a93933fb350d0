//! Declaration of an operator: its name, versions, inputs, outputs and properties.

use std::rc::Rc;

use super::arity::{Arity, Signs};
use crate::attributes::Attributes;
use crate::diagnostics::Problem;
use crate::operator::Operator;

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
    /// Kernels of other operators can apply it to their results ([`Fused`](super::elementwise::activation::Fused)).
    pub activation: bool,
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
        activation: false,
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
        match since {
            Some((_, since)) => {
                let problem =
                    Problem::new(format!("attribute `{name}` requires version {since} of the operator"));
                let help = format!("remove the attribute, or export the model with opset {since} or newer");
                Err(problem.help(help))
            }
            None if name == "consumed_inputs" && version >= OUT_OF_PLACE => {
                let message =
                    format!("attribute `{name}` was removed in version {OUT_OF_PLACE} of the operator");
                Err(Problem::new(message).help("remove the attribute"))
            }
            None => Ok(()),
        }
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

    /// Marks an activation that kernels of other operators can apply to their results.
    pub const fn activation(mut self) -> Row {
        self.facts.activation = true;
        self
    }

    pub const fn hoisted(mut self) -> Row {
        self.facts.hoisted = true;
        self
    }

    pub const fn view(mut self) -> Row {
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

/// Returns an operator type as nodes name it.
pub fn kind(domain: &str, name: &str) -> String {
    if domain.is_empty() { name.to_owned() } else { format!("{domain}.{name}") }
}

/// Declares the families of a room. Each is a file with its `ROWS`, which may belong to several domains.
macro_rules! families {
    ($($family:ident),*) => {
        pub const FAMILIES: &[&[crate::ops::Row]] = &[$($family::ROWS,)*];
    };
}
pub(super) use families;
