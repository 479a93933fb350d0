//! Texts of boxes and edges.

use std::collections::HashMap;
use std::sync::LazyLock;

use onnx_embed_ir::attributes::Attribute;
use onnx_embed_ir::diagnostics::shown;
use onnx_embed_ir::dtype::DType;
use onnx_embed_ir::graph::{Node, ValueId, Values};
use onnx_embed_ir::types::{Known, Type};
use onnx_embed_ir::{ops, print};

/// Maximum number of characters in a line of a box; longer lines are cut.
const MAX_LINE_LEN: usize = 28;
/// Maximum number of characters in the label of an edge; longer labels are cut.
const LONGEST_LABEL: usize = 44;
/// Font size of labels, in pixels.
pub const LINE: f64 = 11.0;

/// Returns the group of an operator, or `""` if the table lacks the operator.
pub fn room(kind: &str) -> &'static str {
    static ROOMS: LazyLock<HashMap<String, &str>> =
        LazyLock::new(|| ops::rooms().map(|(room, row)| (row.kind(), room)).collect());
    match kind {
        // Operators that simplification creates.
        "Linear" | "FusedLinear" => "product",
        "JoinedAttention" => "attention",
        "ScaleChannels" => "normalize",
        "DividedDistances" => "classical",
        _ => ROOMS.get(kind).copied().unwrap_or_default(),
    }
}

/// Returns the operator with the addition and the activation that are fused into it.
pub fn title(node: &Node) -> String {
    let kind = shown(node.kind.strip_prefix("com.microsoft.").unwrap_or(&node.kind));
    let fused = kind.strip_prefix("Fused");
    let mut title = fused.unwrap_or(&kind).to_owned();
    if fused.is_some() && node.input(3).is_some() {
        title.push_str(" + Add");
    }
    if let Some(activation) = activation(&node.operator.attributes()) {
        title.push_str(&format!(" + {activation}"));
    }
    short(&title)
}

/// Returns the lines below the title: the name of the node, and its constants.
pub fn details(node: &Node, values: &Values) -> Vec<String> {
    let mut details = Vec::new();
    let constants = node.inputs.iter().flatten();
    let constants: Vec<String> = constants.filter_map(|&id| constant(id, values)).collect();
    if let Some(name) = name(node, has_weight(node, values)) {
        details.push(end(&shown(name)));
    }
    if !constants.is_empty() {
        details.push(short(&constants.join(", ")));
    }
    details
}

/// Returns `true` if an input of the node is a parameter: stored, of rank 1 or more, and neither int64 nor boolean.
fn has_weight(node: &Node, values: &Values) -> bool {
    node.inputs.iter().flatten().any(|&id| {
        let value = &values[id];
        let tensor = value.ty.as_ref().and_then(Type::as_tensor);
        tensor.is_some_and(|tensor| {
            value.is_stored() && tensor.rank() > 0 && !matches!(tensor.dtype, DType::I64 | DType::Bool)
        })
    })
}

/// Returns the last part of the name or, if that is only the operator, the module of a layer.
fn name(node: &Node, is_layer: bool) -> Option<&str> {
    let mut parts = node.name.rsplit('/').filter(|part| !part.is_empty());
    let last = parts.next()?;
    let word = last.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '_');
    if ops::spelling("", word).is_none() && word != &*node.kind {
        return Some(last);
    }
    parts.next().filter(|_| is_layer)
}

/// Returns the tooltip of a node: operator, name, attributes, inputs and outputs, one per line.
pub fn tip(node: &Node, values: &Values) -> String {
    let mut lines = vec![format!("{} (version {})", shown(&node.kind), node.version)];
    if !node.name.is_empty() {
        lines.push(shown(&node.name));
    }
    let attributes = print::attributes(node);
    if !attributes.is_empty() {
        lines.push(shown(&attributes));
    }
    for (what, ids) in [("in ", &node.inputs), ("out", &node.outputs)] {
        for &id in ids.iter().flatten().take(12) {
            let name = shown(&values[id].name);
            lines.push(format!("{what} {name}: {}", full_type(id, values)));
        }
    }
    lines.join("\n")
}

