//! Constructors: fields, and what several of them share.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::own::Owner;
use super::variables::{Hint, Namer};
use super::{Layer, Source, name, variable};
use crate::graph::{Block, Graph, Node, ValueId};

/// What is computed from weights and read more than once.
pub fn repeated(graph: &Graph) -> BTreeSet<ValueId> {
    let mut counts = BTreeMap::new();
    count_block(graph, &graph.body, &mut counts);
    let repeated = counts.into_iter().filter(|(_, count)| *count > 1);
    repeated.map(|(id, _)| id).collect()
}

fn count_block(graph: &Graph, block: &Block, counts: &mut BTreeMap<ValueId, usize>) {
    for node in &block.nodes {
        count_node(graph, node, counts);
        for (_, inner) in &node.blocks {
            count_block(graph, inner, counts);
        }
    }
}

fn count_node(graph: &Graph, node: &Node, counts: &mut BTreeMap<ValueId, usize>) {
    for &id in node.inputs.iter().flatten() {
        let Some(maker) = &graph.values[id].maker else {
            continue;
        };
        let count = counts.entry(id).or_insert(0usize);
        *count += 1;
        // What it is made of is read once, however often it is itself.
        if *count == 1 {
            count_node(graph, maker, counts);
        }
    }
}

impl Source<'_, '_> {
    /// The expression of a computed constant; one that is read again is bound to a variable.
    pub(super) fn bound(
        &mut self,
        id: ValueId,
        expression: TokenStream,
        before: Vec<(ValueId, TokenStream)>,
    ) -> TokenStream {
        for (id, held) in before {
            self.layer.bind(id, held);
        }
        if !self.cx.repeated.contains(&id) {
            return expression;
        }
        self.layer.bind(id, expression);
        let hint = Hint {
            name: self.cx.stored_name(id),
            chains: false,
        };
        let name = variable(id);
        self.cx.hints.insert(name.to_string(), hint);
        quote!(#name)
    }
}

impl Layer {
    fn bind(&mut self, id: ValueId, expression: TokenStream) {
        if self.bindings.iter().all(|(held, _)| *held != id) {
            self.bindings.push((id, expression));
        }
    }

    /// The body of a constructor, with a further field.
    pub fn load(&self, further: TokenStream, hints: &BTreeMap<String, Hint>) -> TokenStream {
        let bindings = self.bindings.iter().map(|(id, expression)| {
            let name = variable(*id);
            quote!(let #name = #expression;)
        });
        let fields = self.fields.iter().map(|field| {
            let (name, load) = (format_ident!("{}", field.name), &field.load);
            quote!(#name: #load,)
        });
        let tokens = quote!(#(#bindings)* Self { #(#fields)* #further });
        if self.bindings.is_empty() {
            return tokens;
        }
        let hints = hints.iter().map(|(variable, hint)| {
            let name = name::snake(&self.relative(&hint.name));
            (
                variable.clone(),
                Hint {
                    name,
                    chains: false,
                },
            )
        });
        let hints = hints.collect();
        let tokens = Owner::new(&tokens).rewrite(tokens);
        let weights = [("weights".to_owned(), "weights".to_owned())];
        Namer::new(&tokens, &weights, &[], &hints).rename(&tokens)
    }
}
