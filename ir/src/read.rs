//! From the file's messages to a graph.

mod files;
mod function;
mod origin;
mod scope;
mod signature;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use prost::Message;

use crate::attributes::Attributes;
use crate::diagnostics::{Diagnostics, Problem, Site};
use crate::graph::{Block, Graph, Node, Value, ValueId, Values};
use crate::infer::Names;
use crate::ops;
use crate::options::Options;
use crate::proto::{AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto};
use crate::types::{Known, Place, Type};

pub use files::{Files, distance, is_strings};
use function::Functions;
use scope::Scope;

/// The newest IR version and `ai.onnx` opset that this version of the compiler knows.
pub const NEWEST_IR: i64 = 14;
pub const NEWEST_OPSET: i64 = 28;

/// A model that was read: the graph, and what the file says of itself.
#[derive(Debug)]
pub struct Model {
    pub graph: Graph,
    pub facts: Facts,
    pub files: Files,
    pub names: Names,
}

/// What the file says of itself.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub ir_version: i64,
    /// Opset versions by domain; `ai.onnx` is the empty domain.
    pub opsets: BTreeMap<String, i64>,
    pub producer: String,
    pub documentation: String,
    /// The names of the outputs, which several may share with inputs or constants.
    pub outputs: Vec<String>,
    /// How often each operator occurs, with its domain, and whether it is supported.
    pub operators: BTreeMap<(String, String), Count>,
}

/// How often an operator occurs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub nodes: usize,
    pub supported: bool,
}

/// Graphs nest no deeper than this, and functions call each other no deeper.
const DEEPEST: usize = 24;
/// Inlined functions may not make a model larger than this.
const MOST_NODES: usize = 1_000_000;

struct Reader<'a> {
    files: &'a Files,
    functions: Functions<'a>,
    values: Values,
    names: Names,
    facts: Facts,
    diagnostics: &'a mut Diagnostics,
    depth: usize,
    nodes: usize,
}

/// Reads the model at `path`.
pub fn read(path: &Path, options: &Options, diagnostics: &mut Diagnostics) -> Option<Model> {
    match Files::open(path) {
        Ok(files) => read_files(files, options, diagnostics),
        Err(problem) => {
            diagnostics.push(problem);
            None
        }
    }
}

/// Reads a model from memory.
pub fn read_bytes(bytes: Bytes, options: &Options, diagnostics: &mut Diagnostics) -> Option<Model> {
    read_files(Files::memory(bytes), options, diagnostics)
}

fn read_files(files: Files, options: &Options, diagnostics: &mut Diagnostics) -> Option<Model> {
    let message = match decode(files.model()) {
        Ok(message) => message,
        Err(problem) => {
            diagnostics.push(problem);
            return None;
        }
    };
    let facts = facts(&message);
    diagnostics.set_facts(facts.to_string());
    if let Err(problem) = facts.check() {
        diagnostics.push(problem);
        return None;
    }
    let Some(graph) = &message.graph else {
        diagnostics.push(Problem::new("the file holds no graph"));
        return None;
    };
    let mut reader = Reader {
        files: &files,
        functions: Functions::new(&message.functions),
        values: Values::default(),
        names: Names::default(),
        facts,
        diagnostics,
        depth: 0,
        nodes: 0,
    };
    let mut scope = Scope::new(reader.facts.opsets.clone());
    let body = reader.main(graph, &mut scope, options);
    let graph = Graph {
        name: graph.name.clone(),
        values: reader.values,
        body,
    };
    let (names, facts) = (reader.names, reader.facts);
    Some(Model {
        graph,
        facts,
        names,
        files,
    })
}

fn decode(bytes: Bytes) -> Result<ModelProto, Problem> {
    if bytes.is_empty() {
        return Err(Problem::new("the file is empty"));
    }
    if bytes.starts_with(b"version https://git-lfs") {
        return Err(Problem::new("the file is a Git LFS pointer, not the model")
            .help("run `git lfs pull` to fetch the model itself"));
    }
    let length = bytes.len();
    ModelProto::decode(bytes).map_err(|error| {
        Problem::new(format!(
            "the file is not an ONNX model, or it is cut: {error}"
        ))
        .help(format!(
            "it has {length} bytes; export or download it again"
        ))
    })
}

fn facts(message: &ModelProto) -> Facts {
    let mut opsets = BTreeMap::new();
    for import in &message.opset_import {
        opsets.insert(domain(&import.domain), import.version.unwrap_or(1));
    }
    if opsets.is_empty() {
        opsets.insert(String::new(), 1);
    }
    let producer = [&message.producer_name, &message.producer_version];
    Facts {
        ir_version: message.ir_version.unwrap_or(0),
        opsets,
        producer: producer.map(String::as_str).join(" ").trim().to_owned(),
        documentation: message.doc_string.clone(),
        outputs: Vec::new(),
        operators: BTreeMap::new(),
    }
}

