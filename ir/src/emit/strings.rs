//! Strings that operators only move.

use proc_macro2::Literal;

use super::Emit;
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::rust::{Code, code};
use crate::types::Placement;

impl Emit<'_, '_> {
    /// Returns the operator's expression. If numbers were moved instead of strings, they are converted back.
    pub(super) fn expression(&mut self) -> Result<Code, Problem> {
        let operator = self.node.operator.clone();
        let code = operator.emit(self)?;
        let code = self.named(code);
        let strings: Vec<usize> = (0..self.inputs()).filter(|&at| self.is_string(at)).collect();
        if !operator.moves() || strings.is_empty() || self.node.placement == Placement::Host {
            return Ok(code);
        }
        let rank = Literal::usize_unsuffixed(self.output_tensor(0)?.rank());
        let strings = strings.iter().map(|&at| self.host(at));
        let strings: Vec<Code> = strings.collect::<Result<_, _>>()?;
        Ok(code!(host::named(#code, &[#(#strings),*], #rank)))
    }

    /// Returns numbers for the strings of an input, which continue those of the inputs before it.
    pub(super) fn numbered(&mut self, input: usize) -> Result<Code, Problem> {
        let mut first = code!(1);
        for at in 0..input {
            let id = self.node.input(at).filter(|_| self.is_string(at));
            if let Some(id) = id {
                let before = self.source.host_value(id)?;
                first.extend(code!(+ #before.len()));
            }
        }
        let rank = Literal::usize_unsuffixed(self.tensor_type(input)?.burn_rank());
        let (strings, device) = (self.host(input)?, self.device());
        Ok(code!(host::numbered::<#rank>(#strings, #first, #device)))
    }

    pub(super) fn is_string(&self, input: usize) -> bool {
        let tensor = self.tensor_type(input);
        tensor.is_ok_and(|tensor| tensor.dtype == DType::String)
    }
}
