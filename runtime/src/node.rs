//! Nodes that may fail on the data of a run.

use burn::module::Module;
use onnx_embed_kernels::fault::{self, Name};

/// Name of a node, under which its step runs.
#[derive(Module, Debug)]
pub struct Node {
    #[module(skip)]
    name: Name,
}

impl Node {
    /// Creates the node called `node` in the file.
    pub fn new(node: &'static str, operator: &'static str) -> Self {
        Self { name: Name { node, operator } }
    }

    /// Returns the result of `step`. If it fails, the error names the node.
    pub fn run<T>(&self, step: impl FnOnce() -> T) -> T {
        fault::at(self.name, step)
    }

    /// Async version of [`run`](Self::run).
    pub fn run_async<T>(&self, step: impl Future<Output = T>) -> impl Future<Output = T> {
        fault::at_async(self.name, step)
    }

    /// Fails with `reason` unless the condition holds.
    #[track_caller]
    pub fn ensure(&self, condition: bool, reason: &str) {
        if !condition {
            self.run(|| fault::fail(reason));
        }
    }
}
