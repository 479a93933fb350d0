//! Mutations, for graphs that almost match a rule.

use onnx_embed_ir::dtype::DType;
use onnx_embed_ir::proto::{
    AttributeProto, AttributeType, DimensionValue, Elements, GraphProto, List, NodeProto, TensorProto,
};

use crate::elements;
use crate::fragment::{input, tensor};
use crate::random::Random;

/// Numbers at the limits of rules' laws.
const NUMBERS: [f64; 14] =
    [0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -2.0, 6.0, 1e-5, 0.1, -0.0, 1e30, f64::INFINITY, f64::NAN];

/// Groups of operators that are easily confused.
const ALIKE: &[&[&str]] = &[
    &["Add", "Sub", "Mul", "Div", "Max", "Min"],
    &["And", "Or", "Xor"],
    &["Floor", "Ceil", "Round"],
    &["Sigmoid", "Tanh", "Relu", "HardSigmoid", "HardSwish", "Swish", "Gelu", "Mish"],
    &["Neg", "Abs", "Sign", "Exp", "Reciprocal"],
    &["ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"],
    &["Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"],
];

/// Element types for which most rules hold.
const FLOATS: [DType; 3] = [DType::F32, DType::F64, DType::F16];
const INTEGERS: [DType; 2] = [DType::I64, DType::I32];

/// Applies at most one random change to the graph.
pub fn mutate(graph: &mut GraphProto, random: &mut Random) {
    match random.below(11) {
        0 | 1 => number(graph, random),
        2 => retype(graph, random),
        3 | 4 => between(graph, random),
        5 => turn(graph, random),
        6 => resize(graph, random),
        7 => attribute(graph, random),
        8 => axes(graph, random),
        9 => alike(graph, random),
        _ => elsewhere(graph, random),
    };
}

/// Replaces a number in a constant.
///
/// A large number may cancel sums of products to their rounding errors. Only runs on inputs that differ by a rounding
/// detect this, so an input must be a float.
fn number(graph: &mut GraphProto, random: &mut Random) -> Option<()> {
    let is_float = |number: i32| DType::from_onnx(number).is_some_and(DType::is_float);
    let tells = graph.input.iter_mut().any(|value| tensor(value).is_some_and(|(dtype, _)| is_float(*dtype)));
    let constant = some(&mut graph.initializer, random)?;
    let mut numbers = elements::numbers(constant)?;
    *some(&mut numbers, random)? = match *random.pick(&NUMBERS) {
        number if number.is_finite() && number > 1e6 && !tells => 6.0,
        number => number,
    };
    let dtype = DType::from_onnx(constant.data_type)?;
    elements::set(constant, dtype, &numbers)
}

/// Replaces an element type.
fn retype(graph: &mut GraphProto, random: &mut Random) -> Option<()> {
    let (from, to) = if random.chance(80) {
        (DType::F32, *random.pick(&FLOATS))
    } else {
        (DType::I64, *random.pick(&INTEGERS))
    };
    for value in &mut graph.input {
        if let Some((dtype, _)) = tensor(value)
            && *dtype == from.number()
        {
            *dtype = to.number();
        }
    }
    for constant in &mut graph.initializer {
        if constant.data_type == from.number() {
            let numbers = elements::numbers(constant)?;
            elements::set(constant, to, &numbers)?;
        }
    }
    Some(())
}

/// Inserts an operator before an input of a node.
fn between(graph: &mut GraphProto, random: &mut Random) -> Option<()> {
    let name = format!("between{}", graph.node.len());
    let at = random.below(graph.node.len().max(1));
    let input = some(&mut graph.node.get_mut(at)?.input, random)?;
    let kind = *random.pick(&["Identity", "Neg", "Relu", "Abs", "Floor", "Not", "Sigmoid"]);
    let node = call(kind, std::slice::from_ref(input), &name);
    *input = name;
    graph.node.insert(at, node);
    Some(())
}

/// Swaps the inputs of a node.
fn turn(graph: &mut GraphProto, random: &mut Random) -> Option<()> {
    let node = some(&mut graph.node, random)?;
    match node.input.len() {
        2 => node.input.reverse(),
        _ => return None,
    }
    Some(())
}

