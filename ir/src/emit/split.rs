//! Long graphs as several functions.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::body::{self, Statement};
use super::signature::Port;
use super::{Context, Layer, Source, rust_type, variable};
use crate::diagnostics::{Diagnostics, Problem};
use crate::dim::Symbol;
use crate::dtype::DType;
use crate::graph::{Block, Node, ValueId};
use crate::types::{Place, Type};

/// A function of more nodes than this is split: rustc's time grows with the square of its length.
const LONGEST: usize = 96;
/// About how many nodes a part has.
const PART: usize = 64;

/// The root's statements, and the structs of its parts.
#[derive(Debug)]
pub struct Parts {
    pub statements: Vec<Statement>,
    pub items: Vec<TokenStream>,
}

/// One part on its way to a struct of its own.
struct Part {
    statements: Vec<Statement>,
    layer: Layer,
    inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
    /// Sizes that it is given, and sizes that it returns.
    given: Vec<Symbol>,
    returned: Vec<Symbol>,
}

/// The body as statements of the root, with parts where it is long.
pub fn split(
    body: &Block,
    cx: &mut Context<'_>,
    root: &mut Layer,
    diagnostics: &mut Diagnostics,
) -> Parts {
    if body.nodes.len() <= LONGEST {
        return Parts {
            statements: body::statements(&body.nodes, cx, root, diagnostics),
            items: Vec::new(),
        };
    }
    let count = body.nodes.len().div_ceil(PART).max(1);
    let length = body.nodes.len().div_ceil(count).max(1);
    let chunks: Vec<&[Node]> = body.nodes.chunks(length).collect();
    let mut parts: Vec<Part> = interfaces(&chunks, &body.outputs, cx)
        .into_iter()
        .zip(&chunks)
        .map(|((inputs, outputs), nodes)| {
            let mut layer = Layer::default();
            let statements = body::statements(nodes, cx, &mut layer, diagnostics);
            let given = body::free_sizes(&statements, &inputs, cx)
                .into_iter()
                .collect();
            Part {
                statements,
                layer,
                inputs,
                outputs,
                given,
                returned: Vec::new(),
            }
        })
        .collect();
    return_sizes(&mut parts, &body.inputs, cx);
    let mut items = Vec::new();
    let mut statements = Vec::new();
    for (at, part) in parts.into_iter().enumerate() {
        let (item, statement) = structure(part, at + 1, cx, root);
        items.push(item);
        statements.push(statement);
    }
    Parts { statements, items }
}

