//! Names of nodes that may fail on data.

use super::{Emit, name};
use crate::rust::{Code, code};

impl Emit<'_, '_> {
    /// Says that the node may fail on the data of a run, so that its code knows the node's name.
    ///
    /// What is proven while compiling needs no name: indices in range, sizes that agree.
    pub fn may_fail(&mut self) {
        self.fails = true;
    }

    /// Code under the node's name.
    pub(super) fn named(&mut self, code: Code) -> Code {
        // A constructor has no node of its own.
        if self.fails && !self.source.loading {
            let node = self.named_node();
            code!(#node.run(|| #code))
        } else {
            code
        }
    }

    /// The field that holds the node's name. It is loaded, so that parts that differ in names alone are one struct.
    pub fn named_node(&mut self) -> Code {
        let kind = self.node.kind.rsplit('.').next().unwrap_or_default();
        let (hint, operator) = (name::snake(kind), &*self.node.kind);
        let node = self.site();
        let load = code!(Node::new(#node, #operator));
        let field = self
            .source
            .layer
            .field(&hint, code!(Node), load, Vec::new());
        Code::field(&field)
    }
}
