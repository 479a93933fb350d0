//! Statements of one function, with their sizes and names.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::ownership::owned;
use super::variables::{Hint, Namer, SHORT};
use super::{
    Context, Emit, Layer, Source, inline, name, redundant_bindings, scalar, trace, value_names, variable,
};
use crate::diagnostics::Diagnostics;
use crate::dim::{Dim, Symbol};
use crate::graph::{Node, ValueId};
use crate::rust::{Code, CodeNode, Size, Variable, code};
use crate::types::Type;

/// A `let` statement of a function.
#[derive(Clone, Debug)]
pub struct Statement {
    pub outputs: Vec<Option<ValueId>>,
    /// Sizes that a call returns in addition to its values.
    pub sizes: Vec<Symbol>,
    pub code: Code,
    /// Loop after the statement, which assigns new values to the variable.
    pub looped: Code,
    /// Call that shows the values after the statement, if the model is traced.
    pub trace: Code,
    /// Preferred names of the variables.
    pub hint: Hint,
}

/// Body of a function, with named variables.
#[derive(Debug)]
pub struct Body {
    pub named: NamedCode,
    /// The body with names that contain no words of the file, so that equal functions have equal code.
    pub plain: NamedCode,
    /// Whether the body uses `device`.
    pub device: bool,
    /// Sizes that are used before any value of the function has them.
    pub unbound: BTreeSet<Symbol>,
    /// Parameters of one element that are plain numbers or Booleans instead of arrays.
    pub elements: BTreeSet<ValueId>,
}

/// A body with one choice of names.
#[derive(Debug)]
pub struct NamedCode {
    pub code: Code,
    /// Names of the parameters, values before sizes.
    pub parameters: Vec<String>,
}

/// Returns the nodes as statements, and reports nodes that fail.
pub fn statements(
    nodes: &[Node],
    cx: &mut Context<'_>,
    layer: &mut Layer,
    diagnostics: &mut Diagnostics,
) -> Vec<Statement> {
    let mut statements = Vec::new();
    for node in nodes {
        if cx.budget.is_spent() {
            break;
        }
        let before = (layer.fields.len(), layer.bindings.len());
        layer.latest = None;
        let mut emit =
            Emit { node, source: Source { layer, cx, loading: false }, fails: false, made: OnceCell::new() };
        let code = emit.expression().and_then(|code| {
            let mut made = layer.made_since(before);
            made.try_for_each(|made| cx.budget.spend(made))?;
            cx.budget.spend(&code)?;
            Ok(code)
        });
        let latest = layer.latest.take();
        match code {
            Ok(code) => {
                let outputs = match node.operator.flow() {
                    // Control flow returns only the outputs that have consumers.
                    Some(_) => node.outputs.iter().copied().filter(Option::is_some).collect(),
                    None => node.outputs.clone(),
                };
                statements.push(Statement {
                    trace: trace::step(node, &outputs, layer, cx),
                    outputs,
                    sizes: Vec::new(),
                    looped: Code::default(),
                    hint: hint(node, &code, latest),
                    code,
                });
            }
            Err(problem) => diagnostics.push(problem.at(node.site(cx.values))),
        }
    }
    statements
}

/// Returns the preferred names of a node's results. `latest` is the name of the layer that the node added.
fn hint(node: &Node, code: &Code, latest: Option<String>) -> Hint {
    let is_call = |part: &CodeNode| matches!(part, CodeNode::Method("forward", _));
    let layer = latest.filter(|_| code.any(&mut |part| is_call(part)));
    let operator = name::operator(&node.kind);
    let (maker, keeps) = match layer {
        Some(layer) => (value_names::of_layer(&layer), 0),
        None => (value_names::of_operator(operator).map(str::to_owned), value_names::kept(&node.kind)),
    };
    Hint { name: name::snake(operator), maker, keeps, ..Hint::default() }
}

/// Returns the sizes that a statement provides: named axes of its results, and sizes that it returns.
pub fn sizes<'c>(statement: &'c Statement, cx: &'c Context<'_>) -> impl Iterator<Item = &'c Symbol> {
    let outputs = statement.outputs.iter().flatten();
    let names = outputs.flat_map(|&id| names(id, cx));
    statement.sizes.iter().chain(names)
}

/// Returns the named sizes that are axes of a value.
pub fn names<'c>(id: ValueId, cx: &'c Context<'_>) -> impl Iterator<Item = &'c Symbol> {
    let tensor = cx.values[id].ty.as_ref().and_then(Type::as_tensor);
    let shape = tensor.into_iter().flat_map(|tensor| &tensor.shape);
    shape.filter_map(Dim::name)
}

