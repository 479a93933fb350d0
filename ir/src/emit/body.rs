//! Statements of one function, and the sizes and names they need.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;

use super::own::{self, Owner};
use super::{Context, Emit, Layer, Source, name, variable};
use crate::diagnostics::{Diagnostics, Problem};
use crate::dim::Symbol;
use crate::graph::{Block, Node, ValueId};
use crate::types::{Place, Type};

/// One `let` of a function.
#[derive(Clone, Debug)]
pub struct Statement {
    pub outputs: Vec<Option<ValueId>>,
    /// Sizes that a call returns beside its values.
    pub sizes: Vec<Symbol>,
    pub tokens: TokenStream,
    /// What a variable may be called that has no better name.
    pub hint: String,
}

/// A function's body, its variables named.
#[derive(Debug)]
pub struct Body {
    pub tokens: TokenStream,
    /// The names of the parameters, those of sizes last.
    pub parameters: Vec<String>,
    /// Whether it uses `device`.
    pub device: bool,
    /// Sizes that nothing in the function tells.
    pub unbound: BTreeSet<Symbol>,
}

/// The nodes as statements; nodes that fail are reported.
pub fn statements(
    nodes: &[Node],
    cx: &mut Context<'_>,
    layer: &mut Layer,
    diagnostics: &mut Diagnostics,
) -> Vec<Statement> {
    let mut statements = Vec::new();
    for node in nodes {
        let mut emit = Emit {
            node,
            source: Source { layer, cx },
        };
        match node.operator.emit(&mut emit) {
            Ok(tokens) => statements.push(Statement {
                outputs: node.outputs.clone(),
                sizes: Vec::new(),
                tokens,
                hint: name::snake(node.kind.rsplit('.').next().unwrap_or_default()),
            }),
            Err(problem) => diagnostics.push(problem.at(node.site(cx.values))),
        }
    }
    statements
}

/// Whether a statement's results tell a size.
pub fn tells(statement: &Statement, symbol: &Symbol, cx: &Context<'_>) -> bool {
    let outputs = statement.outputs.iter().flatten();
    statement.sizes.contains(symbol) || outputs.clone().any(|&id| axis_of(id, symbol, cx).is_some())
}