/// `ai.onnx` is the long name of the empty domain.
fn domain(name: &str) -> String {
    match name {
        "ai.onnx" => String::new(),
        _ => name.to_owned(),
    }
}

impl Facts {
    fn check(&self) -> Result<(), Problem> {
        let newer = |what: &str, found: i64, newest: i64| {
            Problem::new(format!(
                "the model is of {what} {found}; this version of onnx-embed knows up to {newest}"
            ))
            .help("update onnx-embed, or export the model for an older version")
        };
        if self.ir_version > NEWEST_IR {
            return Err(newer("IR version", self.ir_version, NEWEST_IR));
        }
        match self.opsets.get("") {
            Some(&opset) if opset > NEWEST_OPSET => Err(newer("opset", opset, NEWEST_OPSET)),
            _ => Ok(()),
        }
    }
}

impl std::fmt::Display for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "IR version {}", self.ir_version)?;
        for (domain, version) in &self.opsets {
            let name = if domain.is_empty() { "ai.onnx" } else { domain };
            write!(f, ", {name} {version}")?;
        }
        match self.producer.as_str() {
            "" => Ok(()),
            producer => write!(f, ", made by {producer}"),
        }
    }
}

impl<'a> Reader<'a> {
    /// The nodes of a graph or function, into a block whose inputs are set already.
    fn nodes(&mut self, nodes: &[NodeProto], scope: &mut Scope, block: &mut Block) {
        for proto in self.in_order(nodes, scope) {
            self.node(proto, scope, block);
        }
    }

    fn node(&mut self, proto: &NodeProto, scope: &mut Scope, block: &mut Block) {
        self.nodes += 1;
        if self.nodes > MOST_NODES {
            if self.nodes == MOST_NODES + 1 {
                let message = "the model's functions expand to more than a million nodes";
                self.diagnostics.push(Problem::new(message));
            }
            return self.poison(proto, scope);
        }
        let domain = domain(&proto.domain);
        if let Some(function) = self
            .functions
            .find(&domain, &proto.op_type, &proto.overload)
        {
            return self.call(function, proto, scope, block);
        }
        if let Err(problem) = self.operator(&domain, proto, scope, block) {
            let version = scope.opset(&domain).unwrap_or(1);
            let node = match (proto.name.is_empty(), proto.output.first()) {
                (true, Some(first)) => first.clone(),
                _ => proto.name.clone(),
            };
            self.diagnostics.push(problem.at(Site {
                operator: format!("{} opset {version}", kind(&domain, &proto.op_type)),
                node,
            }));
            self.poison(proto, scope);
        }
    }

    /// Outputs of a node that cannot be compiled stay untyped: what uses them is passed over.
    fn poison(&mut self, proto: &NodeProto, scope: &mut Scope) {
        for name in proto.output.iter().filter(|name| !name.is_empty()) {
            self.define(name, scope);
        }
    }

    fn operator(
        &mut self,
        domain: &str,
        proto: &NodeProto,
        scope: &mut Scope,
        block: &mut Block,
    ) -> Result<(), Problem> {
        let found = scope
            .opset(domain)
            .and_then(|opset| ops::find(domain, &proto.op_type, opset));
        let key = (domain.to_owned(), proto.op_type.clone());
        let count = self.facts.operators.entry(key).or_default();
        count.nodes += 1;
        count.supported = matches!(found, Some((_, Some(_))));
        let (row, version) = found.ok_or_else(|| unsupported(domain, &proto.op_type))?;
        let version = version.ok_or_else(|| {
            let since = row.since.iter().min().copied().unwrap_or(1);
            Problem::new(format!(
                "operator `{}` exists since opset {since}, the model imports an older one",
                kind(domain, &proto.op_type)
            ))
            .help("the file is inconsistent; export the model again")
        })?;
        let list = scope.resolve(&proto.attribute)?;
        let attributes = Attributes::new(&list, self.files, version)
            .with_arity(proto.input.len(), proto.output.len());
        let operator = (row.read)(&attributes)?;
        attributes.finish()?;
        let inputs = proto.input.iter().map(|name| scope.input(name));
        let inputs = inputs.collect::<Result<Vec<_>, Problem>>()?;
        let blocks = self.blocks(&list, scope)?;
        let outputs = proto.output.iter().map(|name| match name.is_empty() {
            true => None,
            false => Some(self.define(name, scope)),
        });
        let outputs = outputs.collect();
        block.nodes.push(Node {
            name: scope.node_name(&proto.name),
            origin: origin::origin(proto),
            kind: kind(domain, &proto.op_type).into(),
            version,
            operator,
            inputs,
            outputs,
            blocks,
            place: Place::Device,
        });
        Ok(())
    }

