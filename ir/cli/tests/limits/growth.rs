//! Growth of time and memory with the size of graphs.

use onnx_embed_ir::proto::{FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto};
use prost::Message;

use super::flows::{branch_outputs, branches, loops, scan_outputs, shifting_states, states};
use super::measure::{Measured, measure};
use super::parts::{constant, graph, model, node, port, t, typed};

/// A row of the table.
pub struct Row {
    pub name: &'static str,
    pub graph: fn(usize) -> ModelProto,
}

const fn row(name: &'static str, graph: fn(usize) -> ModelProto) -> Row {
    Row { name, graph }
}

pub const ROWS: &[Row] = &[
    row("chain", chain),
    row("initializers, unused", unused),
    row("outputs, each its own weight", outputs),
    row("names of 200 letters", long_names),
    row("Shape, Reshape, Add, Relu", reshapes),
    row("nodes in reverse order", reversed),
    row("own weights", weights),
    row("NonZero outputs", nonzero),
    row("calls of one function", calls),
    row("inputs, own sizes", |count| inputs(count, |at| format!("n{at}"), false)),
    row("inputs, one size", |count| inputs(count, |_| "N".to_owned(), false)),
    row("inputs, one size, summed", |count| inputs(count, |_| "N".to_owned(), true)),
    row("known numbers", known_numbers),
    row("fan-out", fan_out),
    row("sums, one after another", sums),
    row("steps on one weight", hoisted),
    row("If in sequence", branches),
    row("Loop in sequence", loops),
    row("Loop with n states", states),
    row("Loop with n states that shift", shifting_states),
    row("Scan with n outputs", scan_outputs),
    row("If with n outputs", branch_outputs),
    row("Squeeze of n inputs", squeezes),
    row("names that become one", colliding),
    row("one output n times", repeated),
    row("weights read twice", read_twice),
    row("one sum of weights read twice", sum_read_twice),
    row("modules inside of each other", nested_modules),
];

/// Prints a table of CPU seconds and megabytes for each row and size.
pub fn print(sizes: &str) {
    let sizes: Vec<usize> = sizes.split(',').map(|size| size.trim().parse().unwrap()).collect();
    let only = std::env::var("ROWS").unwrap_or_default();
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("growth.onnx");
    let heads = sizes.iter().map(|size| format!(" {size} |"));
    println!("| graph |{}", heads.collect::<String>());
    println!("| --- |{}", " --- |".repeat(sizes.len()));
    for row in ROWS.iter().filter(|row| row.name.contains(&only)) {
        let mut line = format!("| {} |", row.name);
        for &size in &sizes {
            std::fs::write(&file, (row.graph)(size).encode_to_vec()).unwrap();
            let Measured { seconds, bytes, end } = measure("expand", &file);
            line += &match end {
                Some(end) => format!(" {end} |"),
                None => format!(" {seconds:.2} s, {} MB |", bytes >> 20),
            };
        }
        println!("{line}");
    }
}

fn pair(at: usize, names: fn(usize) -> String, operators: [&str; 2]) -> NodeProto {
    let operator = operators[at % 2];
    node(operator, &[names(at)], &[names(at + 1)])
}

fn chained(count: usize, names: fn(usize) -> String) -> GraphProto {
    let nodes = (0..count).map(|at| pair(at, names, ["Neg", "Exp"])).collect();
    let (first, last) = (names(0), names(count));
    graph(nodes, vec![port(&first, &["n"])], vec![port(&last, &["n"])], vec![])
}

fn chain(count: usize) -> ModelProto {
    model(chained(count, t))
}

/// A chain of negations of 4,096 numbers that are known at compile time.
fn known_numbers(count: usize) -> ModelProto {
    let text = "<ir_version: 10, opset_import: [\"\": 21]> g () => (int64[4096] y)
        <int64[1] one = {1}, int64[1] sizes = {4096}> { t0 = Expand (one, sizes) y = Identity (last) }";
    let mut model = onnx_embed_ir::text::model(text).unwrap();
    let graph = model.graph.as_mut().unwrap();
    let last = graph.node.pop();
    graph.node.extend((0..count).map(|at| node("Neg", &[t(at)], &[t(at + 1)])));
    graph.node.extend(last);
    graph.node[count + 1].input = vec![t(count)];
    model
}

fn long_names(count: usize) -> ModelProto {
    model(chained(count, |at| format!("{}{at}", "name".repeat(50))))
}

fn reversed(count: usize) -> ModelProto {
    let mut graph = chained(count, t);
    graph.node.reverse();
    model(graph)
}