/// The function's body: sizes bound, values moved or cloned, variables named.
pub fn finish(
    statements: &[Statement],
    result: &TokenStream,
    parameters: &[(ValueId, String)],
    sizes: &[Symbol],
    cx: &mut Context<'_>,
) -> Body {
    let ids: Vec<ValueId> = parameters.iter().map(|held| held.0).collect();
    let (lines, unbound) = bind(statements, result, &ids, sizes, cx);
    let all: TokenStream = lines.iter().map(|line| &line.tokens).cloned().collect();
    let mut owner = Owner::new(&quote!(#all #result));
    let owned: Vec<TokenStream> = lines
        .iter()
        .map(|line| owner.rewrite(line.tokens.clone()))
        .collect();
    let result = owner.rewrite(result.clone());
    let device = name::mentions(&quote!(#all #result), "device");
    let mut namer = Namer::new(parameters, sizes, cx, device);
    let tokens = namer.lines(&lines, owned, result);
    let named = |id: &ValueId| namer.names.get(&variable(*id).to_string());
    let mut names: Vec<String> = ids
        .iter()
        .map(|id| named(id).cloned().unwrap_or_default())
        .collect();
    for symbol in sizes {
        let variable = cx.sizes.variable(symbol).to_string();
        names.push(namer.names.get(&variable).cloned().unwrap_or_default());
    }
    Body {
        tokens,
        parameters: names,
        device,
        unbound,
    }
}

/// A nested block as the inside of braces; its names are chosen by the function around it.
pub fn nested(
    block: &Block,
    outputs: &[Place],
    source: &mut Source<'_, '_>,
) -> Result<TokenStream, Problem> {
    let mut diagnostics = Diagnostics::default();
    let made = statements(&block.nodes, source.cx, source.layer, &mut diagnostics);
    if let Some(problem) = diagnostics.into_first() {
        return Err(problem);
    }
    let mut results = Vec::new();
    for (&id, place) in block.outputs.iter().zip(outputs) {
        results.push(match place {
            Place::Host => source.host_value(id)?,
            Place::Device => source.device_value(id)?,
        });
    }
    let result = match results.as_slice() {
        [one] => one.clone(),
        _ => quote!((#(#results),*)),
    };
    let own = |symbol: &Symbol, cx: &Context<'_>| {
        let origin = cx.origins.get(symbol);
        origin.is_some_and(|origin| {
            made.iter()
                .any(|line| line.outputs.contains(&Some(*origin)))
        })
    };
    let mut tokens = TokenStream::new();
    for (at, line) in made.iter().enumerate() {
        tokens.extend(line.declaration(source.cx));
        for id in line.outputs.iter().flatten() {
            let later: TokenStream = made
                .iter()
                .skip(at + 1)
                .map(|line| line.tokens.clone())
                .collect();
            let used = source.cx.sizes.used(&quote!(#later #result));
            let wanted = |symbol: &&Symbol| {
                own(symbol, source.cx) && source.cx.origins.get(*symbol) == Some(id)
            };
            let wanted: Vec<Symbol> = used.iter().filter(wanted).cloned().collect();
            tokens.extend(binding(*id, &wanted, source.cx));
        }
    }
    Ok(quote!(#tokens #result))
}

/// A line of a function: a statement, or the binding of sizes to a tensor's axes.
struct Line {
    tokens: TokenStream,
    outputs: Vec<ValueId>,
    /// Whether its one result is a tensor, which may take over the name of what it is made from.
    chains: bool,
    hint: String,
}

impl Statement {
    /// `let pattern = expression;`
    fn declaration(&self, cx: &mut Context<'_>) -> TokenStream {
        let values = self.outputs.iter().map(|id| match id {
            Some(id) => {
                let name = variable(*id);
                quote!(#name)
            }
            None => quote!(_),
        });
        let sizes = self.sizes.iter().map(|symbol| cx.sizes.variable(symbol));
        let pattern: Vec<TokenStream> = values.chain(sizes).collect();
        let expression = &self.tokens;
        match pattern.as_slice() {
            [one] => quote!(let #one = #expression;),
            _ => quote!(let (#(#pattern),*) = #expression;),
        }
    }
}

fn bind(
    statements: &[Statement],
    result: &TokenStream,
    parameters: &[ValueId],
    given: &[Symbol],
    cx: &mut Context<'_>,
) -> (Vec<Line>, BTreeSet<Symbol>) {
    let all: TokenStream = statements.iter().map(|made| made.tokens.clone()).collect();
    let mut wanted = cx.sizes.used(&quote!(#all #result));
    wanted.retain(|symbol| !given.contains(symbol));
    let mut lines = Vec::new();
    let bound = |id: ValueId, wanted: &mut BTreeSet<Symbol>, cx: &mut Context<'_>| {
        let told: Vec<Symbol> = wanted
            .iter()
            .filter(|symbol| axis_of(id, symbol, cx).is_some())
            .cloned()
            .collect();
        wanted.retain(|symbol| !told.contains(symbol));
        (!told.is_empty()).then(|| Line {
            tokens: binding(id, &told, cx),
            outputs: Vec::new(),
            chains: false,
            hint: String::new(),
        })
    };
    for &id in parameters {
        lines.extend(bound(id, &mut wanted, cx));
    }
    for statement in statements {
        let tokens = statement.declaration(cx);
        wanted.retain(|symbol| !statement.sizes.contains(symbol));
        let outputs: Vec<ValueId> = statement.outputs.iter().flatten().copied().collect();
        let chains = match outputs.as_slice() {
            [one] if statement.sizes.is_empty() => is_device_tensor(*one, cx),
            _ => false,
        };
        lines.push(Line {
            tokens,
            outputs: outputs.clone(),
            chains,
            hint: statement.hint.clone(),
        });
        for id in outputs {
            lines.extend(bound(id, &mut wanted, cx));
        }
    }
    (lines, wanted)
}

/// `let [batch, _, width] = x.dims();`
fn binding(id: ValueId, symbols: &[Symbol], cx: &mut Context<'_>) -> TokenStream {
    if symbols.is_empty() {
        return TokenStream::new();
    }
    let Some(Type::Tensor(tensor)) = cx.values[id].ty.clone() else {
        return TokenStream::new();
    };
    let name = variable(id);
    let mut seen = BTreeSet::new();
    let axes: Vec<TokenStream> = tensor
        .shape
        .iter()
        .map(|dim| match dim.name() {
            Some(symbol) if symbols.contains(symbol) && seen.insert(symbol.clone()) => {
                cx.sizes.variable(symbol)
            }
            _ => quote!(_),
        })
        .collect();
    match is_device_tensor(id, cx) {
        true => quote!(let [#(#axes),*] = #name.dims();),
        false => quote!(let [#(#axes),*] = #name.sizes();),
    }
}

/// The axis of a tensor that has just this size.
pub fn axis_of(id: ValueId, symbol: &Symbol, cx: &Context<'_>) -> Option<usize> {
    match &cx.values[id].ty {
        Some(Type::Tensor(tensor)) => tensor
            .shape
            .iter()
            .position(|dim| dim.name() == Some(symbol)),
        _ => None,
    }
}

fn is_device_tensor(id: ValueId, cx: &Context<'_>) -> bool {
    let value = &cx.values[id];
    matches!(value.ty, Some(Type::Tensor(_))) && !cx.lives_on_host(id)
}

/// Chooses names for the variables of one function.
struct Namer {
    names: BTreeMap<String, String>,
    /// Names of sizes, which nothing may shadow.
    fixed: BTreeSet<String>,
}

const SHORT: [&str; 4] = ["x", "y", "z", "w"];

impl Namer {
    fn new(
        parameters: &[(ValueId, String)],
        sizes: &[Symbol],
        cx: &mut Context<'_>,
        device: bool,
    ) -> Self {
        let mut namer = Namer {
            names: BTreeMap::new(),
            fixed: BTreeSet::new(),
        };
        if device {
            namer.fixed.insert("device".to_owned());
        }
        for (id, wanted) in parameters {
            let name = namer.unused(wanted);
            namer.names.insert(variable(*id).to_string(), name);
        }
        let _ = sizes;
        for (variable, symbol) in cx.sizes.all() {
            let name = namer.unused(&name::snake(&symbol));
            namer.fixed.insert(name.clone());
            namer.names.insert(variable, name);
        }
        namer
    }

    /// `wanted`, or `wanted` with a number, that no variable has.
    fn unused(&self, wanted: &str) -> String {
        let taken = |name: &String| {
            self.fixed.contains(name) || self.names.values().any(|held| held == name)
        };
        let mut name = wanted.to_owned();
        let mut count = 1usize;
        while taken(&name) {
            count += 1;
            name = match wanted.ends_with(|end: char| end.is_ascii_digit()) {
                true => format!("{wanted}_{count}"),
                false => format!("{wanted}{count}"),
            };
        }
        name
    }

    /// The lines with every variable named; a name is taken over when its variable is used last.
    fn lines(
        &mut self,
        lines: &[Line],
        owned: Vec<TokenStream>,
        result: TokenStream,
    ) -> TokenStream {
        let mut last = BTreeMap::new();
        for (at, tokens) in owned.iter().chain([&result]).enumerate() {
            for variable in own::variables(tokens) {
                last.insert(variable, at);
            }
        }
        let mut tokens = TokenStream::new();
        let mut names = self.names.clone();
        for (at, (line, owned)) in lines.iter().zip(owned).enumerate() {
            let used = own::variables(&owned);
            let outputs: Vec<String> = line
                .outputs
                .iter()
                .map(|&id| variable(id).to_string())
                .collect();
            let ends = |variable: &String| last.get(variable) == Some(&at);
            let from = used
                .iter()
                .find(|used| ends(used) && names.contains_key(*used));
            let from = from.and_then(|used| names.get(used)).cloned();
            let live = |variable: &String| {
                !variable.starts_with(own::VARIABLE)
                    || last.get(variable).is_some_and(|&end| end > at)
            };
            let mut taken: BTreeSet<String> = names
                .iter()
                .filter(|(variable, _)| live(variable))
                .map(|(_, name)| name.clone())
                .collect();
            for output in &outputs {
                let name = self.choose(line, from.clone(), &taken);
                taken.insert(name.clone());
                names.insert(output.clone(), name);
            }
            for inner in used {
                if !names.contains_key(&inner) {
                    let name = free_name(&line.hint, &taken, &self.fixed);
                    taken.insert(name.clone());
                    names.insert(inner, name);
                }
            }
            tokens.extend(name::rename(owned, &names));
        }
        let result = name::rename(result, &names);
        match without_last_binding(&tokens, &result) {
            Some(shorter) => shorter,
            None => quote!(#tokens #result),
        }
    }

    fn choose(&self, line: &Line, from: Option<String>, taken: &BTreeSet<String>) -> String {
        let free = |name: &str| !taken.contains(name) && !self.fixed.contains(name);
        if line.chains {
            if let Some(from) = from.filter(|from| SHORT.contains(&from.as_str()) && free(from)) {
                return from;
            }
            if let Some(short) = SHORT.iter().find(|short| free(short)) {
                return (*short).to_owned();
            }
        }
        free_name(&line.hint, taken, &self.fixed)
    }
}

/// `..; let x = f(y); x` as `..; f(y)`.
fn without_last_binding(lines: &TokenStream, result: &TokenStream) -> Option<TokenStream> {
    let all: Vec<TokenTree> = lines.clone().into_iter().collect();
    let is = |at: usize, text: &str| all.get(at).is_some_and(|token| token.to_string() == text);
    let start = (0..all.len()).rev().find(|&at| is(at, "let"))?;
    let bound = all.get(start + 1)?.to_string();
    let last = all.len().checked_sub(1)?;
    if bound != result.to_string() || !is(start + 2, "=") || !is(last, ";") {
        return None;
    }
    let before = all.get(..start)?.iter().cloned();
    let value = all.get(start + 3..last)?.iter().cloned();
    Some(before.chain(value).collect())
}

fn free_name(hint: &str, taken: &BTreeSet<String>, fixed: &BTreeSet<String>) -> String {
    let wanted = if hint.is_empty() { "value" } else { hint };
    let mut name = wanted.to_owned();
    let mut count = 1usize;
    while taken.contains(&name) || fixed.contains(&name) {
        count += 1;
        name = format!("{wanted}{count}");
    }
    name
}