/// Returns the function's body: sizes are bound, values moved or cloned, variables named.
pub fn finish(
    statements: &[Statement],
    result: &Code,
    parameters: &[(ValueId, String)],
    sizes: &[Symbol],
    scalars: &BTreeSet<ValueId>,
    cx: &mut Context<'_>,
) -> Body {
    let ids: Vec<ValueId> = parameters.iter().map(|(id, _)| *id).collect();
    let passed: BTreeSet<&Symbol> = sizes.iter().collect();
    let wanted = |symbol: &Symbol| !passed.contains(symbol);
    let (lines, unbound) = bind(statements, result, &ids, wanted, cx);
    let code = redundant_bindings::shorten(&code!(#lines #result));
    let all = scalars.iter().map(|&id| variable(id)).collect();
    let (code, plain) = scalar::elements(&code, &all);
    let elements = scalars.iter().copied();
    let elements = elements.filter(|&id| plain.contains(&variable(id))).collect();
    let code = owned(&inline::nested(&code, &mut cx.hints));
    let mentioned = cx.sizes.mentioned(&code, sizes).into_iter();
    let mentioned: Vec<(Size, String)> =
        mentioned.map(|(size, symbol)| (size, name::snake(&symbol))).collect();
    // Sizes that data determines have different names in each layer.
    let unnamed: Vec<(Size, String)> = mentioned.iter().map(|(size, _)| (*size, "size".to_owned())).collect();
    let sizes = sizes.iter().filter_map(|symbol| cx.sizes.size(symbol));
    let sizes: Vec<Size> = sizes.collect();
    let named = |mut namer: Namer<'_>| {
        let values = ids.iter().map(|&id| namer.name(variable(id)));
        let sizes = sizes.iter().map(|size| namer.size(*size));
        let parameters = values.chain(sizes).collect();
        NamedCode { parameters, code: namer.rename(&code) }
    };
    let wanted = parameters.iter();
    let wanted: Vec<(Variable, String)> =
        wanted.map(|(id, wanted)| (variable(*id), wanted.clone())).collect();
    let short = SHORT.into_iter().chain(std::iter::repeat("more"));
    let short: Vec<(Variable, String)> =
        ids.iter().zip(short).map(|(&id, short)| (variable(id), short.to_owned())).collect();
    Body {
        named: named(Namer::new(&code, &wanted, &mentioned, &cx.hints)),
        plain: named(Namer::new(&code, &short, &unnamed, &cx.hints).plain()),
        device: code.uses_device(),
        unbound,
        elements,
    }
}

impl Statement {
    /// Returns the expression and the loop after it.
    pub fn whole(&self) -> Code {
        let (code, looped) = (&self.code, &self.looped);
        code!(#code #looped)
    }

    /// Returns `let pattern = expression;`.
    fn declaration(&self, cx: &mut Context<'_>) -> Code {
        let values = self.outputs.iter().map(|id| match id {
            Some(id) => {
                let name = variable(*id);
                code!(#name)
            }
            None => code!(_),
        });
        let sizes = self.sizes.iter().map(|symbol| cx.sizes.variable(symbol));
        let pattern: Vec<Code> = values.chain(sizes).collect();
        let expression = &self.code;
        for id in self.outputs.iter().flatten() {
            let hint = match cx.outputs.get(id) {
                Some(name) => Hint { name: name.clone(), ..Hint::default() },
                None => Hint {
                    chains: is_device_tensor(*id, cx),
                    word: value_names::of_value(&cx.values[*id].name),
                    ..self.hint.clone()
                },
            };
            cx.hints.insert(variable(*id), hint);
        }
        match pattern.as_slice() {
            [one] if !self.looped.is_empty() => {
                let looped = &self.looped;
                code!(let mut #one = #expression; #looped)
            }
            [one] => code!(let #one = #expression;),
            _ => match expression.parts() {
                // An array that would be converted to a tuple only to bind its elements.
                [array @ .., CodeNode::Method("into", none)] if none.is_empty() => {
                    code!(let [#(#pattern),*] = #array;)
                }
                _ => code!(let (#(#pattern),*) = #expression;),
            },
        }
    }
}

/// Returns the statements with bindings of the `wanted` sizes that are used, and the sizes that are used before any
/// value has them.
pub fn bind(
    statements: &[Statement],
    result: &Code,
    parameters: &[ValueId],
    wanted: impl Fn(&Symbol) -> bool,
    cx: &mut Context<'_>,
) -> (Code, BTreeSet<Symbol>) {
    let all: Code = statements.iter().map(Statement::whole).collect();
    let mut unbound = cx.sizes.used(&code!(#all #result));
    unbound.retain(wanted);
    let mut code = Code::default();
    let bind_sizes = |id: ValueId, unbound: &mut BTreeSet<Symbol>, cx: &mut Context<'_>| {
        let names = names(id, cx);
        let symbols: BTreeSet<Symbol> = names.filter_map(|name| unbound.take(name)).collect();
        binding(id, &symbols, cx)
    };
    for &id in parameters {
        code.extend(bind_sizes(id, &mut unbound, cx));
    }
    // A size that a statement uses before any value has it is bound too late.
    let mut late = BTreeSet::new();
    for statement in statements {
        let needed = cx.sizes.used(&statement.whole()).into_iter();
        late.extend(needed.filter(|symbol| unbound.contains(symbol)));
        code.extend(statement.declaration(cx));
        code.extend(&statement.trace);
        for symbol in &statement.sizes {
            unbound.remove(symbol);
        }
        for &id in statement.outputs.iter().flatten() {
            code.extend(bind_sizes(id, &mut unbound, cx));
        }
    }
    unbound.extend(late);
    (code, unbound)
}

/// Returns `let [batch, _, width] = x.dims();`.
fn binding(id: ValueId, symbols: &BTreeSet<Symbol>, cx: &mut Context<'_>) -> Code {
    if symbols.is_empty() {
        return Code::default();
    }
    let Some(Type::Tensor(tensor)) = cx.values[id].ty.clone() else {
        return Code::default();
    };
    let name = variable(id);
    let mut seen = BTreeSet::new();
    let axes: Vec<Code> = tensor
        .shape
        .iter()
        .map(|dim| match dim.name() {
            Some(symbol) if symbols.contains(symbol) && seen.insert(symbol.clone()) => {
                cx.sizes.variable(symbol)
            }
            _ => code!(_),
        })
        .collect();
    if is_device_tensor(id, cx) {
        code!(let [#(#axes),*] = #name.dims();)
    } else {
        code!(let [#(#axes),*] = #name.sizes();)
    }
}

pub fn is_device_tensor(id: ValueId, cx: &Context<'_>) -> bool {
    let value = &cx.values[id];
    matches!(value.ty, Some(Type::Tensor(_))) && !cx.lives_on_host(id)
}
