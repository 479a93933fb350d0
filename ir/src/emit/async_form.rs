//! Async versions of functions, which do not block.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::Layer;
use super::structs::Structs;
use crate::rust::{Bracket, Code, CodeNode, code};

/// A function that may read values from the device, and its async version.
struct Reading {
    /// Module of a function, or layer of a method.
    of: &'static str,
    name: &'static str,
    async_name: &'static str,
}

macro_rules! reading {
    ($($of:ident::$name:ident,)*) => {
        &[$(Reading {
            of: stringify!($of),
            name: stringify!($name),
            async_name: concat!(stringify!($name), "_async"),
        }),*]
    };
}

/// Functions in expansions that may read. Others never read.
const FUNCTIONS: &[Reading] = reading! {
    bit_cast::float_to_int,
    bit_cast::int_to_float,
    bit_cast::int_to_small,
    bit_cast::small_to_int,
    determinant::det,
    host::named,
    host::to_host,
    inverse::inverse,
    moe::moe,
    non_max_suppression::non_max_suppression,
    quantize::quantize_small,
    random::multinomial,
    roi::max_roi_pool,
    roi::roi_align,
    select::compress,
    select::compress_flat,
    select::nonzero,
    select::nonzero_scalar,
    small::to_small,
    top_k::top_k,
    unique::unique,
    unique::unique_flat,
};

/// Methods of layers that may read.
const METHODS: &[Reading] = reading! {
    LinearClassifier::forward_strings,
    QMoE::forward,
    SvmClassifier::forward,
    SvmClassifier::forward_strings,
    SvmRegressor::forward,
    TreeClassifier::forward,
    TreeClassifier::forward_strings,
    TreeRegressor::forward,
};

/// Returns the body of a struct's function with each read awaited, or `None` if it does not read.
pub fn async_form(code: &Code, layer: &Layer, structs: &Structs) -> Option<Code> {
    let mut fold = Fold { layer, structs, elements: BTreeMap::new(), reads: false };
    let made = fold.code(code);
    fold.reads.then_some(made)
}

struct Fold<'a> {
    layer: &'a Layer,
    structs: &'a Structs,
    /// Fields of the variables of loops.
    elements: BTreeMap<Rc<str>, Rc<str>>,
    /// Set when code that reads from the device was converted.
    reads: bool,
}

