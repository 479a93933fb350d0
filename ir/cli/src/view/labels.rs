//! What boxes and edges say.

use std::collections::HashMap;
use std::sync::LazyLock;

use onnx_embed_ir::attributes::Attribute;
use onnx_embed_ir::diagnostics::shown;
use onnx_embed_ir::dtype::DType;
use onnx_embed_ir::graph::{Node, ValueId, Values};
use onnx_embed_ir::types::{Known, Type};
use onnx_embed_ir::{ops, print};

/// A longer line of a box is cut.
const LONGEST: usize = 28;
/// A longer label of an edge is cut.
const LONGEST_LABEL: usize = 44;
/// The size of the letters of labels.
pub const LINE: f64 = 11.0;

/// The room of an operator, `""` where it is none of the table.
pub fn room(kind: &str) -> &'static str {
    static ROOMS: LazyLock<HashMap<String, &str>> =
        LazyLock::new(|| ops::rooms().map(|(room, row)| (row.kind(), room)).collect());
    match kind {
        // Those that simplification writes.
        "Linear" | "FusedLinear" => "product",
        "JoinedAttention" => "attention",
        "ScaleChannels" => "normalize",
        _ => ROOMS.get(kind).copied().unwrap_or_default(),
    }
}

/// The operator with the sum and the activation that it ends in.
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

/// What it is called, and its constants.
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

/// Whether something that a training finds stands in the module of the node: more than a number, and no index.
fn has_weight(node: &Node, values: &Values) -> bool {
    node.inputs.iter().flatten().any(|&id| {
        let value = &values[id];
        let tensor = value.ty.as_ref().and_then(Type::as_tensor);
        tensor.is_some_and(|tensor| {
            value.is_stored() && tensor.rank() > 0 && !matches!(tensor.dtype, DType::I64 | DType::Bool)
        })
    })
}

/// The last part of the name that says more than the operator; of a layer its module.
fn name(node: &Node, is_layer: bool) -> Option<&str> {
    let mut parts = node.name.rsplit('/').filter(|part| !part.is_empty());
    let last = parts.next()?;
    let word = last.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '_');
    if ops::spelling("", word).is_none() && word != &*node.kind {
        return Some(last);
    }
    parts.next().filter(|_| is_layer)
}

/// All that there is to say of a node, a line each.
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

/// Types and sizes, those that differ.
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

/// The beginning of a text, no longer than a box is wide.
pub fn short(text: &str) -> String {
    cut(text, LONGEST)
}

/// The end of a name, no longer than a box is wide.
pub fn end(text: &str) -> String {
    let count = text.chars().count();
    if count <= LONGEST {
        return text.to_owned();
    }
    let end: String = text.chars().skip(count + 1 - LONGEST).collect();
    format!("…{end}")
}

/// `1 node`, `12 nodes`.
pub fn nodes(count: usize) -> String {
    crate::style::count(count, "node")
}

fn cut(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(longest - 1).collect();
    format!("{}…", beginning.trim_end())
}

/// `batch×3×224×224`, with the element type where that is not float32.
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

/// The sizes of a weight, or a number.
fn constant(id: ValueId, values: &Values) -> Option<String> {
    let value = &values[id];
    if !value.is_constant() {
        return None;
    }
    let tensor = value.ty.as_ref()?.as_tensor()?;
    match value.known.peek() {
        Some(Known::Floats(all)) if all.len() == 1 => {
            // Nearly all of them were float32: their shortest text says all.
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

/// The activation that an operator ends in, in lower case.
fn activation(attributes: &Attribute) -> Option<String> {
    let Attribute::Fields(_, fields) = attributes else {
        return None;
    };
    let (_, field) = fields.iter().find(|(name, _)| *name == "activation")?;
    word(field)
}

/// The first name in an attribute.
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