    fn blocks(
        &mut self,
        list: &[AttributeProto],
        scope: &Scope,
    ) -> Result<Vec<(String, Block)>, Problem> {
        let mut blocks = Vec::new();
        for attribute in list {
            if let Some(graph) = attribute.g.as_deref() {
                self.depth += 1;
                if self.depth > DEEPEST {
                    return Err(Problem::new(format!(
                        "graphs are nested more than {DEEPEST} deep"
                    )));
                }
                let mut inner = scope.nested();
                blocks.push((attribute.name.clone(), self.body(graph, &mut inner)));
                self.depth -= 1;
            }
        }
        Ok(blocks)
    }

    /// A branch or loop body.
    fn body(&mut self, graph: &GraphProto, scope: &mut Scope) -> Block {
        let mut block = Block::default();
        for input in &graph.input {
            let id = self.define(&input.name, scope);
            block.inputs.push(id);
        }
        self.initializers(graph, scope);
        self.nodes(&graph.node, scope, &mut block);
        block.outputs = self.outputs(graph, scope);
        block
    }

    fn outputs(&mut self, graph: &GraphProto, scope: &Scope) -> Vec<ValueId> {
        let mut outputs = Vec::new();
        for output in &graph.output {
            match scope.value(&output.name) {
                Some(id) => outputs.push(id),
                None => self.diagnostics.push(
                    Problem::new(format!("no node makes the output `{}`", output.name))
                        .help("the file is inconsistent; export the model again"),
                ),
            }
        }
        outputs
    }

    fn initializers(&mut self, graph: &GraphProto, scope: &mut Scope) {
        for tensor in &graph.initializer {
            if let Err(problem) = self.initializer(tensor, scope) {
                self.diagnostics.push(problem);
                self.define(&tensor.name, scope);
            }
        }
        for sparse in &graph.sparse_initializer {
            let name = sparse.values.as_ref().map(|values| values.name.as_str());
            let name = name.unwrap_or_default();
            self.define(name, scope);
            match self.files.sparse(sparse) {
                Ok((dtype, shape, known)) => {
                    let id = self.define(name, scope);
                    self.values[id].ty = Some(Type::tensor(dtype, shape));
                    self.values[id].known = Some(known);
                }
                Err(problem) => self.diagnostics.push(problem),
            }
        }
    }

    fn initializer(&mut self, tensor: &TensorProto, scope: &mut Scope) -> Result<(), Problem> {
        if is_strings(tensor) {
            let (sizes, strings) = self.files.strings(tensor)?;
            let id = self.define(&tensor.name, scope);
            let dim = |size: usize| i64::try_from(size).unwrap_or(i64::MAX).into();
            let shape = sizes.into_iter().map(dim).collect();
            self.values[id].ty = Some(Type::tensor(crate::dtype::DType::String, shape));
            self.values[id].known = Some(Known::Strings(strings));
            return Ok(());
        }
        let weight = self.files.weight(tensor)?;
        let id = self.define(&tensor.name, scope);
        let value = &mut self.values[id];
        value.ty = Some(Type::Tensor(weight.tensor_type()));
        value.known = weight.known();
        value.weight = Some(weight);
        Ok(())
    }

    fn define(&mut self, name: &str, scope: &mut Scope) -> ValueId {
        let id = self.values.push(Value {
            name: scope.value_name(name),
            ..Value::default()
        });
        scope.define(name, id);
        id
    }
}

/// The operator's name with its domain, as people write it.
fn kind(domain: &str, name: &str) -> String {
    match domain {
        "" => name.to_owned(),
        _ => format!("{domain}.{name}"),
    }
}

fn unsupported(domain: &str, name: &str) -> Problem {
    let problem = Problem::new(format!(
        "operator `{}` is not supported",
        kind(domain, name)
    ));
    let near = ops::names(domain).min_by_key(|known| distance(known, name));
    match (near, domain) {
        (Some(near), _) if distance(near, name) <= 2 => {
            problem.help(format!("did you mean `{near}`?"))
        }
        (_, "" | "ai.onnx.ml" | "com.microsoft") => problem.help(
            "OPERATORS.md lists what is supported; \
             export with another opset or replace the operator in the model",
        ),
        _ => problem.help(format!(
            "`{domain}` is a custom domain: rewrite the node with standard operators, \
             or add a model-local function that defines it"
        )),
    }
}

/// A path in the model's folder for a file name in messages.
pub fn display_name(path: &Path) -> String {
    let name = path.file_name().map(PathBuf::from);
    name.unwrap_or_else(|| path.to_owned())
        .display()
        .to_string()
}
