//! Graphs with branches and loops.

use onnx_embed_ir::proto::{AttributeProto, AttributeType, GraphProto, ModelProto};

use super::parts::{graph, model, node, port, t, typed, with_graph};

fn branch(operator: &str, input: &str) -> GraphProto {
    let nodes = vec![node(operator, &[input.to_owned()], &["r".into()])];
    graph(nodes, vec![], vec![port("r", &["k"])], vec![])
}

pub fn branches(count: usize) -> ModelProto {
    let choice = |at| {
        let node = node("If", &["c".into()], &[t(at + 1)]);
        let node = with_graph(node, "then_branch", branch("Neg", &t(at)));
        with_graph(node, "else_branch", branch("Abs", &t(at)))
    };
    let inputs = vec![port("t0", &["n"]), typed("c", 9, &[])];
    let last = t(count);
    model(graph((0..count).map(choice).collect(), inputs, vec![port(&last, &["k"])], vec![]))
}

/// Returns the body of a loop with this number of states. It negates each of them.
fn body(states: usize) -> GraphProto {
    let (state, next) = (|at| format!("s{at}"), |at| format!("o{at}"));
    let mut nodes = vec![node("Identity", &["c".into()], &["d".into()])];
    nodes.extend((0..states).map(|at| node("Neg", &[state(at)], &[next(at)])));
    let mut inputs = vec![typed("i", 7, &[]), typed("c", 9, &[])];
    inputs.extend((0..states).map(|at| port(&state(at), &["k"])));
    let mut outputs = vec![typed("d", 9, &[])];
    outputs.extend((0..states).map(|at| port(&next(at), &["k"])));
    graph(nodes, inputs, outputs, vec![])
}

pub fn loops(count: usize) -> ModelProto {
    let repeat = |at| {
        let node = node("Loop", &["m".into(), String::new(), t(at)], &[t(at + 1)]);
        with_graph(node, "body", body(1))
    };
    let inputs = vec![port("t0", &["n"]), typed("m", 7, &[])];
    let last = t(count);
    model(graph((0..count).map(repeat).collect(), inputs, vec![port(&last, &["k"])], vec![]))
}

pub fn states(count: usize) -> ModelProto {
    let mut arguments = vec!["m".to_owned(), String::new()];
    arguments.extend((0..count).map(|at| format!("x{}", at % 10)));
    let made: Vec<String> = (0..count).map(t).collect();
    let nodes = vec![with_graph(node("Loop", &arguments, &made), "body", body(count))];
    let mut inputs: Vec<_> = (0..10).map(|at| port(&format!("x{at}"), &["n"])).collect();
    inputs.push(typed("m", 7, &[]));
    let outputs = made.iter().map(|name| port(name, &["n"]));
    model(graph(nodes, inputs, outputs.collect(), vec![]))
}

pub fn branch_outputs(count: usize) -> ModelProto {
    let made: Vec<String> = (0..count).map(t).collect();
    let branch = |operator: &str| {
        let own = |at| format!("r{at}");
        let nodes = (0..count).map(|at| node(operator, &[format!("x{}", at % 10)], &[own(at)]));
        let outputs = (0..count).map(|at| port(&own(at), &["k"]));
        graph(nodes.collect(), vec![], outputs.collect(), vec![])
    };
    let choice = node("If", &["c".into()], &made);
    let choice = with_graph(choice, "then_branch", branch("Neg"));
    let choice = with_graph(choice, "else_branch", branch("Abs"));
    let mut inputs: Vec<_> = (0..10).map(|at| port(&format!("x{at}"), &["n"])).collect();
    inputs.push(typed("c", 9, &[]));
    let outputs = made.iter().map(|name| port(name, &["n"]));
    model(graph(vec![choice], inputs, outputs.collect(), vec![]))
}

/// Returns a loop in which each state becomes the negative of the next one. Only the first state is read.
pub fn shifting_states(count: usize) -> ModelProto {
    let (state, next) = (|at| format!("s{at}"), |at| format!("o{at}"));
    let mut nodes = vec![node("Identity", &["c".into()], &["d".into()])];
    nodes.extend((0..count).map(|at| node("Neg", &[state((at + 1).min(count - 1))], &[next(at)])));
    let mut inputs = vec![typed("i", 7, &[]), typed("c", 9, &[])];
    inputs.extend((0..count).map(|at| port(&state(at), &["k"])));
    let mut outputs = vec![typed("d", 9, &[])];
    outputs.extend((0..count).map(|at| port(&next(at), &["k"])));
    let body = graph(nodes, inputs, outputs, vec![]);
    let mut arguments = vec!["m".to_owned(), String::new()];
    arguments.extend((0..count).map(|at| format!("x{}", at % 10)));
    let mut made = vec![String::new(); count];
    made.first_mut().into_iter().for_each(|name| *name = t(0));
    let mut inputs: Vec<_> = (0..10).map(|at| port(&format!("x{at}"), &["n"])).collect();
    inputs.push(typed("m", 7, &[]));
    let nodes = vec![with_graph(node("Loop", &arguments, &made), "body", body)];
    model(graph(nodes, inputs, vec![port(&t(0), &["n"])], vec![]))
}

/// Returns a scan that collects the outputs of many nodes.
pub fn scan_outputs(count: usize) -> ModelProto {
    let own = |at| format!("r{at}");
    let nodes = (0..count).map(|at| node("NonZero", &["e".into()], &[own(at)]));
    let outputs = (0..count).map(|at| typed(&own(at), 7, &["1", "k"]));
    let body = graph(nodes.collect(), vec![port("e", &["n"])], outputs.collect(), vec![]);
    let made: Vec<String> = (0..count).map(t).collect();
    let mut scan = with_graph(node("Scan", &["x".into()], &made), "body", body);
    scan.attribute.push(AttributeProto {
        name: "num_scan_inputs".to_owned(),
        r#type: Some(AttributeType::Int as i32),
        i: Some(1),
        ..AttributeProto::default()
    });
    let outputs = made.iter().map(|name| typed(name, 7, &["m", "1", "k"]));
    model(graph(vec![scan], vec![port("x", &["m", "n"])], outputs.collect(), vec![]))
}
