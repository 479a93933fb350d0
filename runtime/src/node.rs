//! Nodes that data may contradict.

use burn::module::Module;
use onnx_embed_kernels::fault::{self, Name};

/// A node under whose name its step runs.
#[derive(Module, Debug)]
pub struct Node {
    #[module(skip)]
    name: Name,
}

impl Node {
    /// The node that the file calls `node`.
    pub fn new(node: &'static str, operator: &'static str) -> Self {
        Self { name: Name { node, operator } }
    }

    /// What `step` gives, which fails under the node's name.
    pub fn run<T>(&self, step: impl FnOnce() -> T) -> T {
        fault::at(self.name, step)
    }

    /// [`run`](Self::run), of a step that may wait.
    pub fn run_async<T>(&self, step: impl Future<Output = T>) -> impl Future<Output = T> {
        fault::at_async(self.name, step)
    }

    /// Fails for this reason unless the condition holds.
    #[track_caller]
    pub fn ensure(&self, condition: bool, reason: &str) {
        if !condition {
            self.run(|| fault::fail(reason));
        }
    }
}
