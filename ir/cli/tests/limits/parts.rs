//! Parts of models.

use onnx_embed_ir::proto::{
    AttributeProto, AttributeType, Dimension, DimensionValue, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, StringStringEntryProto, TensorProto, TensorShapeProto, TensorType, TypeProto,
    TypeValue, ValueInfoProto,
};

pub fn node(operator: &str, inputs: &[String], outputs: &[String]) -> NodeProto {
    NodeProto {
        op_type: operator.to_owned(),
        input: inputs.to_vec(),
        output: outputs.to_vec(),
        ..NodeProto::default()
    }
}

/// Returns the name of a value in a numbered series.
pub fn t(at: usize) -> String {
    format!("t{at}")
}

/// Returns a float tensor with named or fixed sizes.
pub fn port(name: &str, sizes: &[&str]) -> ValueInfoProto {
    typed(name, 1, sizes)
}

pub fn typed(name: &str, elem_type: i32, sizes: &[&str]) -> ValueInfoProto {
    let dim = |size: &&str| Dimension {
        value: Some(match size.parse() {
            Ok(number) => DimensionValue::Value(number),
            Err(_) => DimensionValue::Name((*size).to_owned()),
        }),
        denotation: String::new(),
    };
    let shape = TensorShapeProto { dim: sizes.iter().map(dim).collect() };
    ValueInfoProto {
        name: name.to_owned(),
        r#type: Some(TypeProto {
            value: Some(TypeValue::Tensor(TensorType { elem_type, shape: Some(shape) })),
            denotation: String::new(),
        }),
        metadata_props: Vec::<StringStringEntryProto>::new(),
    }
}

/// Returns a float constant.
pub fn constant(name: &str, sizes: &[i64], first: usize) -> TensorProto {
    let count: i64 = sizes.iter().product();
    let values = (0..count).flat_map(|at| (first as f32 + at as f32 / 2.0).to_le_bytes());
    TensorProto {
        name: name.to_owned(),
        data_type: 1,
        dims: sizes.to_vec(),
        raw_data: Some(values.collect::<Vec<u8>>().into()),
        ..TensorProto::default()
    }
}

pub fn model(graph: GraphProto) -> ModelProto {
    ModelProto {
        ir_version: Some(10),
        opset_import: ["", "f"]
            .map(|domain| OperatorSetIdProto {
                domain: domain.to_owned(),
                version: Some(if domain.is_empty() { 21 } else { 1 }),
            })
            .to_vec(),
        graph: Some(graph),
        ..ModelProto::default()
    }
}

pub fn graph(
    node: Vec<NodeProto>,
    input: Vec<ValueInfoProto>,
    output: Vec<ValueInfoProto>,
    initializer: Vec<TensorProto>,
) -> GraphProto {
    GraphProto { name: "g".to_owned(), node, input, output, initializer, ..GraphProto::default() }
}

pub fn with_graph(mut node: NodeProto, name: &str, graph: GraphProto) -> NodeProto {
    node.attribute.push(AttributeProto {
        name: name.to_owned(),
        r#type: Some(AttributeType::Graph as i32),
        g: Some(Box::new(graph)),
        ..AttributeProto::default()
    });
    node
}
