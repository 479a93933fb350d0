//! Inputs that look like a state that outputs continue.

use std::collections::BTreeMap;

use crate::graph::{Node, ValueId};
use crate::model::Model;
use crate::options::{Kept, Step};
use crate::types::TensorType;

/// Operators with a state: the input, and the output that continues it.
const STATES: &[(&str, usize, usize)] = &[
    ("Attention", 4, 1),
    ("Attention", 5, 2),
    ("Concat", 0, 0),
    ("GRU", 5, 1),
    ("LSTM", 5, 1),
    ("LSTM", 6, 2),
    ("RNN", 5, 1),
    ("TensorScatter", 0, 0),
    ("com.microsoft.GroupQueryAttention", 3, 1),
    ("com.microsoft.GroupQueryAttention", 4, 2),
    ("com.microsoft.MultiHeadAttention", 6, 1),
    ("com.microsoft.MultiHeadAttention", 7, 2),
];
/// Operators that only change the shape.
const VIEWS: &[&str] = &["Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"];
/// Words of names that tell an input from the output that continues it.
const WORDS: &[&str] = &[
    "current", "in", "init", "initial", "new", "next", "out", "past", "present", "prev", "previous",
    "updated",
];

/// An input or output by its name.
struct Port<'g> {
    id: ValueId,
    name: &'g str,
    tensor: &'g TensorType,
}

/// The names of an input, and of the output of an earlier step that it is.
struct Pair<'n> {
    input: &'n str,
    output: &'n str,
    step: Step,
}

/// Returns the pairs that `#[onnx(state(..))]` would name, several with the same form of name as one with `*`.
pub fn states(model: &Model) -> Vec<Kept> {
    let graph = &model.graph;
    let port =
        |id: ValueId, name| Some(Port { id, name, tensor: graph.values[id].ty.as_ref()?.as_tensor()? });
    let inputs = graph.body.inputs.iter().filter_map(|&id| port(id, graph.values[id].name.as_str()));
    let names = model.facts.outputs.iter().map(String::as_str);
    let outputs = graph.body.outputs.iter().zip(names).filter_map(|(&id, name)| port(id, name));
    let (inputs, outputs): (Vec<Port<'_>>, Vec<Port<'_>>) = (inputs.collect(), outputs.collect());
    let makers =
        graph.body.nodes.iter().flat_map(|node| node.outputs.iter().flatten().map(move |&id| (id, node)));
    let makers: BTreeMap<ValueId, &Node> = makers.collect();
    let of_nodes: Vec<(ValueId, ValueId)> =
        graph.body.nodes.iter().flat_map(|node| of_node(node, &makers)).collect();
    let mut pairs: Vec<Pair<'_>> = Vec::new();
    for input in &inputs {
        let is_taken = |output: &Port<'_>| pairs.iter().any(|pair| pair.output == output.name);
        let mut free = outputs.iter().filter(|output| !is_taken(output));
        let mut next = free.clone().filter(|output| is_next(input.tensor, output.tensor));
        let of_node = |output: &&Port<'_>| of_nodes.contains(&(input.id, origin(output.id, &makers)));
        let alike = |output: &&Port<'_>| are_alike(input.name, output.name);
        let found = next.clone().find(of_node).or_else(|| next.find(alike));
        let found = found.map(|output| (output, Step::Last)).or_else(|| {
            let is_first = |output: &&Port<'_>| {
                let branches =
                    makers.get(&origin(output.id, &makers)).is_some_and(|node| &*node.kind == "If");
                branches && is_variant(input.tensor, output.tensor) && alike(output)
            };
            free.find(is_first).map(|output| (output, Step::First))
        });
        pairs.extend(found.map(|(output, step)| Pair { input: input.name, output: output.name, step }));
    }
    let names: Vec<&str> = inputs.iter().map(|input| input.name).collect();
    grouped(&pairs, &names)
}

/// Returns the states of a node, without operators that only change the shape.
fn of_node(node: &Node, makers: &BTreeMap<ValueId, &Node>) -> Vec<(ValueId, ValueId)> {
    let own = STATES.iter().filter(|(kind, ..)| *kind == &*node.kind);
    let own = own
        .filter_map(|(_, input, output)| Some((origin(node.input(*input)?, makers), node.output(*output)?)));
    own.collect()
}

/// Returns the value whose elements this one has, in another shape.
fn origin(mut id: ValueId, makers: &BTreeMap<ValueId, &Node>) -> ValueId {
    while let Some(node) = makers.get(&id).filter(|node| VIEWS.contains(&&*node.kind)) {
        let Some(from) = node.input(0) else { break };
        id = from;
    }
    id
}