/// The values that the root returns.
pub fn results(
    outputs: &[Port],
    root: &mut Layer,
    cx: &mut Context<'_>,
) -> Result<Vec<TokenStream>, Problem> {
    let mut source = Source { layer: root, cx };
    let mut result = |port: &Port| match &port.ty {
        Type::Tensor(tensor) if tensor.dtype != DType::String => source.device_value(port.id),
        Type::Tensor(_) => {
            let value = source.host_value(port.id)?;
            Ok(match port.scalar {
                true => quote!(#value.item().clone()),
                false => value,
            })
        }
        _ => {
            let name = variable(port.id);
            Ok(quote!(#name))
        }
    };
    outputs.iter().map(&mut result).collect()
}

/// What each part takes from parts before it and gives to parts after it.
fn interfaces(
    chunks: &[&[Node]],
    results: &[ValueId],
    cx: &Context<'_>,
) -> Vec<(Vec<ValueId>, Vec<ValueId>)> {
    let passed = |id: &ValueId| {
        let value = &cx.values[*id];
        value.weight.is_none() && value.known.is_none()
    };
    let mut last_use: BTreeMap<ValueId, usize> = BTreeMap::new();
    for (at, nodes) in chunks.iter().enumerate() {
        for id in nodes.iter().flat_map(Node::reads) {
            last_use.insert(id, at);
        }
    }
    for id in results {
        last_use.insert(*id, chunks.len());
    }
    let interface = |(at, nodes): (usize, &&[Node])| {
        let made: BTreeSet<ValueId> = nodes
            .iter()
            .flat_map(|node| node.outputs.iter().flatten().copied())
            .collect();
        let mut seen = BTreeSet::new();
        let reads = nodes.iter().flat_map(Node::reads);
        let inputs = reads.filter(|id| !made.contains(id) && passed(id) && seen.insert(*id));
        let outputs = nodes
            .iter()
            .flat_map(|node| node.outputs.iter().flatten().copied());
        let outputs =
            outputs.filter(|id| last_use.get(id).is_some_and(|&end| end > at) && passed(id));
        (inputs.collect(), outputs.collect())
    };
    chunks.iter().enumerate().map(interface).collect()
}

/// Sizes that a part needs and the root cannot tell are returned by the part that can.
fn return_sizes(parts: &mut [Part], inputs: &[ValueId], cx: &Context<'_>) {
    let needed: BTreeSet<Symbol> = parts.iter().flat_map(|part| part.given.clone()).collect();
    for symbol in needed {
        let visible = |id: &ValueId| tells(*id, &symbol, cx);
        let told =
            inputs.iter().any(visible) || parts.iter().any(|part| part.outputs.iter().any(visible));
        if told {
            continue;
        }
        let maker = parts.iter_mut().find(|part| {
            part.statements
                .iter()
                .any(|made| body::tells(made, &symbol, cx))
        });
        if let Some(part) = maker {
            part.returned.push(symbol);
        }
    }
}

fn tells(id: ValueId, symbol: &Symbol, cx: &Context<'_>) -> bool {
    match &cx.values[id].ty {
        Some(Type::Tensor(tensor)) => tensor.shape.iter().any(|dim| dim.name() == Some(symbol)),
        _ => false,
    }
}

fn structure(
    part: Part,
    number: usize,
    cx: &mut Context<'_>,
    root: &mut Layer,
) -> (TokenStream, Statement) {
    let name = format_ident!("Block{number}");
    let hint = |at: usize| {
        ["x", "y", "z", "w"]
            .get(at)
            .map_or("value".to_owned(), |short| (*short).to_owned())
    };
    let named: Vec<(ValueId, String)> = part
        .inputs
        .iter()
        .enumerate()
        .map(|(at, &id)| (id, hint(at)))
        .collect();
    let mut results: Vec<TokenStream> = part
        .outputs
        .iter()
        .map(|&id| {
            let name = variable(id);
            quote!(#name)
        })
        .collect();
    results.extend(part.returned.iter().map(|symbol| cx.sizes.variable(symbol)));
    let result = match results.as_slice() {
        [one] => one.clone(),
        _ => quote!((#(#results),*)),
    };
    let body = body::finish(&part.statements, &result, &named, &part.given, cx);
    let types = |id: &ValueId, cx: &Context<'_>| {
        let value = &cx.values[*id];
        let place = match cx.lives_on_host(*id) {
            true => Place::Host,
            false => Place::Device,
        };
        value
            .ty
            .as_ref()
            .map(|ty| rust_type(ty, place))
            .unwrap_or_default()
    };
    let mut parameters = Vec::new();
    let mut arguments = Vec::new();
    let mut names = body.parameters.iter();
    for id in &part.inputs {
        let ident = names.next().map(|name| format_ident!("{name}"));
        let ty = types(id, cx);
        parameters.push(quote!(#ident: #ty));
        let argument = variable(*id);
        arguments.push(quote!(#argument));
    }
    for symbol in &part.given {
        let ident = names.next().map(|name| format_ident!("{name}"));
        parameters.push(quote!(#ident: usize));
        arguments.push(cx.sizes.variable(symbol));
    }
    if body.device {
        parameters.push(quote!(device: &Device));
        arguments.push(quote!(device));
    }
    let mut returns: Vec<TokenStream> = part.outputs.iter().map(|id| types(id, cx)).collect();
    returns.extend(part.returned.iter().map(|_| quote!(usize)));
    let returns = match returns.as_slice() {
        [one] => one.clone(),
        _ => quote!((#(#returns),*)),
    };
    let (fields, loads, tokens) = (part.layer.declarations(), part.layer.loads(), &body.tokens);
    // A struct without fields has nothing to derive a module from.
    let has_fields = !part.layer.fields.is_empty();
    let weights = match has_fields {
        true => quote!(weights),
        false => quote!(_weights),
    };
    let item = quote! {
        #[derive(Module, Debug)]
        struct #name {
            #fields
        }

        impl #name {
            #[inline(never)]
            fn forward(&self, #(#parameters),*) -> #returns {
                #tokens
            }

            fn load(#weights: &Weights<'_>) -> Self {
                Self { #loads }
            }
        }
    };
    let field = root.field(
        &format!("block{number}"),
        quote!(#name),
        quote!(#name::load(weights)),
    );
    let field = format_ident!("{field}");
    let statement = Statement {
        outputs: part.outputs.iter().map(|&id| Some(id)).collect(),
        sizes: part.returned,
        tokens: quote!(self.#field.forward(#(#arguments),*)),
        hint: "value".to_owned(),
    };
    (item, statement)
}
