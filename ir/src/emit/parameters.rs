//! Parameters of a model: values that optimizers change, and statistics.

use std::collections::BTreeSet;

use proc_macro2::Literal;

use super::{Context, Layer};
use crate::graph::{Block, Graph, ValueId};
use crate::rust::{Code, CodeNode, code};
use crate::weight::{Weight, is_weight};

/// Returns the parameters that are used only as mean or variance of batch normalizations.
pub fn statistics(graph: &Graph) -> BTreeSet<ValueId> {
    let (mut statistics, mut others) = (BTreeSet::new(), BTreeSet::new());
    sort(&graph.body, &mut statistics, &mut others);
    &statistics - &others
}

fn sort(block: &Block, statistics: &mut BTreeSet<ValueId>, others: &mut BTreeSet<ValueId>) {
    for node in &block.nodes {
        for (at, input) in node.inputs.iter().enumerate() {
            let statistic = &*node.kind == "BatchNormalization" && at >= 3;
            if statistic { statistics.extend(input) } else { others.extend(input) }
        }
        let blocks = node.blocks.iter();
        blocks.for_each(|(_, inner)| sort(inner, statistics, others));
    }
    others.extend(&block.outputs);
}

/// Returns `PARAMETERS`: the paths of the file's parameters in the model.
pub fn table(root: &Layer, cx: &mut Context<'_>) -> Code {
    let parameters = root.parameters().into_iter().map(|(path, id)| {
        let name = cx.weight_name(id);
        let trained = !cx.statistics.contains(&id);
        let weight = cx.values[id].weight.iter();
        let sizes = weight.flat_map(|weight| &weight.sizes);
        let sizes = sizes.map(|&size| Literal::usize_unsuffixed(size));
        code!(Parameter { path: #path, name: #name, shape: &[#(#sizes),*], trained: #trained })
    });
    let parameters: Vec<Code> = parameters.collect();
    code!(&[#(#parameters),*])
}

/// Returns the number of elements of the weights that the program loads.
pub fn count(cx: &Context<'_>) -> usize {
    let weights = cx.weights.keys().filter_map(|id| cx.values[*id].weight.as_ref());
    let weights = weights.filter(|weight| is_weight(weight.dtype, &weight.sizes));
    weights.filter_map(Weight::count).sum()
}

/// Returns a note for the documentation of `PARAMETERS` if constructors compute layers from parameters, for example
/// from those of a normalization after a convolution.
pub fn note(root: &Layer, cx: &Context<'_>) -> Option<Code> {
    let listed: BTreeSet<ValueId> = root.parameters().into_iter().map(|(_, id)| id).collect();
    let mut loaded = cx.weights.keys();
    let computed = loaded.any(|id| cx.values[*id].parameter && !listed.contains(id));
    let note = " Parameters of the model, except those from which weights are computed during loading.";
    computed.then(|| code!(#[doc = #note]))
}

/// Returns `true` if constructors load a shared weight more than once, because parts that were considered equal are
/// not.
pub fn are_loaded_again(root: &Code, cx: &Context<'_>) -> bool {
    let made = cx.values.iter().filter_map(|(_, value)| value.maker.as_ref());
    let inside: BTreeSet<ValueId> = made.flat_map(|node| node.inputs.iter().flatten().copied()).collect();
    let shared = cx.shared.difference(&inside);
    let names = shared.filter_map(|id| cx.weights.get(id)).map(String::as_str);
    let names: BTreeSet<&str> = names.collect();
    let mut seen = BTreeSet::new();
    let mut is_again = |part: &CodeNode| match part {
        CodeNode::Weight(name) => names.contains(&**name) && !seen.insert(name.clone()),
        _ => false,
    };
    let mut loads = std::iter::once(root).chain(cx.structs.loads());
    // The expression that loads an array contains the first of its weights.
    let rows = cx.structs.rows().iter().flat_map(|row| row.iter().skip(1));
    !names.is_empty()
        && (loads.any(|load| load.any(&mut is_again))
            || rows.cloned().any(|name| is_again(&CodeNode::Weight(name))))
}