fn unused(count: usize) -> ModelProto {
    let nodes = vec![node("Relu", &["x".into()], &["y".into()])];
    let constants = (0..count).map(|at| constant(&format!("w{at}"), &[16], at));
    let ports = (vec![port("x", &["n"])], vec![port("y", &["n"])]);
    model(graph(nodes, ports.0, ports.1, constants.collect()))
}

fn outputs(count: usize) -> ModelProto {
    let name = |at| format!("y{at}");
    let weight = |at| format!("w{at}");
    let nodes = (0..count).map(|at| node("Mul", &["x".into(), weight(at)], &[name(at)]));
    let constants = (0..count).map(|at| constant(&weight(at), &[4], at));
    let outputs = (0..count).map(|at| port(&name(at), &["4"])).collect();
    model(graph(nodes.collect(), vec![port("x", &["4"])], outputs, constants.collect()))
}

fn reshapes(count: usize) -> ModelProto {
    let mut nodes = Vec::new();
    for at in 0..count / 4 {
        let (shape, reshaped, sum) = (format!("s{at}"), format!("r{at}"), format!("a{at}"));
        nodes.push(node("Shape", &[t(at)], std::slice::from_ref(&shape)));
        nodes.push(node("Reshape", &[t(at), shape], std::slice::from_ref(&reshaped)));
        nodes.push(node("Add", &[reshaped, "x".into()], std::slice::from_ref(&sum)));
        nodes.push(node("Relu", &[sum], &[t(at + 1)]));
    }
    nodes.push(node("Identity", &["x".into()], &[t(0)]));
    let last = t(count / 4);
    model(graph(nodes, vec![port("x", &["n", "8"])], vec![port(&last, &["n", "8"])], vec![]))
}

fn weights(count: usize) -> ModelProto {
    let weight = |at| format!("w{at}");
    let nodes = (0..count).map(|at| node("MatMul", &[t(at), weight(at)], &[t(at + 1)]));
    let constants = (0..count).map(|at| constant(&weight(at), &[4, 4], at));
    let last = t(count);
    let ports = (vec![port("t0", &["n", "4"])], vec![port(&last, &["n", "4"])]);
    model(graph(nodes.collect(), ports.0, ports.1, constants.collect()))
}

fn nonzero(count: usize) -> ModelProto {
    let mut nodes = Vec::new();
    for at in 0..count / 2 {
        nodes.push(node("Add", &["x".into(), format!("w{at}")], &[t(at)]));
        nodes.push(node("NonZero", &[t(at)], &[format!("y{at}")]));
    }
    let outputs = (0..count / 2).map(|at| typed(&format!("y{at}"), 7, &["1", "k"]));
    let constants = (0..count / 2).map(|at| constant(&format!("w{at}"), &[4], at));
    model(graph(nodes, vec![port("x", &["4"])], outputs.collect(), constants.collect()))
}

fn calls(count: usize) -> ModelProto {
    let call = |at| NodeProto { domain: "f".to_owned(), ..node("F", &[t(at)], &[t(at + 1)]) };
    let last = t(count);
    let ports = (vec![port("t0", &["n"])], vec![port(&last, &["n"])]);
    let mut model = model(graph((0..count).map(call).collect(), ports.0, ports.1, vec![]));
    model.functions = vec![FunctionProto {
        name: "F".to_owned(),
        domain: "f".to_owned(),
        input: vec!["a".to_owned()],
        output: vec!["b".to_owned()],
        node: vec![node("Exp", &["a".into()], &["b".into()])],
        ..FunctionProto::default()
    }];
    model
}

fn inputs(count: usize, size: fn(usize) -> String, summed: bool) -> ModelProto {
    let name = |at| format!("x{at}");
    let inputs = (0..count).map(|at| port(&name(at), &[&size(at)]));
    let read: Vec<String> = (0..if summed { count } else { 1 }).map(name).collect();
    let nodes = vec![node("Sum", &read, &["s".into()]), node("Relu", &["s".into()], &["y".into()])];
    model(graph(nodes, inputs.collect(), vec![port("y", &["N"])], vec![]))
}

fn fan_out(count: usize) -> ModelProto {
    let weight = |at| format!("w{at}");
    let nodes = (0..count).map(|at| node("Mul", &["x".into(), weight(at)], &[t(at)]));
    let mut nodes: Vec<NodeProto> = nodes.collect();
    nodes.push(node("Sum", &(0..count).map(t).collect::<Vec<_>>(), &["y".into()]));
    let constants = (0..count).map(|at| constant(&weight(at), &[1], at));
    model(graph(nodes, vec![port("x", &["n"])], vec![port("y", &["n"])], constants.collect()))
}

