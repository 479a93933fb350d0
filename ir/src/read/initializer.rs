//! Reads the constants of a graph.

use super::Reader;
use super::scope::Scope;
use crate::diagnostics::Problem;
use crate::dtype::DType;
use crate::files::is_strings;
use crate::proto::{GraphProto, TensorProto};
use crate::types::{Known, Type};

impl Reader<'_> {
    pub(super) fn initializers(&mut self, graph: &GraphProto, scope: &mut Scope<'_>) {
        for tensor in &graph.initializer {
            if self.gives_up() {
                return;
            }
            if let Err(problem) = self.initializer(tensor, scope) {
                self.diagnostics.push(problem);
                self.define(&tensor.name, scope);
            }
        }
        for sparse in &graph.sparse_initializer {
            if self.gives_up() {
                return;
            }
            let name = sparse.values.as_ref().map(|values| values.name.as_str());
            let name = name.unwrap_or_default();
            self.define(name, scope);
            match self.files.sparse(sparse) {
                Ok((dtype, shape, known)) => {
                    let id = self.define(name, scope);
                    self.values[id].ty = Some(Type::tensor(dtype, shape));
                    self.values[id].known = known.into();
                }
                Err(problem) => self.diagnostics.push(problem),
            }
        }
    }

    fn initializer(&mut self, tensor: &TensorProto, scope: &mut Scope<'_>) -> Result<(), Problem> {
        if is_strings(tensor) {
            let (sizes, strings) = self.files.strings(tensor)?;
            let id = self.define(&tensor.name, scope);
            let dim = |size: usize| i64::try_from(size).unwrap_or(i64::MAX).into();
            let shape = sizes.into_iter().map(dim).collect();
            self.values[id].ty = Some(Type::tensor(DType::String, shape));
            self.values[id].known = Known::Strings(strings).into();
            return Ok(());
        }
        let weight = self.files.weight(tensor)?;
        let parameter = weight.dtype.is_float() && !weight.sizes.is_empty();
        let id = self.constant(scope.value_name(&tensor.name), weight);
        self.values[id].parameter = parameter;
        scope.define(&tensor.name, id);
        Ok(())
    }
}
