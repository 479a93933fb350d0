//! Structs and functions for modules of the graph.

mod arrays;
mod function;

use std::collections::{BTreeMap, BTreeSet};

use super::body::{self, Statement};
use super::place::Place;
use super::signature::Port;
use super::tree::{Group, Item};
use super::variables::Hint;
use super::{Context, Layer, Source, element_type, value_names, variable};
use crate::diagnostics::{Diagnostics, Problem};
use crate::dim::{Dim, Symbol};
use crate::dtype::DType;
use crate::graph::ValueId;
use crate::rust::{Code, Variable, code};
use crate::types::{Known, Type};
pub use arrays::join;
use function::{forward, parameters, tuple};

/// A part before it becomes a struct.
#[derive(Debug)]
struct Draft {
    field: String,
    place: Option<Place>,
    type_name: String,
    lines: Vec<Line>,
    layer: Layer,
    inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
    /// Sizes that it returns in addition to its values.
    returned: Vec<Symbol>,
}

#[derive(Debug)]
enum Line {
    Statement(Statement),
    CodeNode(Box<Draft>),
}

/// Returns the nodes as statements. Groups become calls of parts. `outputs` are used afterwards.
pub fn split(
    items: Vec<Item<'_>>,
    inputs: &[ValueId],
    outputs: &[ValueId],
    source: &mut Source<'_, '_>,
    diagnostics: &mut Diagnostics,
) -> Vec<Statement> {
    let nodes = items.iter().flat_map(Item::nodes);
    let mut uses = BTreeMap::new();
    for id in nodes.flat_map(|node| node.reads()).chain(outputs.iter().copied()) {
        *uses.entry(id).or_insert(0usize) += 1;
    }
    let (layer, cx) = (&mut *source.layer, &mut *source.cx);
    let results = outputs.iter().copied().collect();
    let mut lines = draft(items, layer, &uses, &results, cx, diagnostics);
    return_sizes(&mut lines, inputs, outputs, cx);
    lines.into_iter().map(|line| statement(line, layer, cx)).collect()
}

