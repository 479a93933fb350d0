//! Prints graphs as text.
//!
//! The form follows ONNX's own text syntax: each result is preceded by its type, host values also by `host`, and known
//! elements follow after `#`. Attributes are printed as the compiler stores them, without absent, false and empty ones.

mod attributes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::attributes::Attribute;
use crate::graph::{Block, Graph, Node, Value, ValueId, Values};
use crate::types::{Known, Placement, Type};

/// Maximum number of known elements that are listed.
const MAX_LISTED_ELEMENTS: usize = 8;
/// Maximum depth of the expressions of computed constants.
const MAX_EXPRESSION_DEPTH: usize = 8;

/// Prints a graph with types, sizes, known elements and placement.
pub fn graph(graph: &Graph) -> String {
    let mut printer = Printer { values: &graph.values, names: names(&graph.values), text: String::new() };
    let name = if graph.name.is_empty() { "graph" } else { &graph.name };
    printer.header(name, &graph.body, 0);
    printer.constants(&graph.body);
    printer.nodes(&graph.body, 0);
    printer.text
}

/// Returns a type in ONNX's text syntax. A type without brackets has any rank.
fn syntax(ty: &Type) -> String {
    match ty {
        Type::Tensor(tensor) if tensor.shape.is_empty() => format!("{}[]", tensor.dtype),
        Type::Tensor(tensor) => tensor.to_string(),
        Type::Unranked(dtype) => format!("{dtype}[..]"),
        Type::Nothing(dtype) => dtype.to_string(),
        Type::Sequence(item) => format!("seq({})", syntax(item)),
        Type::Optional(item) => format!("optional({})", syntax(item)),
        Type::Map(key, item) => format!("map({key}, {})", syntax(item)),
    }
}

/// Returns the attributes of a node's operator, without absent, false and empty ones.
pub fn attributes(node: &Node) -> String {
    attribute(&node.operator.attributes())
}

/// Returns the fields of an attribute, without absent, false and empty ones.
pub fn attribute(attribute: &Attribute) -> String {
    attributes::text(attribute)
}

struct Printer<'g> {
    values: &'g Values,
    names: BTreeMap<ValueId, String>,
    text: String,
}

/// Returns the names of values. Those that are empty or used several times are replaced by the value's number.
fn names(values: &Values) -> BTreeMap<ValueId, String> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, value) in values.iter() {
        *seen.entry(&value.name).or_default() += 1;
    }
    let name = |(id, value): (ValueId, &Value)| {
        let unique = !value.name.is_empty() && seen.get(value.name.as_str()) == Some(&1);
        let name =
            if unique { quoted(&value.name) } else { format!("{}%{}", quoted(&value.name), id.number()) };
        (id, name)
    };
    values.iter().map(name).collect()
}

fn quoted(name: &str) -> String {
    let plain = |character: char| character.is_alphanumeric() || "_./:-".contains(character);
    if name.chars().all(plain) { name.to_owned() } else { format!("{name:?}") }
}

