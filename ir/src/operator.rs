//! The interface of operators.

use std::any::Any;
use std::fmt;

use crate::attributes::Described;
use crate::diagnostics::Problem;
use crate::emit::Emit;
use crate::graph::Flow;
use crate::infer::Infer;
use crate::rows::Rows;
use crate::rust::Code;

/// An operator whose attributes were read. It is independent of the version in which it was written.
pub trait Operator: fmt::Debug + Described + Any {
    /// Infers types, sizes and known values of the outputs.
    fn infer(&self, cx: &mut Infer<'_>) -> Result<(), Problem>;

    /// Returns an expression for the outputs: one value, or a tuple with one for each output of the node. Control flow
    /// omits unused ones.
    fn emit(&self, cx: &mut Emit<'_, '_>) -> Result<Code, Problem>;

    /// Returns `true` if the input at this index must be a host value.
    fn wants_host(&self, _input: usize) -> bool {
        false
    }

    /// Returns `true` if the operator can run on host values, if no input is on the device.
    fn runs_on_host(&self) -> bool {
        false
    }

    /// Returns `true` if the operator supports strings, which are on the host.
    fn takes_strings(&self) -> bool {
        self.runs_on_host()
    }

    /// Returns `true` if the results are elements of the inputs, or zeros, so that numbers may represent strings.
    fn moves(&self) -> bool {
        false
    }

    /// Returns `true` if the results are host values even if inputs are on the device.
    fn makes_host(&self) -> bool {
        false
    }

    /// Returns the way in which the operator runs its blocks, if any.
    fn flow(&self) -> Option<Flow> {
        None
    }

    /// Returns `true` if inputs or results may be the items of a known sequence instead of the sequence.
    fn unpacks(&self) -> bool {
        false
    }

    /// Returns the problem of an operator that no function computes, independent of the types of the inputs.
    fn unbound(&self) -> Option<Problem> {
        None
    }

    /// Returns the axis of the rows in each output, if each row depends only on the same row of the inputs. It is called if an
    /// input depends on rows or their number; functions of elements ([`Facts`](crate::ops::Facts)) need none.
    fn rows(&self, _rows: &Rows<'_>) -> Option<Vec<usize>> {
        None
    }

    /// Returns `true` if equal inputs have equal results.
    fn is_pure(&self) -> bool {
        true
    }
}