fn sums(count: usize) -> ModelProto {
    let nodes = (0..count).map(|at| node("Add", &[t(at), "x".into()], &[t(at + 1)]));
    let inputs = vec![port("x", &["n"]), port("t0", &["n"])];
    let outputs = vec![port(&t(count), &["n"])];
    model(graph(nodes.collect(), inputs, outputs, vec![]))
}

fn hoisted(count: usize) -> ModelProto {
    let mut nodes: Vec<NodeProto> = (0..count).map(|at| pair(at, t, ["Exp", "Sin"])).collect();
    nodes.push(node("Mul", &["x".into(), t(count)], &["y".into()]));
    let ports = (vec![port("x", &["4"])], vec![port("y", &["4"])]);
    model(graph(nodes, ports.0, ports.1, vec![constant("t0", &[4], 0)]))
}

fn squeezes(count: usize) -> ModelProto {
    let mut nodes = Vec::new();
    for at in 0..count {
        let (input, squeezed) = (format!("x{at}"), format!("q{at}"));
        nodes.push(node("Squeeze", &[input, "axis".into()], std::slice::from_ref(&squeezed)));
        nodes.push(node("Relu", &[squeezed], &[format!("y{at}")]));
    }
    let inputs = (0..count).map(|at| port(&format!("x{at}"), &["1", &format!("n{at}")]));
    let outputs = (0..count).map(|at| port(&format!("y{at}"), &["k"]));
    let axis = TensorProto {
        name: "axis".to_owned(),
        data_type: 7,
        dims: vec![1],
        raw_data: Some(vec![0; 8].into()),
        ..TensorProto::default()
    };
    model(graph(nodes, inputs.collect(), outputs.collect(), vec![axis]))
}

fn colliding(count: usize) -> ModelProto {
    let weight = |at: usize| format!("w{}", ".".repeat(at % 200) + &"/".repeat(at / 200));
    let nodes = (0..count).map(|at| node("MatMul", &[t(at), weight(at)], &[t(at + 1)]));
    let constants = (0..count).map(|at| constant(&weight(at), &[4, 4], at));
    let last = t(count);
    let ports = (vec![port("t0", &["n", "4"])], vec![port(&last, &["n", "4"])]);
    model(graph(nodes.collect(), ports.0, ports.1, constants.collect()))
}

fn repeated(count: usize) -> ModelProto {
    let nodes = vec![node("Relu", &["x".into()], &["y".into()])];
    let outputs = vec![port("y", &["n"]); count];
    model(graph(nodes, vec![port("x", &["n"])], outputs, vec![]))
}

/// Returns a chain through modules of four nodes. Its second half has the weights of the first.
fn read_twice(count: usize) -> ModelProto {
    let half = count.div_ceil(2);
    let weight = |at| format!("w{at}");
    let product = |at| NodeProto {
        name: format!("/m{}/product", at / 4),
        ..node("MatMul", &[t(at), weight(at % half)], &[t(at + 1)])
    };
    let nodes = (0..count).map(product).collect();
    let constants = (0..half).map(|at| constant(&weight(at), &[4, 4], at));
    let (input, output) = (port("t0", &["n", "4"]), port(&t(count), &["n", "4"]));
    model(graph(nodes, vec![input], vec![output], constants.collect()))
}

/// Returns two sums of all weights.
fn sum_read_twice(count: usize) -> ModelProto {
    let weight = |at| format!("w{at}");
    let sum = |x: &str, y: &str| {
        let mut summed = vec![x.to_owned()];
        summed.extend((0..count).map(weight));
        node("Sum", &summed, &[y.to_owned()])
    };
    let nodes = vec![sum("x", "a"), node("Relu", &["a".into()], &["b".into()]), sum("b", "y")];
    let constants = (0..count).map(|at| constant(&weight(at), &[4], at));
    let (input, output) = (port("x", &["4"]), port("y", &["4"]));
    model(graph(nodes, vec![input], vec![output], constants.collect()))
}

/// Returns nodes in modules, each nested in that of the node before. Their names have about `count` parts in all.
pub fn nested_modules(count: usize) -> ModelProto {
    let modules = (2 * count).isqrt();
    let nodes = (0..modules).map(|at| NodeProto {
        name: format!("{}Exp", "a/b/".repeat(at.div_ceil(2))),
        ..node("Exp", &[t(at)], &[t(at + 1)])
    });
    let (input, output) = (port("t0", &["n"]), port(&t(modules), &["n"]));
    model(graph(nodes.collect(), vec![input], vec![output], vec![]))
}
