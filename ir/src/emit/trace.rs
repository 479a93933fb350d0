//! Values of a run that a program can observe.

use proc_macro2::Literal;

use super::{Context, Layer, signature, variable};
use crate::diagnostics::shown;
use crate::dtype::DType;
use crate::graph::{Node, ValueId};
use crate::rust::{Code, code};
use crate::types::Type;

/// Returns the call that shows the results of a node, if the model is traced. The description of the node is loaded
/// with the struct, so that parts that differ only in names remain one struct.
pub fn step(node: &Node, outputs: &[Option<ValueId>], layer: &mut Layer, cx: &Context<'_>) -> Code {
    let given = outputs.iter().flatten().copied();
    let given: Vec<ValueId> = given.filter(|&id| cx.trace && is_shown(id, cx)).collect();
    if given.is_empty() {
        return Code::default();
    }
    let ports = given.iter().filter_map(|&id| {
        let value = &cx.values[id];
        let (name, kind) = (&value.name, signature::kind(value.ty.as_ref()?));
        Some(code!(Port { name: #name, kind: #kind }))
    });
    let ports: Vec<Code> = ports.collect();
    let (name, operator) = (shown(&node.site(cx.values).node), shown(&node.kind));
    let described = code!(trace::TracedNode { node: #name, operator: #operator, values: &[#(#ports),*] });
    let (field, at) = layer.step(described);
    let (field, at) = (Code::field(&field), Literal::usize_unsuffixed(at));
    let given = given.into_iter().map(|id| {
        let value = variable(id);
        code!(&#value)
    });
    let given: Vec<Code> = given.collect();
    code!(#field.show(#at, &[#(#given),*]);)
}

/// Returns the trait implementation that marks a traced model.
pub fn item(name: &Code, cx: &Context<'_>) -> Code {
    if cx.trace { code!(impl trace::TracedModel for #name {}) } else { Code::default() }
}

/// Returns `true` if a value has a type that programs can read.
fn is_shown(id: ValueId, cx: &Context<'_>) -> bool {
    fn is_plain(ty: &Type) -> bool {
        match ty {
            Type::Tensor(tensor) => !matches!(tensor.dtype, DType::C64 | DType::C128),
            Type::Unranked(dtype) | Type::Nothing(dtype) => !matches!(dtype, DType::C64 | DType::C128),
            Type::Sequence(item) | Type::Optional(item) | Type::Map(_, item) => is_plain(item),
        }
    }
    cx.values[id].ty.as_ref().is_some_and(is_plain)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use prost::Message;

    use crate::emit::Item;
    use crate::options::Options;

    /// Returns the lines of an expansion that contain `trace`.
    fn lines(text: &str, trace: bool) -> String {
        let text = format!("<ir_version: 10, opset_import: [\"\": 21]> {text}");
        let model = crate::text::model(&text).unwrap().encode_to_vec();
        let options = Options { trace, ..Options::default() };
        let item = Item::model("model");
        let model = crate::load_bytes(model.into(), &options).unwrap();
        let code = crate::code(model, &item, &options).unwrap();
        let file = syn::parse2(code).unwrap();
        let text = prettyplease::unparse(&file);
        let lines = text.lines().filter(|line| line.to_lowercase().contains("trace"));
        lines.map(|line| format!("{}\n", line.trim())).collect()
    }

    const BRANCHES: &str = "g (float[n] x, bool c) => (float[n] z) {
        a = Neg (x)
        y = If (c) <then_branch = t () => (float[n] p) { p = Abs (a) }, else_branch = e () => (float[n] q) { q = Exp (x) }>
        z = Sin (y)
    }";

    #[test]
    fn each_node_shows_what_it_gives() {
        expect![[r#"
            printed, take, trace,
            trace: trace::TracedNodes,
            self.trace.show(0, &[&y]);
            self.trace.show(1, &[&y]);
            self.trace.show(2, &[&q]);
            self.trace.show(3, &[&x]);
            self.trace.show(4, &[&x]);
            trace: trace::TracedNodes::new(
            trace::TracedNode {
            trace::TracedNode {
            trace::TracedNode {
            trace::TracedNode {
            trace::TracedNode {
            impl trace::TracedModel for Model {}
        "#]]
        .assert_eq(&lines(BRANCHES, true));
    }

    #[test]
    fn a_model_that_is_not_traced_says_nothing() {
        assert_eq!(lines(BRANCHES, false), "");
    }
}
