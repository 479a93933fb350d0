//! The parameters of a model: what an optimizer changes, and statistics.

use std::collections::BTreeSet;

use proc_macro2::{Literal, TokenStream, TokenTree};
use quote::quote;

use super::{Context, Layer};
use crate::graph::{Block, Graph, ValueId};

/// The parameters that normalization by statistics of training reads as such, and nothing else reads.
pub fn statistics(graph: &Graph) -> BTreeSet<ValueId> {
    let (mut statistics, mut others) = (BTreeSet::new(), BTreeSet::new());
    sort(&graph.body, &mut statistics, &mut others);
    &statistics - &others
}

fn sort(block: &Block, statistics: &mut BTreeSet<ValueId>, others: &mut BTreeSet<ValueId>) {
    for node in &block.nodes {
        for (at, input) in node.inputs.iter().enumerate() {
            let statistic = &*node.kind == "BatchNormalization" && at >= 3;
            match statistic {
                true => statistics.extend(input),
                false => others.extend(input),
            }
        }
        let blocks = node.blocks.iter();
        blocks.for_each(|(_, inner)| sort(inner, statistics, others));
    }
    others.extend(&block.outputs);
}

/// `PARAMETERS`: where the model has the parameters of the file.
pub fn table(root: &Layer, cx: &mut Context<'_>) -> TokenStream {
    let parameters = root.parameters().into_iter().map(|(path, id)| {
        let name = cx.weight_name(id);
        let trained = !cx.statistics.contains(&id);
        let weight = cx.values[id].weight.iter();
        let sizes = weight.flat_map(|weight| &weight.sizes);
        let sizes = sizes.map(|&size| Literal::usize_unsuffixed(size));
        quote!(Parameter { path: #path, name: #name, shape: &[#(#sizes),*], trained: #trained })
    });
    let parameters: Vec<TokenStream> = parameters.collect();
    quote!(&[#(#parameters),*])
}

/// Whether a constructor loads a weight again that stands more than once in the graph: parts that
/// were taken for the same are not.
pub fn are_loaded_again(root: &TokenStream, cx: &Context<'_>) -> bool {
    let mut names: BTreeSet<String> = BTreeSet::new();
    let made = cx
        .values
        .iter()
        .filter_map(|(_, value)| value.maker.as_ref());
    let inside: BTreeSet<ValueId> = made
        .flat_map(|node| node.inputs.iter().flatten().copied())
        .collect();
    for id in cx.shared.difference(&inside) {
        let name = cx.weights.get(id);
        names.extend(name.map(|name| Literal::string(name).to_string()));
    }
    let mut seen = BTreeSet::new();
    let mut loads = std::iter::once(root).chain(cx.structs.loads());
    !names.is_empty() && loads.any(|load| is_again(load, &names, &mut seen))
}

fn is_again(tokens: &TokenStream, names: &BTreeSet<String>, seen: &mut BTreeSet<String>) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Group(group) => is_again(&group.stream(), names, seen),
        TokenTree::Literal(literal) => {
            let text = literal.to_string();
            names.contains(&text) && !seen.insert(text)
        }
        _ => false,
    })
}