/// Returns the expressions of the outputs of the model.
pub fn results(outputs: &[Port], root: &mut Layer, cx: &mut Context<'_>) -> Result<Vec<Code>, Problem> {
    let mut source = Source { layer: root, cx, loading: false };
    let mut result = |port: &Port| match &port.ty {
        Type::Tensor(tensor) if tensor.dtype != DType::String => source.device_value(port.id),
        Type::Tensor(_) => {
            let value = source.host_value(port.id)?;
            Ok(if port.scalar { code!(#value.item()) } else { value })
        }
        _ => Ok(source.whole(port.id)),
    };
    let rounded = |port: &Port| {
        let result = result(port)?;
        Ok(match rounded_to(&port.ty) {
            Some(dtype) => {
                let dtype = element_type(dtype);
                code!(exit::rounded(#result, #dtype))
            }
            None => result,
        })
    };
    outputs.iter().map(rounded).collect()
}

/// Returns the dtype to which the floats of an output are rounded, because devices may compute more precisely.
fn rounded_to(output: &Type) -> Option<DType> {
    match output {
        Type::Tensor(tensor) => Some(tensor.dtype).filter(|dtype| dtype.is_half()),
        Type::Sequence(item) | Type::Optional(item) => rounded_to(item),
        Type::Unranked(_) | Type::Nothing(_) | Type::Map(..) => None,
    }
}

fn draft(
    items: Vec<Item<'_>>,
    layer: &mut Layer,
    uses: &BTreeMap<ValueId, usize>,
    results: &BTreeSet<ValueId>,
    cx: &mut Context<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<Line> {
    let mut lines = Vec::new();
    for item in items {
        match item {
            Item::Node(node) => {
                let nodes = std::slice::from_ref(node);
                let made = body::statements(nodes, cx, layer, diagnostics);
                lines.extend(made.into_iter().map(Line::Statement));
            }
            Item::Group(group) => {
                let (mut inputs, outputs) = interface(&group, uses, results, cx);
                let mut inner = if group.numbered { Layer::plain() } else { Layer::within(&group.path) };
                let (field, place) = (group.field(), group.place());
                let type_name = group.type_name(&cx.module);
                inner.owned = group.owned;
                let made = draft(group.items, &mut inner, uses, results, cx, diagnostics);
                inputs.extend(tied(&made, &inner, cx));
                lines.push(Line::CodeNode(Box::new(Draft {
                    field,
                    place,
                    type_name,
                    lines: made,
                    layer: inner,
                    inputs,
                    outputs,
                    returned: Vec::new(),
                })));
            }
        }
    }
    lines
}

/// Returns the weights that lines use and that an enclosing struct contains.
fn tied(lines: &[Line], layer: &Layer, cx: &Context<'_>) -> Vec<ValueId> {
    if cx.tied.is_empty() {
        return Vec::new();
    }
    let reads = |line: &Line| match line {
        Line::Statement(statement) => statement.code.variables(),
        Line::CodeNode(part) => part.inputs.iter().map(|&id| variable(id)).collect(),
    };
    let reads: BTreeSet<Variable> = lines.iter().flat_map(reads).collect();
    let tied = reads.iter().filter_map(|read| cx.tied.get(read));
    tied.filter(|id| !layer.owned.contains(id)).copied().collect()
}

/// Returns the inputs and outputs of a group.
fn interface(
    group: &Group<'_>,
    uses: &BTreeMap<ValueId, usize>,
    results: &BTreeSet<ValueId>,
    cx: &Context<'_>,
) -> (Vec<ValueId>, Vec<ValueId>) {
    let passed = |id: &ValueId| {
        let value = &cx.values[*id];
        !value.is_stored() && value.known.is_none() && !value.is_nothing()
    };
    let nodes = group.nodes();
    let mut inside: BTreeMap<ValueId, usize> = BTreeMap::new();
    let (mut made, mut taken) = (BTreeSet::new(), BTreeSet::new());
    let mut inputs = Vec::new();
    for node in &nodes {
        for id in node.reads() {
            *inside.entry(id).or_insert(0) += 1;
            if !made.contains(&id) && passed(&id) && taken.insert(id) {
                inputs.push(id);
            }
        }
        made.extend(node.outputs.iter().flatten().copied());
    }
    let outputs = nodes.iter().flat_map(|node| node.outputs.iter().flatten().copied());
    let needed = |id: &ValueId| uses.get(id) > inside.get(id) || results.contains(id);
    let outputs = outputs.filter(|id| passed(id) && needed(id));
    (inputs, outputs.collect())
}

impl Line {
    /// Returns the sizes that the line uses and does not bind itself.
    fn wants(&self, cx: &Context<'_>) -> BTreeSet<Symbol> {
        match self {
            Line::Statement(statement) => cx.sizes.used(&statement.code),
            Line::CodeNode(part) => free(&part.lines, &part.inputs, cx),
        }
    }

    /// Returns the sizes that its results provide to later lines.
    fn sizes<'l>(&'l self, cx: &'l Context<'_>) -> Box<dyn Iterator<Item = &'l Symbol> + 'l> {
        match self {
            Line::Statement(statement) => Box::new(body::sizes(statement, cx)),
            Line::CodeNode(part) => {
                let names = part.outputs.iter().flat_map(|&id| body::names(id, cx));
                Box::new(part.returned.iter().chain(names))
            }
        }
    }

    /// Makes the part that binds a `wanted` size return it, and the parts that contain this part. Returned sizes are
    /// removed from `wanted`.
    fn return_sizes(&mut self, wanted: &mut BTreeSet<Symbol>, cx: &Context<'_>) -> BTreeSet<Symbol> {
        match self {
            Line::Statement(statement) => {
                body::sizes(statement, cx).filter_map(|symbol| wanted.take(symbol)).collect()
            }
            Line::CodeNode(part) => {
                let lines = part.lines.iter_mut();
                let returned: BTreeSet<Symbol> =
                    lines.flat_map(|line| line.return_sizes(wanted, cx)).collect();
                part.returned.extend(returned.iter().cloned());
                returned
            }
        }
    }
}

/// Returns the sizes that lines use and that neither earlier lines nor the inputs provide.
fn free(lines: &[Line], inputs: &[ValueId], cx: &Context<'_>) -> BTreeSet<Symbol> {
    let mut free = BTreeSet::new();
    let mut bound: BTreeSet<&Symbol> = inputs.iter().flat_map(|&id| body::names(id, cx)).collect();
    for line in lines {
        let wanted = line.wants(cx).into_iter();
        free.extend(wanted.filter(|symbol| !bound.contains(symbol)));
        bound.extend(line.sizes(cx));
    }
    free
}

/// Makes parts return the sizes that later lines or the outputs depend on.
fn return_sizes(lines: &mut [Line], inputs: &[ValueId], outputs: &[ValueId], cx: &Context<'_>) {
    let mut wanted = free(lines, inputs, cx);
    let made = lines.iter().flat_map(|line| line.sizes(cx));
    let of_inputs = inputs.iter().flat_map(|&id| body::names(id, cx));
    let bound: BTreeSet<&Symbol> = made.chain(of_inputs).collect();
    for &id in outputs {
        if let Some(Known::Ints(dims)) = cx.values[id].known.peek() {
            let symbols = dims.iter().flat_map(Dim::symbols);
            wanted.extend(symbols.filter(|symbol| !bound.contains(symbol)));
        }
    }
    for line in lines {
        line.return_sizes(&mut wanted, cx);
    }
}

/// Converts a part to a call. Its struct is created, or shared with an equal part.
fn statement(line: Line, layer: &mut Layer, cx: &mut Context<'_>) -> Statement {
    let mut part = match line {
        Line::Statement(statement) => return statement,
        Line::CodeNode(part) => *part,
    };
    let sizes = free(&part.lines, &part.inputs, cx);
    let sizes: Vec<Symbol> = sizes.into_iter().collect();
    let lines: Vec<Statement> = std::mem::take(&mut part.lines)
        .into_iter()
        .map(|line| statement(line, &mut part.layer, cx))
        .collect();
    let lines = join(lines, &part.outputs, &mut part.layer, cx);
    let mut results: Vec<Code> = part
        .outputs
        .iter()
        .map(|&id| {
            let name = variable(id);
            code!(#name)
        })
        .collect();
    results.extend(part.returned.iter().map(|symbol| cx.sizes.variable(symbol)));
    let result = tuple(&results);
    let named = parameters(&part.inputs, &lines, &result, cx);
    let body = body::finish(&lines, &result, &named, &sizes, &BTreeSet::new(), cx);
    let shown = forward(&part, &body.named, body.device, &sizes, cx);
    // Parts are compared without the names of their values.
    let alike = forward(&part, &body.plain, body.device, &sizes, cx).forward;
    let argument = |&id: &ValueId| {
        if layer.owned.contains(&id) {
            Source { layer: &mut *layer, cx: &mut *cx, loading: false }.owned(id)
        } else {
            let argument = variable(id);
            code!(#argument)
        }
    };
    let mut arguments: Vec<Code> = part.inputs.iter().map(argument).collect();
    arguments.extend(sizes.iter().map(|symbol| cx.sizes.variable(symbol)));
    if body.device {
        arguments.push(code!(device));
    }
    part.layer.order(&body.named.code);
    part.layer.finish_steps();
    let has_tensor = part.layer.device_field().is_some();
    let (ty, load) = cx.structs.instance(&part.field, &part.type_name, &part.layer, &alike, shown, &cx.hints);
    let field = layer.field(&part.field, ty, load, part.layer.parameters());
    if let Some(place) = part.place {
        layer.set_place(&field, place);
    }
    if has_tensor {
        layer.mark_device_field(&field);
    }
    let field = Code::field(&field);
    Statement {
        outputs: part.outputs.iter().map(|&id| Some(id)).collect(),
        sizes: part.returned,
        code: code!(#field.forward(#(#arguments),*)),
        looped: Code::default(),
        trace: Code::default(),
        hint: Hint {
            name: super::snake(&part.field),
            maker: value_names::of_layer(&part.field).filter(|_| part.outputs.len() == 1),
            ..Hint::default()
        },
    }
}