impl Fold<'_> {
    fn code(&mut self, code: &Code) -> Code {
        let mut made: Vec<CodeNode> = Vec::with_capacity(code.parts().len());
        let mut is_call = false;
        for part in code.parts() {
            if let Some((variable, field)) = part.element() {
                self.elements.insert(variable.clone(), field.clone());
            }
            let (part, is_awaited) = match part {
                CodeNode::Member(name) => {
                    let async_name = function(&made, name);
                    is_call |= async_name.is_some();
                    (CodeNode::Member(async_name.unwrap_or(name)), false)
                }
                CodeNode::Group(Bracket::Round, arguments) if is_call => {
                    is_call = false;
                    (CodeNode::Group(Bracket::Round, self.code(arguments)), true)
                }
                CodeNode::Method(name, arguments) => match self.method(&made, name) {
                    Some(async_name) => (CodeNode::Method(async_name, self.code(arguments)), true),
                    None => self.quiet_method(name, arguments),
                },
                part => (part.with_inside(&mut |code| self.code(code)), false),
            };
            made.push(part);
            if is_awaited {
                self.reads = true;
                made.extend([CodeNode::Sign("."), CodeNode::Member("await")]);
            }
        }
        made.into()
    }

    /// Returns the async version of a field's method.
    fn method(&self, receiver: &[CodeNode], method: &str) -> Option<&'static str> {
        let name = match receiver {
            [.., CodeNode::Field(name)] => name,
            [.., CodeNode::Field(name), CodeNode::Group(Bracket::Square, _)] => name,
            [.., CodeNode::Name(variable)] => self.elements.get(variable)?,
            _ => return None,
        };
        let field = self.layer.fields.iter().find(|field| *field.name == **name)?;
        let ty = match field.ty.parts() {
            [CodeNode::Group(Bracket::Square, array)] => array.parts().get(..1)?,
            ty => ty,
        };
        match ty {
            [CodeNode::Name(part)] => {
                let reads = method == "forward" && self.structs.reads(part);
                reads.then_some("forward_async")
            }
            [CodeNode::Word("layers"), _, CodeNode::Member(layer)] => named(METHODS, layer, method),
            _ => None,
        }
    }

    /// Converts a method whose closure reads, such as the step of a node or a function of each item, to an async one.
    fn quiet_method(&mut self, method: &'static str, arguments: &Code) -> (CodeNode, bool) {
        let (async_name, head, body) = match (method, arguments.parts()) {
            ("run", [CodeNode::Sign("||"), body @ ..]) => ("run_async", code!(async), body),
            ("map", [open @ CodeNode::Sign("|"), item, close @ CodeNode::Sign("|"), body @ ..]) => {
                ("map_async", code!(#open #item #close async move), body)
            }
            _ => return (CodeNode::Method(method, self.code(arguments)), false),
        };
        let outer = std::mem::take(&mut self.reads);
        let body = self.code(&body.to_vec().into());
        let reads = std::mem::replace(&mut self.reads, outer);
        if !reads {
            return (CodeNode::Method(method, arguments.clone()), false);
        }
        let body = match body.single() {
            Some(CodeNode::Group(Bracket::Curly, inside)) => inside.clone(),
            _ => body,
        };
        (CodeNode::Method(async_name, code!(#head { #body })), true)
    }
}

/// Returns the async version of a function, by the module before its name.
fn function(before: &[CodeNode], name: &str) -> Option<&'static str> {
    match before {
        [.., CodeNode::Word(module) | CodeNode::Member(module), CodeNode::Sign("::")] => {
            named(FUNCTIONS, module, name)
        }
        _ => None,
    }
}

fn named(all: &'static [Reading], of: &str, name: &str) -> Option<&'static str> {
    let found = all.iter().find(|one| one.of == of && one.name == name);
    found.map(|one| one.async_name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rust::Variable;

    const X: Variable = Variable(0);
    const Y: Variable = Variable(1);

    /// Returns a layer with the fields `node`, `tree_regressor` and `linear`.
    fn layer() -> Layer {
        let mut layer = Layer::plain();
        for (ty, load) in [
            (code!(Node), code!(Node::new("n", "Loop"))),
            (code!(layers::TreeRegressor), code!(load())),
            (code!(layers::Linear), code!(load())),
        ] {
            layer.field("", ty, load, Vec::new());
        }
        layer
    }

    fn check(code: Code, expected: &str) {
        let found = async_form(&code, &layer(), &Structs::default());
        let found = found.map_or("the same".to_owned(), |code| code.tokens().to_string());
        assert_eq!(found, expected);
    }

    #[test]
    fn calls_that_read_are_awaited() {
        check(
            code!(let #Y = ops::select::nonzero(#X).transpose(); ops::select::trilu(#Y, 0, true)),
            "let __v1 = ops :: select :: nonzero_async (__v0) . await . transpose () ; \
             ops :: select :: trilu (__v1 , 0 , true)",
        );
        check(
            code!(if host::to_host::<bool, _, _>(ops::unique::unique_flat(#X, true).0, 0).item() { #X } else { #Y }),
            "if host :: to_host_async :: < bool , _ , _ > (ops :: unique :: unique_flat_async \
             (__v0 , true) . await . 0 , 0) . await . item () { __v0 } else { __v1 }",
        );
        let (trees, linear) = (Code::field("tree_regressor"), Code::field("linear"));
        check(
            code!(#trees.forward(#linear.forward(#X))),
            "self . tree_regressor . forward_async (self . linear . forward (__v0)) . await",
        );
    }

    #[test]
    fn steps_that_read_are_futures() {
        let node = Code::field("node");
        check(
            code!(#node.run(|| { ops::top_k::top_k(#X, 2, 0, true) })),
            "self . node . run_async (async { ops :: top_k :: top_k_async (__v0 , 2 , 0 , true) . \
             await }) . await",
        );
        check(
            code!(#X.map(|item| host::to_host(item, 0))),
            "__v0 . map_async (| item | async move { host :: to_host_async (item , 0) . await }) . await",
        );
    }

    #[test]
    fn what_reads_nothing_stays() {
        let node = Code::field("node");
        check(
            code!(let #Y = #node.run(|| #X + 1); host::unique(#Y, ops::select::where_(#X, #Y, #Y))),
            "the same",
        );
    }
}
