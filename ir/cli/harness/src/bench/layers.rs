//! The time of each node of a model.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Result, bail};
use onnx_embed_ir::graph::{Block, Graph, Node, ValueId};
use onnx_embed_ir::inspect::cost::{self, multiply_adds};
use onnx_embed_ir::types::Type;
use serde_json::{Value as Json, json};

use crate::message::Profiled;
use crate::models::Model;
use crate::scratch::Scratch;
use crate::value::{Value, Values};

/// Times of the nodes of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Nodes in the order of their first execution.
    pub layers: Vec<Layer>,
    pub runs: usize,
    /// Mean duration of a run in milliseconds, including time outside nodes.
    pub total: f64,
}

/// A node with its time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layer {
    pub node: String,
    pub operator: String,
    /// Modules that contain the node, outermost first.
    pub modules: Vec<String>,
    /// Sizes of the operands.
    pub operands: Vec<Vec<usize>>,
    /// Milliseconds per run, for all executions together.
    pub time: f64,
    /// Number of executions per run.
    pub count: f64,
    /// Number of multiply-adds per run, if known.
    pub multiply_adds: Option<f64>,
}

impl Layer {
    /// Returns the speed in GFLOP/s; a multiply-add counts as two operations.
    pub fn gigaflops(&self) -> Option<f64> {
        let operations = 2.0 * self.multiply_adds?;
        (self.time > 0.0).then(|| operations / self.time / 1e6)
    }

    /// Returns the operator without the `com.microsoft` domain.
    pub fn short_operator(&self) -> &str {
        self.operator.strip_prefix("com.microsoft.").unwrap_or(&self.operator)
    }
}

impl Profile {
    /// Combines the reply of a program with the nodes of the graph.
    pub fn new(answer: &Profiled, model: &Model, scratch: &Scratch, inputs: &Values) -> Result<Self> {
        let loaded = match onnx_embed_ir::load(&model.path, &scratch.options) {
            Ok(loaded) => loaded,
            Err(problems) => bail!("{}", problems.report(&model.name)),
        };
        let graph = &loaded.graph;
        let mut nodes = HashMap::new();
        note(&graph.body, graph, &mut nodes);
        let mut measured = Measured { graph, shapes: shapes(inputs) };
        for value in answer.nodes.iter().flat_map(|node| &node.values) {
            if let Some(shape) = &value.shape {
                measured.shapes.insert(&value.name, shape.clone());
            }
        }
        let layers = answer.nodes.iter().map(|timed| {
            let first = timed.values.first();
            let node = first.and_then(|value| nodes.get(value.name.as_str()));
            let operands = node.iter().flat_map(|node| measured.operands(node));
            let count = timed.count;
            let once = node.and_then(|node| multiply_adds(node, &measured));
            Layer {
                node: timed.node.clone(),
                modules: node.map(|node| node.origin.clone()).unwrap_or_default(),
                operands: operands.collect(),
                time: timed.ms,
                count,
                multiply_adds: (once.filter(|&once| once > 0)).map(|once| once as f64 * count),
                operator: timed.operator.clone(),
            }
        });
        Ok(Profile { layers: layers.collect(), runs: answer.runs, total: answer.ms })
    }

    /// Returns the milliseconds and the number of nodes of each operator, by decreasing time.
    pub fn by_operator(&self) -> Vec<(String, f64, usize)> {
        let mut all: BTreeMap<&str, (f64, usize)> = BTreeMap::new();
        for layer in &self.layers {
            let (time, nodes) = all.entry(layer.short_operator()).or_default();
            *time += layer.time;
            *nodes += 1;
        }
        let all = all.into_iter();
        let mut all: Vec<_> = all.map(|(name, (time, nodes))| (name.to_owned(), time, nodes)).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }

    /// Returns the fields that the profile adds to a JSON line.
    pub fn json(&self) -> Json {
        let layers = self.layers.iter().map(|layer| {
            json!({
                "node": layer.node,
                "operator": layer.operator,
                "modules": layer.modules,
                "operands": layer.operands,
                "ms": layer.time,
                "count": layer.count,
                "multiply_adds": layer.multiply_adds,
                "gflops": layer.gigaflops(),
            })
        });
        json!({ "runs": self.runs, "ms": self.total, "layers": layers.collect::<Vec<_>>() })
    }
}

/// Adds the nodes of a block and of its nested blocks, by the name of each output.
fn note<'g>(block: &'g Block, graph: &'g Graph, nodes: &mut HashMap<&'g str, &'g Node>) {
    for node in &block.nodes {
        for &id in node.outputs.iter().flatten() {
            nodes.insert(&graph.values[id].name, node);
        }
        node.blocks.iter().for_each(|(_, inner)| note(inner, graph, nodes));
    }
}

fn shapes(inputs: &Values) -> HashMap<&str, Vec<usize>> {
    let shaped = inputs.iter().filter_map(|(name, value)| match value {
        Value::Tensor(tensor) => Some((name.as_str(), tensor.shape.clone())),
        Value::Strings { shape, .. } => Some((name.as_str(), shape.clone())),
        _ => None,
    });
    shaped.collect()
}

/// Sizes of the values in a run.
struct Measured<'g> {
    graph: &'g Graph,
    shapes: HashMap<&'g str, Vec<usize>>,
}

impl Measured<'_> {
    /// Returns the sizes of the operands of a node, except for constants that are literals in the code.
    fn operands(&self, node: &Node) -> Vec<Vec<usize>> {
        let inputs = node.inputs.iter().flatten();
        inputs.filter_map(|&id| self.shape(id)).collect()
    }

    fn shape(&self, id: ValueId) -> Option<Vec<usize>> {
        let value = &self.graph.values[id];
        if let Some(weight) = &value.weight {
            return Some(weight.sizes.clone());
        }
        if value.is_constant() && !value.is_stored() {
            return None;
        }
        let known = self.shapes.get(value.name.as_str()).cloned();
        known.or_else(|| fixed(value.ty.as_ref()?))
    }
}

impl cost::Sizes for Measured<'_> {
    fn of(&self, id: ValueId) -> Option<Vec<u64>> {
        let shape = self.shape(id)?;
        Some(shape.into_iter().map(|size| size as u64).collect())
    }
}

/// Returns the sizes of a type, or `None` if one of them is dynamic.
fn fixed(ty: &Type) -> Option<Vec<usize>> {
    let sizes = ty.as_tensor()?.shape.iter();
    sizes.map(|size| size.fixed()).collect()
}