impl Printer<'_> {
    fn header(&mut self, name: &str, block: &Block, depth: usize) {
        let inputs = self.list(&block.inputs);
        let outputs = self.list(&block.outputs);
        self.line(depth, &format!("{name} ({inputs}) => ({outputs})"));
    }

    /// Prints the constants in use, including nested blocks, and known values that no node computes.
    fn constants(&mut self, block: &Block) {
        let (mut used, mut made) = (BTreeSet::new(), BTreeSet::new());
        collect(block, &mut used, &mut made);
        self.made_from(&mut used);
        let constants = used
            .difference(&made)
            .copied()
            .filter(|&id| self.values[id].is_constant() || self.values[id].known.is_some())
            .map(|id| format!("{} = {}", self.typed(id), self.constant(id, MAX_EXPRESSION_DEPTH)));
        let constants: Vec<String> = constants.collect();
        if !constants.is_empty() {
            let text = format!("<\n    {}\n>", constants.join(",\n    "));
            self.line(0, &text);
        }
    }

    /// Adds the constants of the file from which those in use are computed.
    fn made_from(&self, used: &mut BTreeSet<ValueId>) {
        let (mut open, mut seen) = (used.clone(), BTreeSet::new());
        while let Some(id) = open.pop_last() {
            let maker = self.values[id].maker.iter().filter(|_| seen.insert(id));
            for &input in maker.flat_map(|node| node.inputs.iter().flatten()) {
                match self.values[input].maker {
                    None if self.values[input].weight.is_some() => drop(used.insert(input)),
                    _ => drop(open.insert(input)),
                }
            }
        }
    }

    /// Returns the elements if they are few, else their number of bytes, or the expression that computes them.
    fn constant(&self, id: ValueId, depth: usize) -> String {
        let value = &self.values[id];
        match (value.known.peek(), &value.weight, &value.maker) {
            (Some(known), ..) if known.len() <= MAX_LISTED_ELEMENTS => elements(known),
            (_, Some(weight), _) => {
                let bytes: usize = weight.parts.iter().map(|part| part.bytes.len()).sum();
                format!("{{.. {bytes} bytes}}")
            }
            (Some(known), ..) => elements(known),
            (.., Some(node)) => self.expression(node, depth),
            _ => "{..}".to_owned(),
        }
    }

    /// Returns the call that computes a constant, with nested calls up to the depth.
    fn expression(&self, node: &Node, depth: usize) -> String {
        let Some(depth) = depth.checked_sub(1) else {
            return "..".to_owned();
        };
        let input = |id: &Option<ValueId>| match id {
            Some(id) if self.values[*id].weight.is_none() => self.constant(*id, depth),
            Some(id) => self.name(*id).to_owned(),
            None => String::new(),
        };
        let inputs: Vec<String> = node.inputs.iter().map(input).collect();
        format!("{} ({})", node.kind, inputs.join(", "))
    }

    fn nodes(&mut self, block: &Block, depth: usize) {
        self.line(depth, "{");
        for node in &block.nodes {
            self.node(node, depth + 1);
        }
        self.line(depth, "}");
    }

    fn node(&mut self, node: &Node, depth: usize) {
        let outputs: Vec<String> = node.outputs.iter().map(|id| self.optional(*id)).collect();
        let inputs: Vec<&str> = node.inputs.iter().map(|id| id.map_or("", |id| self.name(id))).collect();
        let attributes = match self::attributes(node) {
            text if text.is_empty() => text,
            text => format!("<{text}> "),
        };
        let mut line = format!("{} = {} {attributes}({})", outputs.join(", "), node.kind, inputs.join(", "));
        let known = node.outputs.iter().flatten();
        let known: Vec<String> = known.filter_map(|id| self.values[*id].known.peek().map(elements)).collect();
        if !known.is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(line, "  # {}", known.join(", "));
        }
        self.line(depth, &line);
        for (name, block) in &node.blocks {
            self.header(name, block, depth + 1);
            self.nodes(block, depth + 1);
        }
    }

    fn list(&self, ids: &[ValueId]) -> String {
        let typed: Vec<String> = ids.iter().map(|&id| self.typed(id)).collect();
        typed.join(", ")
    }

    fn optional(&self, id: Option<ValueId>) -> String {
        id.map_or_else(|| "_".to_owned(), |id| self.typed(id))
    }

    /// Returns the placement of a value if it is the host, its type and its name.
    fn typed(&self, id: ValueId) -> String {
        let value = &self.values[id];
        let placement = match value.placement {
            Placement::Host => "host ",
            Placement::Device => "",
        };
        let ty = value.ty.as_ref().map_or_else(|| "?".to_owned(), syntax);
        format!("{placement}{ty} {}", self.name(id))
    }

    fn name(&self, id: ValueId) -> &str {
        self.names.get(&id).map_or("?", String::as_str)
    }

    fn line(&mut self, depth: usize, line: &str) {
        for _ in 0..depth {
            self.text.push_str("    ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }
}

fn collect(block: &Block, used: &mut BTreeSet<ValueId>, made: &mut BTreeSet<ValueId>) {
    used.extend(&block.outputs);
    made.extend(&block.inputs);
    for node in &block.nodes {
        used.extend(node.inputs.iter().flatten());
        made.extend(node.outputs.iter().flatten());
        for (_, inner) in &node.blocks {
            collect(inner, used, made);
        }
    }
}

pub(crate) fn elements(known: &Known) -> String {
    fn list<T>(all: &[T], text: impl Fn(&T) -> String) -> String {
        let mut texts: Vec<String> = all.iter().take(MAX_LISTED_ELEMENTS).map(text).collect();
        if all.len() > MAX_LISTED_ELEMENTS {
            texts.push(format!(".. {} in all", all.len()));
        }
        format!("{{{}}}", texts.join(", "))
    }
    match known {
        Known::Ints(all) => list(all, ToString::to_string),
        // Most floats were float32 in the file: their shortest text is exact.
        Known::Floats(all) => list(all, |value| {
            if f64::from(*value as f32) == *value { (*value as f32).to_string() } else { value.to_string() }
        }),
        Known::Bools(all) => list(all, ToString::to_string),
        Known::Strings(all) => list(all, |text| format!("{text:?}")),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use prost::Message;

    use crate::options::Options;

    fn check(text: &str, expected: Expect) {
        let model = crate::text::model(text).unwrap().encode_to_vec();
        let model = crate::load_bytes(model.into(), &Options::default());
        let model = model.map_err(|problems| problems.report("m")).unwrap();
        expected.assert_eq(&super::graph(&model.graph));
    }

    #[test]
    fn blocks_stand_below_their_nodes() {
        check(
            r#"
            <ir_version: 8, opset_import: ["": 17]>
            main (bool c, float[2] x) => (float[2] y) {
                y = If (c) <
                    then_branch = yes () => (float[2] a) { a = Neg (x) },
                    else_branch = no () => (float[2] b) { b = Add (x, x) }
                >
            }
            "#,
            expect![[r#"
                main (host bool[] c, float32[2] x) => (float32[2] y)
                {
                    float32[2] y = If (c)
                        then_branch () => (float32[2] a)
                        {
                            float32[2] a = Neg (x)
                        }
                        else_branch () => (float32[2] b)
                        {
                            float32[2] b = Add (x, x)
                        }
                }
            "#]],
        );
    }

    #[test]
    fn sizes_that_no_node_makes_stand_with_the_constants() {
        check(
            r#"
            <ir_version: 8, opset_import: ["": 17]>
            main (float[N, 2] x) => (int64[2] sizes) { sizes = Shape (x) }
            "#,
            expect![[r#"
                main (float32[N, 2] x) => (int64[2] sizes)
                <
                    int64[2] sizes = {N, 2}
                >
                {
                }
            "#]],
        );
    }

    #[test]
    fn types_stand_before_names_and_constants_first() {
        check(
            r#"
            <ir_version: 8, opset_import: ["": 17]>
            main (float[N, 2] x) => (float[N, 2] y)
            <float[2] b = {1, 2}> {
                sum = Add (x, b)
                y = Softmax <axis = 1> (sum)
            }
            "#,
            expect![[r#"
                main (float32[N, 2] x) => (float32[N, 2] y)
                <
                    float32[2] b = {1, 2}
                >
                {
                    float32[N, 2] sum = Add (x, b)
                    float32[N, 2] y = Softmax <function: "softmax", axis: 1> (sum)
                }
            "#]],
        );
    }
}
