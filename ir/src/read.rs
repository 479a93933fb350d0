//! Reads the messages of a file into a graph.

mod arity;
mod binding;
mod choice;
mod declared;
mod duplicates;
mod facts;
mod foreign;
mod function;
mod gradient;
mod initializer;
mod input;
mod limits;
mod local;
mod order;
mod origin;
mod outputs;
mod scope;
mod signature;
mod size;
mod unknown;
mod untyped;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use bytes::Bytes;

use crate::attributes::{self, Attributes, NamedAttribute};
use crate::diagnostics::{Diagnostics, Problem, Site};
use crate::files::{Files, Given, signed};
use crate::graph::{Block, Graph, Node, Value, ValueId, Values};
use crate::licenses;
use crate::model::Facts;
use crate::names::Names;
use crate::ops::custom::{self, Advice};
use crate::ops::{self, Operator, kind};
use crate::options::{Binding, Options};
use crate::parameters;
use crate::proto::{GraphProto, NodeProto, ValueInfoProto};
use crate::types::{Placement, Type};
use crate::weight::Weight;

use declared::Declaration;
pub(crate) use facts::decode;
pub use facts::{NEWEST_IR, NEWEST_OPSET};
use facts::{domain, newest};
use limits::{FIRST_IR, MAX_NESTING, MAX_NODES, MAX_PROBLEMS};
use local::Functions;
use scope::Scope;
pub use untyped::Untyped;

struct Reader<'a> {
    files: &'a Files,
    functions: &'a Functions<'a>,
    values: Values,
    names: Names,
    facts: Facts,
    /// Declarations of the inputs of the main graph.
    declared: Vec<ValueInfoProto>,
    /// Declarations of values that nodes compute.
    declarations: Vec<Declaration>,
    diagnostics: &'a mut Diagnostics,
    depth: usize,
    nodes: usize,
    /// Functions that the caller binds to operators.
    bound: &'a BTreeMap<String, Binding>,
    /// Message and help for each unknown operator.
    unknown: BTreeMap<String, Rc<Advice>>,
    /// Number of nodes of unknown operators.
    unbound: usize,
}

/// Reads the model at `path`.
pub fn read(path: &Path, options: &Options) -> Result<Untyped, Diagnostics> {
    read_files(Files::open(path, options.signature.clone())?, options)
}

/// Reads a model from memory, where it has no signature.
pub fn read_bytes(bytes: Bytes, options: &Options) -> Result<Untyped, Diagnostics> {
    if options.signature.is_some() {
        return Err(Problem::new("signatures are supported only for .onnx files")
            .choice(signed::OPTION)
            .into());
    }
    read_files(Files::memory(bytes), options)
}

/// Reads a model whose files the caller reads, after checking their signatures if they have any.
pub fn read_given(given: &Given, options: &Options) -> Result<Untyped, Diagnostics> {
    read_files(Files::given(given), options)
}

/// Reads the graph, and reports problems if only parts of it cannot be read.
fn read_files(files: Files, options: &Options) -> Result<Untyped, Diagnostics> {
    let mut message = decode(files.model())?;
    let facts = Facts::new(&message);
    let mut diagnostics = Diagnostics::default();
    diagnostics.set_facts(facts.to_string());
    let fail = |mut diagnostics: Diagnostics, problem| {
        diagnostics.push(problem);
        Err(diagnostics)
    };
    if let Err(problem) = facts.check() {
        return fail(diagnostics, problem);
    }
    if let Some(accepted) = &options.licenses
        && let Err(problem) = licenses::check(&message.metadata_props, accepted)
    {
        return fail(diagnostics, problem);
    }
    let duplicates = duplicates::find(&message).into_iter();
    duplicates.for_each(|problem| diagnostics.push(problem));
    let Some(graph) = &mut message.graph else {
        return fail(diagnostics, Problem::new("the file contains no graph, expected an ONNX model"));
    };
    let unknown = outputs::choose(graph, &options.outputs);
    if !unknown.is_empty() {
        unknown.into_iter().for_each(|problem| diagnostics.push(problem));
        return Err(diagnostics);
    }
    let graph = &*graph;
    let functions = Functions::new(&message.functions);
    if let Err(problem) = size::check(graph, &functions, files.model().len()) {
        return fail(diagnostics, problem);
    }
    let mut reader = Reader {
        files: &files,
        functions: &functions,
        values: Values::default(),
        names: Names::default(),
        facts,
        declared: Vec::new(),
        declarations: Vec::new(),
        diagnostics: &mut diagnostics,
        depth: 0,
        nodes: 0,
        bound: &options.operators,
        unknown: BTreeMap::new(),
        unbound: 0,
    };
    let mut scope = Scope::new(reader.facts.opsets.clone());
    let body = reader.main(graph, &mut scope, options);
    reader.check_bindings();
    let mut graph =
        Graph { name: graph.name.clone(), values: reader.values, body, training: options.training };
    let (names, facts, declared) = (reader.names, reader.facts, reader.declared);
    let declarations = reader.declarations;
    parameters::find(&mut graph, options.final_weights());
    custom::agree(&mut graph);
    Ok(Untyped { graph, facts, names, declared, declarations, files: Rc::new(files), problems: diagnostics })
}