/// Replaces a size in all inputs.
fn resize(graph: &mut GraphProto, random: &mut Random) -> Option<()> {
    let mut sizes = Vec::new();
    for value in &mut graph.input {
        let axes = tensor(value).into_iter().flat_map(|(_, sizes)| sizes);
        sizes.extend(axes.filter_map(|size| size.value.clone()));
    }
    let from = random.pick(&(!sizes.is_empty()).then_some(sizes)?).clone();
    let to = match random.below(6) {
        at @ 0..4 => DimensionValue::Value([1, 2, 4, 0][at]),
        _ => DimensionValue::Name("M".to_owned()),
    };
    for value in &mut graph.input {
        let axes = tensor(value).into_iter().flat_map(|(_, sizes)| sizes);
        for size in axes.filter(|size| size.value.as_ref() == Some(&from)) {
            size.value = Some(to.clone());
        }
    }
    Some(())
}

/// Changes the value of an attribute.
fn attribute(graph: &mut GraphProto, random: &mut Random) -> Option<()> {
    let attributes = graph.node.iter_mut().flat_map(|node| &mut node.attribute);
    let mut attributes: Vec<&mut AttributeProto> = attributes.collect();
    let attribute = some(&mut attributes, random)?;
    if let Some(number) = &mut attribute.i {
        *number = *random.pick(&[0, 1, -1, 2, 1 - *number]);
    }
    if let Some(number) = &mut attribute.f {
        *number = *random.pick(&[0.0, 1.0, 0.5, 2.0 * *number, -*number]);
    }
    if let Some(List { elements: Elements::Ints(numbers), .. }) = &mut attribute.list {
        let (from, to) = (random.below(numbers.len().max(1)), numbers.len().checked_sub(1)?);
        if random.chance(70) {
            numbers.swap(from, to)
        } else {
            *numbers.get_mut(from)? = *random.pick(&[0, 1, 2, -1])
        }
    }
    Some(())
}

/// Adds an axis of size 1 to a constant, or removes all axes if each has size 1.
fn axes(graph: &mut GraphProto, random: &mut Random) -> Option<()> {
    let constant = some(&mut graph.initializer, random)?;
    match random.below(3) {
        0 => constant.dims.insert(0, 1),
        1 => constant.dims.push(1),
        _ if constant.dims.iter().all(|&size| size == 1) => constant.dims.clear(),
        _ => return None,
    }
    Some(())
}

/// Replaces an operator with a similar one.
fn alike(graph: &mut GraphProto, random: &mut Random) -> Option<()> {
    let node = some(&mut graph.node, random)?;
    let like = ALIKE.iter().find(|kinds| kinds.contains(&&*node.op_type))?;
    node.op_type = (*random.pick(like)).to_owned();
    Some(())
}

/// Moves a constant to a node, or makes it an input that is known only at run time.
fn elsewhere(graph: &mut GraphProto, random: &mut Random) -> Option<()> {
    let at = random.below(graph.initializer.len().max(1));
    graph.initializer.get(at)?;
    let constant = graph.initializer.remove(at);
    if random.chance(60) {
        graph.node.insert(0, constant_node(constant))
    } else {
        let sizes = constant.dims.iter().map(|&size| DimensionValue::Value(size));
        let value = input(&constant.name, constant.data_type, sizes.collect());
        graph.input.push(value);
    }
    Some(())
}

fn constant_node(constant: TensorProto) -> NodeProto {
    let name = constant.name.clone();
    let value = AttributeProto {
        name: "value".to_owned(),
        r#type: Some(AttributeType::Tensor.into()),
        t: Some(Box::new(TensorProto { name: String::new(), ..constant })),
        ..AttributeProto::default()
    };
    NodeProto { attribute: vec![value], ..call("Constant", &[], &name) }
}

/// Returns a node with one output.
pub fn call(kind: &str, inputs: &[String], output: &str) -> NodeProto {
    NodeProto {
        op_type: kind.to_owned(),
        input: inputs.to_vec(),
        output: vec![output.to_owned()],
        ..NodeProto::default()
    }
}

fn some<'a, T>(all: &'a mut [T], random: &mut Random) -> Option<&'a mut T> {
    let at = random.below(all.len().max(1));
    all.get_mut(at)
}
