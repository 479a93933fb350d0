//! Functions of a part.

use std::collections::BTreeSet;

use quote::format_ident;

use super::Draft;
use crate::dim::Symbol;
use crate::emit::async_form::async_form;
use crate::emit::body::{NamedCode, Statement};
use crate::emit::structs::Functions;
use crate::emit::tree::is_number;
use crate::emit::variables::SHORT;
use crate::emit::{Context, rust_type, snake, value_names, variable};
use crate::graph::ValueId;
use crate::rust::{Code, CodeNode, Variable, code};
use crate::types::Placement;

/// Returns preferred names for the parameters of a part: `residual`, names of the model's inputs, words of the file, or
/// short names. Numbers are omitted, because equal parts have different ones.
pub fn parameters(
    ids: &[ValueId],
    lines: &[Statement],
    result: &Code,
    cx: &Context<'_>,
) -> Vec<(ValueId, String)> {
    let code: Code = lines.iter().map(Statement::whole).collect();
    let residuals = residuals(&code!(#code #result));
    let mut short = SHORT.iter().map(|short| (*short).to_owned());
    let mut words = BTreeSet::new();
    let mut named = |id: &ValueId| match cx.inputs.get(id) {
        _ if residuals.contains(&variable(*id)) => "residual".to_owned(),
        Some(name) => {
            let words = name.split('_').filter(|word| !is_number(word));
            snake(&words.collect::<Vec<_>>().join("_"))
        }
        None => {
            let word = value_names::of_value(&cx.values[*id].name);
            let word = word.filter(|word| words.insert(word.clone()));
            word.or_else(|| short.next()).unwrap_or_else(|| "more".to_owned())
        }
    };
    ids.iter().map(|id| (*id, named(id))).collect()
}

/// Returns the values whose only use is to be added to the result of a layer.
fn residuals(code: &Code) -> BTreeSet<Variable> {
    let uses = code.counts();
    let mut residuals = BTreeSet::new();
    code.each_part(&mut |part| residuals.extend(added(part)));
    residuals.retain(|value| uses.get(value) == Some(&1));
    residuals
}

/// Returns the value that a layer adds to its result.
fn added(call: &CodeNode) -> Option<Variable> {
    let CodeNode::Method("forward_add", arguments) = call else {
        return None;
    };
    match arguments.parts() {
        [.., CodeNode::Sign(","), CodeNode::Value(value, _)] => Some(*value),
        _ => None,
    }
}

/// Returns the functions of a part.
pub fn forward(
    part: &Draft,
    body: &NamedCode,
    device: bool,
    sizes: &[Symbol],
    cx: &Context<'_>,
) -> Functions {
    let mut names = body.parameters.iter().map(|name| format_ident!("{name}"));
    let values = part.inputs.iter().zip(names.by_ref()).map(|(&id, name)| {
        let ty = value_type(id, cx);
        code!(#name: #ty)
    });
    let mut parameters: Vec<Code> = values.collect();
    parameters.extend(sizes.iter().zip(names).map(|(_, name)| code!(#name: usize)));
    if device {
        parameters.push(code!(device: &Device));
    }
    let mut returns: Vec<Code> = part.outputs.iter().map(|&id| value_type(id, cx)).collect();
    returns.extend(part.returned.iter().map(|_| code!(usize)));
    let (returns, code) = (tuple(&returns), &body.code);
    let async_body = async_form(code, &part.layer, &cx.structs);
    let async_body = async_body.map(|code| {
        code! {
            async fn forward_async(&self, #(#parameters),*) -> #returns {
                #code
            }
        }
    });
    let forward = code! {
        #[inline(never)]
        fn forward(&self, #(#parameters),*) -> #returns {
            #code
        }
    };
    Functions { forward, async_body }
}

fn value_type(id: ValueId, cx: &Context<'_>) -> Code {
    let placement = if cx.lives_on_host(id) { Placement::Host } else { Placement::Device };
    let ty = cx.values[id].ty.as_ref();
    ty.map(|ty| rust_type(ty, placement)).unwrap_or_default()
}

pub fn tuple(parts: &[Code]) -> Code {
    match parts {
        [one] => one.clone(),
        _ => code!((#(#parts),*)),
    }
}