/// Returns `true` if a tensor may be the other one in the next call: at most one axis grows.
fn is_next(before: &TensorType, after: &TensorType) -> bool {
    let sizes = before.shape.iter().zip(&after.shape);
    let mut others = sizes.filter(|(size, next)| size != next && !next.is_any());
    let grows = others.next().is_none_or(|(size, _)| size.fixed().is_none());
    before.dtype == after.dtype && before.rank() == after.rank() && grows && others.next().is_none()
}

/// Returns `true` if the tensors may only differ in sizes that are not known. Of decoders with a branch for the first step,
/// the other branch returns such a tensor without elements.
fn is_variant(before: &TensorType, after: &TensorType) -> bool {
    let mut sizes = before.shape.iter().zip(&after.shape);
    before.dtype == after.dtype
        && before.rank() == after.rank()
        && sizes.all(|(size, next)| size == next || next.fixed().is_none())
}

/// Returns `true` if names differ only in words such as `past` and `present`, or by an `n` at the end.
fn are_alike(input: &str, output: &str) -> bool {
    let [input, output] = [input, output].map(|name| {
        let name = name.to_lowercase().replace("past_key_values", "past");
        let words = name.split(|letter: char| !letter.is_alphanumeric());
        let words = words.filter(|word| !word.is_empty() && !WORDS.contains(word));
        words.collect::<Vec<_>>().join(".")
    });
    !input.is_empty() && (output == input || output == format!("{input}n"))
}

/// Replaces pairs of one form by one with `*`, unless that would name another of the inputs.
fn grouped(pairs: &[Pair<'_>], inputs: &[&str]) -> Vec<Kept> {
    let mut all: Vec<Kept> = Vec::new();
    for pair in pairs {
        let names_pairs = |form: &Kept| {
            let named = inputs.iter().filter_map(|input| Some((*input, form.output_of(input)?)));
            let mut others = named.map(|(input, output)| {
                pairs.iter().any(|pair| (pair.input, pair.output, pair.step) == (input, &*output, form.step))
            });
            others.clone().count() > 1 && others.all(|is_pair| is_pair)
        };
        let kept = forms(pair).find(names_pairs).unwrap_or_else(|| Kept {
            input: pair.input.to_owned(),
            output: pair.output.to_owned(),
            step: pair.step,
        });
        if !all.contains(&kept) {
            all.push(kept);
        }
    }
    all
}

/// Returns forms of the names of a pair with `*` in their equal rests, the ones that match most first.
fn forms<'n>(pair: &Pair<'n>) -> impl Iterator<Item = Kept> + use<'n> {
    let step = pair.step;
    let rest = beginnings(pair.input, pair.output).into_iter();
    rest.flat_map(move |(beginnings, rest)| {
        let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        let words: Vec<&str> = rest.split_inclusive(|letter: char| !letter.is_alphanumeric()).collect();
        let last = words.len().saturating_sub(1);
        let starred = |is_starred: &dyn Fn(usize, &str) -> bool| {
            let stars = words.iter().enumerate().map(|(at, whole)| {
                let word = whole.trim_end_matches(|letter: char| !letter.is_alphanumeric());
                let sign = whole.get(word.len()..).unwrap_or_default();
                if is_starred(at, word) { format!("*{sign}") } else { (*whole).to_owned() }
            });
            stars.collect::<String>()
        };
        let rests = [
            "*".to_owned(),
            starred(&|at, word| at == last || is_number(word)),
            starred(&|_, word| is_number(word)),
        ];
        rests.map(|rest| {
            let [input, output] = beginnings.map(|beginning| format!("{beginning}{rest}"));
            Kept { input, output, step }
        })
    })
}

/// Returns the parts of two names before the equal rest, which begins after a sign, and the rest.
fn beginnings<'n>(input: &'n str, output: &'n str) -> Option<([&'n str; 2], &'n str)> {
    let equal = input.bytes().rev().zip(output.bytes().rev()).take_while(|(a, b)| a == b).count();
    let rest = input.get(input.len().checked_sub(equal)?..)?;
    let sign = rest.find(|letter: char| !letter.is_alphanumeric())?;
    let length = rest.len().checked_sub(sign + 1)?;
    let (before, rest) = input.split_at_checked(input.len().checked_sub(length)?)?;
    Some(([before, output.get(..output.len().checked_sub(length)?)?], rest))
}

#[cfg(test)]
mod tests {
    use prost::Message;

    use super::*;
    use crate::options::Options;

    /// Returns the states of a graph as options.
    fn found(graph: &str) -> Vec<String> {
        let text = format!("<ir_version: 10, opset_import: [\"\": 21, \"com.microsoft\": 1]> g {graph}");
        let bytes = crate::text::model(&text).unwrap().encode_to_vec();
        let options = Options::default();
        let untyped = crate::read::read_bytes(bytes.into(), &options).unwrap();
        let (model, problems) = crate::attempts::typed(&untyped, &options);
        assert!(problems.is_empty(), "{}", problems.report("model"));
        let shown = |Kept { input, output, step }| match step {
            Step::Last => format!("{input} = {output}"),
            Step::First => format!("{input} = first({output})"),
        };
        states(&model).into_iter().map(shown).collect()
    }

