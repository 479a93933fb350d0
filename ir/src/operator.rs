//! What an operator does.

use std::any::Any;
use std::fmt;

use crate::attributes::Described;
use crate::diagnostics::Problem;
use crate::emit::Emit;
use crate::graph::Flow;
use crate::infer::Infer;
use crate::rust::Code;

/// An operator with its attributes read: versions differ in how it was written, not in here.
pub trait Operator: fmt::Debug + Described + Any {
    /// Types, sizes and known values of the outputs.
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem>;

    /// An expression for the outputs: one value, or a tuple of as many as the node names; control flow leaves
    /// out those that nobody reads.
    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem>;

    /// Whether the input at this position must be a host value.
    fn wants_host(&self, _input: usize) -> bool {
        false
    }

    /// Whether the operator can run on host values when no input is on the device.
    fn runs_on_host(&self) -> bool {
        false
    }

    /// Whether it has a form for strings, which are on the host.
    fn takes_strings(&self) -> bool {
        self.runs_on_host()
    }

    /// Whether its results are elements of its inputs, or zeros: what it does to strings, it does to numbers
    /// that stand for them.
    fn moves(&self) -> bool {
        false
    }

    /// Whether its results are host values wherever its inputs are.
    fn makes_host(&self) -> bool {
        false
    }

    /// How it runs its blocks, when it has any.
    fn flow(&self) -> Option<Flow> {
        None
    }

    /// Whether it can take the items of a known sequence instead of the sequence, or give them.
    fn unpacks(&self) -> bool {
        false
    }

    /// Whether equal inputs give equal outputs.
    fn is_pure(&self) -> bool {
        true
    }
}