/// Returns the distinct types and sizes of values, at most two of them.
pub fn types(ids: &[ValueId], values: &Values) -> String {
    let mut texts: Vec<String> = Vec::new();
    for &id in ids {
        let text = sizes(id, values);
        if !text.is_empty() && !texts.contains(&text) {
            texts.push(text);
        }
    }
    let text = match texts.as_slice() {
        [first, second, _, ..] => format!("{first}, {second}, .."),
        texts => texts.join(", "),
    };
    cut(&text, LONGEST_LABEL)
}

pub fn full_type(id: ValueId, values: &Values) -> String {
    let ty = values[id].ty.as_ref();
    ty.map_or("?".to_owned(), |ty| shown(&ty.to_string()))
}

/// Returns the beginning of a text, cut to the width of a box.
pub fn short(text: &str) -> String {
    cut(text, MAX_LINE_LEN)
}

/// Returns the end of a name, cut to the width of a box.
pub fn end(text: &str) -> String {
    let count = text.chars().count();
    if count <= MAX_LINE_LEN {
        return text.to_owned();
    }
    let end: String = text.chars().skip(count + 1 - MAX_LINE_LEN).collect();
    format!("…{end}")
}

/// Formats a number of nodes, as in `1 node` or `12 nodes`.
pub fn nodes(count: usize) -> String {
    onnx_embed_harness::style::count(count, "node")
}

fn cut(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(longest - 1).collect();
    format!("{}…", beginning.trim_end())
}

/// Formats sizes, as in `batch×3×224×224`, with the element type if that is not float32.
fn sizes(id: ValueId, values: &Values) -> String {
    let Some(ty) = &values[id].ty else {
        return String::new();
    };
    let Type::Tensor(tensor) = ty else {
        return shown(&ty.to_string());
    };
    let dims: Vec<String> = tensor.shape.iter().map(|dim| shown(&dim.to_string())).collect();
    let dims = dims.join("×");
    match (tensor.dtype, dims.is_empty()) {
        (DType::F32, false) => dims,
        (other, false) => format!("{other} {dims}"),
        (other, true) => other.to_string(),
    }
}

/// Returns the elements of a small constant, or the sizes of a larger one.
fn constant(id: ValueId, values: &Values) -> Option<String> {
    let value = &values[id];
    if !value.is_constant() {
        return None;
    }
    let tensor = value.ty.as_ref()?.as_tensor()?;
    match value.known.peek() {
        Some(Known::Floats(all)) if all.len() == 1 => {
            // Most of these constants were float32: the shortest text in that type is complete.
            let number = *all.first()? as f32;
            let plain = number.to_string();
            Some(if plain.len() > 9 { format!("{number:e}") } else { plain })
        }
        Some(Known::Ints(all)) if all.len() <= 4 => {
            let all: Vec<String> = all.iter().map(|value| shown(&value.to_string())).collect();
            Some(match all.as_slice() {
                [only] => only.clone(),
                _ => format!("[{}]", all.join(", ")),
            })
        }
        _ if tensor.rank() > 0 => Some(sizes(id, values)),
        _ => None,
    }
}

/// Returns the activation that is fused into an operator, if any.
fn activation(attributes: &Attribute) -> Option<String> {
    let Attribute::Fields(_, fields) = attributes else {
        return None;
    };
    let (_, field) = fields.iter().find(|(name, _)| *name == "activation")?;
    word(field)
}

/// Returns the first name in an attribute.
fn word(attribute: &Attribute) -> Option<String> {
    match attribute {
        Attribute::Word(text) => Some((*text).to_owned()),
        Attribute::Text(text) => Some(shown(text)),
        Attribute::Fields(name, fields) => {
            let inner = fields.iter().find_map(|(_, field)| self::word(field));
            Some(inner.unwrap_or_else(|| (*name).to_owned()))
        }
        Attribute::Row(inner) => word(inner),
        _ => None,
    }
}