    #[test]
    fn caches_have_the_form_of_their_names() {
        let cache = |number| {
            format!(
                "present_key_{number} = Concat <axis = 1> (past_key_{number}, x)
                present_value_{number} = Concat <axis = 1> (past_value_{number}, x)"
            )
        };
        let graph = format!(
            "(float[b, n, 4] x, float[b, p, 4] past_key_0, float[b, p, 4] past_value_0, float[b, p, 4] past_key_1,
            float[b, p, 4] past_value_1, float[b, p, 4] other)
            => (float[b, t, 4] present_key_0, float[b, t, 4] present_value_0, float[b, t, 4] present_key_1,
            float[b, t, 4] present_value_1, float[b, p, 4] y) {{ {} {} y = Relu (other) }}",
            cache(0),
            cache(1)
        );
        assert_eq!(found(&graph), ["past_* = present_*"]);
    }

    #[test]
    fn what_only_the_first_step_computes_stays() {
        let tensors = |which: &str, sizes: &str| {
            let names =
                (0..2).flat_map(|layer| ["key", "value"].map(|what| format!("{layer}_{which}_{what}")));
            names.map(|name| (format!("float[{sizes}] past_{name}"), name)).collect::<Vec<_>>()
        };
        let (encoders, decoders) = (tensors("encoder", "b, e, 4"), tensors("decoder", "b, p, 4"));
        let (mut inputs, mut outputs, mut nodes) = (String::new(), String::new(), String::new());
        for (input, name) in encoders {
            inputs += &format!(", {input}");
            outputs += &format!("float[i, j, 4] present_{name}, ");
            nodes += &format!(
                "present_{name} = If (later) <
                    then_branch = t () => (float[i, j, 4] none) {{ none = ConstantOfShape (empty) }},
                    else_branch = e () => (float[b, e, 4] made) {{ made = Neg (h) }}
                >"
            );
        }
        for (input, name) in decoders {
            inputs += &format!(", {input}");
            outputs += &format!("float[b, t, 4] present_{name}, ");
            nodes += &format!("present_{name} = Concat <axis = 1> (past_{name}, x)");
        }
        let found = found(&format!(
            "(float[b, e, 4] h, float[b, n, 4] x, bool later{inputs}) => ({outputs}float[b, e, 4] y)
            {{ y = Relu (h) empty = Constant <value_ints = [0, 1, 4]> () {nodes} }}"
        ));
        let wanted =
            ["past_*_encoder_* = first(present_*_encoder_*)", "past_*_decoder_* = present_*_decoder_*"];
        assert_eq!(found, wanted);
    }

    #[test]
    fn states_of_recurrent_operators_have_any_name() {
        let found = found(
            "(float[n, b, 2] x, float[b, 3] first, float[1, b, 3] second)
            => (float[n, 1, b, 3] y, float[b, 3] r, float[1, b, 3] s) {
                zero = Constant <value_ints = [0]> ()
                wide = Constant <value_ints = [1, 12, 2]> ()
                deep = Constant <value_ints = [1, 12, 3]> ()
                w = ConstantOfShape (wide)
                r0 = ConstantOfShape (deep)
                h = Unsqueeze (first, zero)
                y, hn, s = LSTM <hidden_size = 3> (x, w, r0, , , h, second)
                r = Squeeze (hn, zero)
            }",
        );
        assert_eq!(found, ["first = r", "second = s"]);
    }

    #[test]
    fn names_may_tell_a_state() {
        let graph = |input, output| {
            format!(
                "(float[b, 3] x, float[b, 3] {input}) => (float[b, 3] {output}) {{ {output} = Add (x, {input}) }}"
            )
        };
        assert_eq!(found(&graph("h", "hn")), ["h = hn"]);
        assert_eq!(found(&graph("state", "stateN")), ["state = stateN"]);
        assert_eq!(found(&graph("in_cache", "out_cache")), ["in_cache = out_cache"]);
        assert!(found(&graph("input", "output")).is_empty());
        assert!(found(&graph("y", "z")).is_empty());
    }

    #[test]
    fn other_types_and_sizes_are_no_state() {
        assert!(found("(float[b, 3] h) => (int64[b, 3] hn) { hn = Cast <to = 7> (h) }").is_empty());
        assert!(found("(float[b, 3] h) => (float[3, b] hn) { hn = Transpose (h) }").is_empty());
    }
}
