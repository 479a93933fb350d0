//! Formats graphs in ONNX's text syntax.

use onnx_embed_ir::dtype::DType;
use onnx_embed_ir::proto::{
    AttributeProto, DimensionValue, Elements, GraphProto, NodeProto, TensorProto, TypeValue, ValueInfoProto,
};

use crate::elements;

/// Formats a graph like the example of a rule or a test.
pub fn show(graph: &GraphProto) -> String {
    let list = |values: &[ValueInfoProto]| {
        let values: Vec<String> = values.iter().map(value).collect();
        values.join(", ")
    };
    let tensors: Vec<String> = graph.initializer.iter().map(tensor).collect();
    let tensors = if tensors.is_empty() { String::new() } else { format!("<{}> ", tensors.join(", ")) };
    let nodes: Vec<String> = graph.node.iter().map(node).collect();
    format!(
        "({}) => ({}) {tensors}{{\n    {}\n}}",
        list(&graph.input),
        list(&graph.output),
        nodes.join("\n    ")
    )
}

fn value(value: &ValueInfoProto) -> String {
    let Some(TypeValue::Tensor(ty)) = value.r#type.as_ref().and_then(|ty| ty.value.as_ref()) else {
        return value.name.clone();
    };
    let sizes = ty.shape.iter().flat_map(|shape| &shape.dim);
    let sizes: Vec<String> = sizes
        .map(|size| match &size.value {
            Some(DimensionValue::Value(number)) => number.to_string(),
            Some(DimensionValue::Name(name)) => name.clone(),
            None => "?".to_owned(),
        })
        .collect();
    let dtype = dtype(ty.elem_type);
    if sizes.is_empty() {
        format!("{dtype} {}", value.name)
    } else {
        format!("{dtype}[{}] {}", sizes.join(", "), value.name)
    }
}

/// Formats a constant with its name.
fn tensor(constant: &TensorProto) -> String {
    let numbers: Vec<String> = match elements::numbers(constant) {
        Some(numbers) => numbers.iter().map(f64::to_string).collect(),
        None => vec!["..".to_owned()],
    };
    let sizes: Vec<String> = constant.dims.iter().map(i64::to_string).collect();
    let sizes = if sizes.is_empty() { String::new() } else { format!("[{}]", sizes.join(", ")) };
    let (dtype, numbers) = (dtype(constant.data_type), numbers.join(", "));
    format!("{dtype}{sizes} {} = {{{numbers}}}", constant.name)
}

/// Returns the name of an element type in the syntax.
fn dtype(number: i32) -> String {
    match DType::from_onnx(number) {
        Some(DType::F32) => "float".to_owned(),
        Some(DType::F64) => "double".to_owned(),
        Some(dtype) => dtype.name().to_owned(),
        None => number.to_string(),
    }
}

fn node(node: &NodeProto) -> String {
    let attributes: Vec<String> = node.attribute.iter().map(attribute).collect();
    let attributes =
        if attributes.is_empty() { String::new() } else { format!(" <{}>", attributes.join(", ")) };
    let domain = match node.domain.as_str() {
        "" => String::new(),
        domain => format!("{domain}."),
    };
    format!("{} = {domain}{}{attributes} ({})", node.output.join(", "), node.op_type, node.input.join(", "))
}

fn attribute(attribute: &AttributeProto) -> String {
    let value = if let Some(graph) = &attribute.g {
        format!("{} {}", attribute.name, show(graph))
    } else if let Some(value) = &attribute.t {
        tensor(value).replace(" =", "")
    } else if let Some(list) = &attribute.list {
        match &list.elements {
            Elements::Floats(floats) => format!("{floats:?}"),
            Elements::Ints(ints) => format!("{ints:?}"),
            Elements::Strings(texts) => {
                let texts = texts.iter().map(|text| String::from_utf8_lossy(text));
                format!("{:?}", texts.collect::<Vec<_>>())
            }
        }
    } else if let Some(text) = &attribute.s {
        format!("{:?}", String::from_utf8_lossy(text))
    } else if let Some(number) = attribute.f {
        format!("{number:?}")
    } else {
        attribute.i.unwrap_or_default().to_string()
    };
    format!("{} = {value}", attribute.name)
}