impl<'a> Reader<'a> {
    /// Reads the nodes of a graph or function into a block whose inputs are set.
    fn nodes(&mut self, nodes: &[NodeProto], scope: &mut Scope<'_>, block: &mut Block) {
        let nodes = self.in_order(nodes, scope);
        if nodes.iter().any(|node| gradient::is_gradient(node)) {
            return self.with_gradients(&nodes, scope, block);
        }
        for proto in nodes {
            self.node(proto, scope, block);
        }
    }

    fn node(&mut self, proto: &NodeProto, scope: &mut Scope<'_>, block: &mut Block) {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            if self.nodes == MAX_NODES + 1 {
                self.diagnostics.push(size::too_many());
            }
            return self.poison(proto, scope);
        }
        if self.gives_up() {
            return;
        }
        let domain = domain(&proto.domain);
        let is_bound = !self.bound.is_empty() && self.is_bound(&domain, &proto.op_type);
        if let Some(function) = self.functions.meant(proto, scope)
            && !is_bound
        {
            return self.call(function, proto, scope, block);
        }
        if let Err(problem) = self.operator(&domain, proto, scope, block) {
            let kind = kind(&domain, &proto.op_type);
            self.diagnostics.push(problem.at(Site {
                operator: match scope.opset(&domain) {
                    Some(version) => format!("{kind} opset {version}"),
                    None => kind,
                },
                node: scope.node_label(proto),
            }));
            self.poison(proto, scope);
        }
    }

    /// Returns `true` if there are too many problems to continue.
    fn gives_up(&self) -> bool {
        self.diagnostics.count() + self.unbound > MAX_PROBLEMS
    }

    /// Defines the outputs of a node that cannot be compiled without types: nodes that use them report no problems.
    fn poison(&mut self, proto: &NodeProto, scope: &mut Scope<'_>) {
        for name in proto.output.iter().filter(|name| !name.is_empty()) {
            self.define(name, scope);
        }
    }

    fn operator(
        &mut self,
        domain: &str,
        proto: &NodeProto,
        scope: &mut Scope<'_>,
        block: &mut Block,
    ) -> Result<(), Problem> {
        let found = scope.opset(domain).and_then(|opset| ops::find(domain, &proto.op_type, opset));
        let known = ops::find(domain, &proto.op_type, NEWEST_OPSET).is_some();
        let is_bound = !known && self.is_bound(domain, &proto.op_type);
        let key = (domain.to_owned(), proto.op_type.clone());
        let count = self.facts.operators.entry(key).or_default();
        count.nodes += 1;
        let removed = found.and_then(|(row, _)| row.removed);
        let removed = removed.filter(|(version, _)| scope.opset(domain) >= Some(*version));
        count.supported = matches!(found, Some((_, Some(_)))) && removed.is_none() || is_bound;
        let (row, version) = match found {
            Some(found) => found,
            None if known => return Err(unknown::not_imported(domain)),
            None => return self.custom(domain, proto, scope, block),
        };
        let opset = scope.opset(domain).unwrap_or_default();
        let version = version.ok_or_else(|| {
            let since = row.since.iter().min().copied().unwrap_or(1);
            Problem::new(format!(
                "operator `{}` was added in opset {since}, but the model uses opset {opset}",
                kind(domain, &proto.op_type)
            ))
            .inconsistent()
        })?;
        newest(domain, scope.opset(domain))?;
        if let Some((version, instead)) = removed {
            return Err(unknown::removed(&kind(domain, &proto.op_type), (version, opset), instead));
        }
        arity::check(proto, row.arity_at(version), scope)?;
        let list = scope.resolve(&proto.attribute);
        if self.facts.ir_version > FIRST_IR {
            attributes::have_types(&list)?;
        }
        list.iter().try_for_each(|(name, _)| row.has_attribute(name, version))?;
        let attributes = Attributes::new(list.clone(), self.files, version)
            .with_arity(proto.input.len(), proto.output.len())
            .with_first_output(proto.output.first().is_some_and(|name| !name.is_empty()));
        let operator = (row.read)(&attributes)?;
        attributes.finish()?;
        self.push((domain, version, operator), attributes, (proto, &list), scope, block)
    }

    /// Adds a node whose operator was read.
    fn push(
        &mut self,
        (domain, version, operator): (&str, i64, Rc<dyn Operator>),
        attributes: Attributes<'_>,
        (proto, list): (&NodeProto, &[NamedAttribute<'_>]),
        scope: &mut Scope<'_>,
        block: &mut Block,
    ) -> Result<(), Problem> {
        let inputs = proto.input.iter().map(|name| scope.input(name));
        let mut inputs = inputs.collect::<Result<Vec<_>, Problem>>()?;
        for (name, weight) in attributes.kept() {
            let name = format!("{}.{name}", scope.node_label(proto));
            inputs.push(Some(self.constant(name, weight)));
        }
        let blocks = self.blocks(list, scope)?;
        let outputs = proto
            .output
            .iter()
            .map(|name| if name.is_empty() { None } else { Some(self.define(name, scope)) });
        let mut outputs: Vec<Option<ValueId>> = outputs.collect();
        // The outputs of a split determine the number of its parts; other omitted outputs at the end have no meaning.
        while proto.op_type != "Split" && outputs.last() == Some(&None) {
            outputs.pop();
        }
        block.nodes.push(Node {
            name: scope.node_name(&proto.name),
            origin: origin::origin(proto),
            kind: kind(domain, &proto.op_type).into(),
            version,
            operator,
            inputs,
            outputs,
            blocks,
            placement: Placement::Device,
        });
        Ok(())
    }

    fn blocks(
        &mut self,
        list: &[NamedAttribute<'_>],
        scope: &Scope<'_>,
    ) -> Result<Vec<(String, Block)>, Problem> {
        let mut blocks = Vec::new();
        for (name, attribute) in list {
            if let Some(graph) = attribute.g.as_deref() {
                if self.depth >= MAX_NESTING {
                    return Err(Problem::new(format!(
                        "graphs are nested more than {MAX_NESTING} levels deep"
                    )));
                }
                self.depth += 1;
                let mut inner = scope.nested();
                blocks.push(((*name).to_owned(), self.body(graph, &mut inner)));
                self.depth -= 1;
            }
        }
        Ok(blocks)
    }

    /// Reads a branch or loop body.
    fn body(&mut self, graph: &GraphProto, scope: &mut Scope<'_>) -> Block {
        let mut block = Block::default();
        self.initializers(graph, scope);
        let constants = graph.initializer.iter().map(|tensor| &tensor.name);
        let constants: BTreeSet<&String> = constants.collect();
        // As in the main graph, an input with an initializer is a constant that is listed, too.
        let inputs = graph.input.iter();
        for input in inputs.filter(|input| !constants.contains(&input.name)) {
            let id = self.define(&input.name, scope);
            block.inputs.push(id);
        }
        self.nodes(&graph.node, scope, &mut block);
        block.outputs = self.outputs(graph, scope);
        self.declarations(graph, scope);
        block
    }

    fn outputs(&mut self, graph: &GraphProto, scope: &Scope<'_>) -> Vec<ValueId> {
        let mut outputs = Vec::new();
        for output in &graph.output {
            match scope.value(&output.name) {
                Some(id) => outputs.push(id),
                None => self.diagnostics.push(
                    Problem::new(format!("no node produces the output `{}`", output.name)).inconsistent(),
                ),
            }
        }
        outputs
    }

    fn constant(&mut self, name: String, weight: Weight) -> ValueId {
        self.values.push(Value {
            name,
            ty: Some(Type::Tensor(weight.tensor_type())),
            known: self.values.sources().constant(&weight),
            weight: Some(weight),
            ..Value::default()
        })
    }

    fn define(&mut self, name: &str, scope: &mut Scope<'_>) -> ValueId {
        let id = self.values.push(Value { name: scope.value_name(name), ..Value::default() });
        scope.define(name, id);
        id
    }
}
