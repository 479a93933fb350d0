//! Finds the matches of a pattern.

mod arithmetic;
mod candidates;

use super::pattern::{Call, Pattern};
use crate::dtype::{DType, ElementClass};
use crate::graph::{Block, Node, NumberedValues, ValueId, Values};
use crate::ops::elementwise::clip::Clip;
use crate::types::{Known, TensorType, Type};

/// The nodes of a block, indexed by their results and uses.
pub struct View<'g> {
    pub nodes: &'g [Node],
    makers: NumberedValues,
    /// The last of the `uses` of each value.
    last_uses: NumberedValues,
    uses: Vec<Use>,
}

/// A use of a value.
struct Use {
    /// Index of the consumer. For an output of the block, an index that is out of range.
    user: usize,
    /// The use of the same value before this one.
    before: Option<usize>,
    /// Number of uses of the value up to this one.
    count: usize,
}

/// The nodes, values and numbers that the parts of a pattern matched.
#[derive(Clone, Debug, Default)]
pub struct State {
    pub bound: Vec<(&'static str, ValueId)>,
    pub numbers: Vec<(&'static str, f64)>,
    pub labels: Vec<(&'static str, usize)>,
    /// Indices of the nodes that the right side replaces.
    pub nodes: Vec<usize>,
    /// Constants whose elements are the numbers of the pattern.
    pub read: Vec<ValueId>,
}

impl<'g> View<'g> {
    pub fn new(block: &'g Block, values: &Values) -> Self {
        let mut view = View {
            nodes: &block.nodes,
            makers: NumberedValues::new(values.len()),
            last_uses: NumberedValues::new(values.len()),
            uses: Vec::new(),
        };
        for (at, node) in block.nodes.iter().enumerate() {
            for &id in node.outputs.iter().flatten() {
                view.makers.set(id, at);
            }
            for id in node.reads() {
                view.note_use(id, at);
            }
        }
        for &id in &block.outputs {
            view.note_use(id, usize::MAX);
        }
        view
    }

    fn note_use(&mut self, id: ValueId, user: usize) {
        let before = self.last_uses.set(id, self.uses.len());
        let earlier = before.and_then(|at| self.uses.get(at)).map_or(0, |one| one.count);
        self.uses.push(Use { user, before, count: earlier + 1 });
    }

    /// Returns the consumers of a value.
    fn users(&self, id: ValueId) -> impl Iterator<Item = usize> + '_ {
        let all = std::iter::successors(self.last_use(id), |one| self.uses.get(one.before?));
        all.map(|one| one.user)
    }

    fn last_use(&self, id: ValueId) -> Option<&Use> {
        self.uses.get(self.last_uses.get(id)?)
    }

    /// Returns `true` if all consumers of the node's results are among these nodes.
    pub fn is_read_within(&self, node: usize, nodes: &[usize]) -> bool {
        let outputs = self.nodes.get(node).into_iter();
        let outputs = outputs.flat_map(|node| node.outputs.iter().flatten());
        let mut users = outputs.flat_map(|&id| self.users(id));
        users.all(|user| nodes.contains(&user))
    }

    /// Returns the number of uses of a value by nodes and outputs.
    pub fn uses(&self, id: ValueId) -> usize {
        self.last_use(id).map_or(0, |last| last.count)
    }

    /// Returns the producer of a value, and the index of the value among its results.
    pub fn source(&self, id: ValueId) -> Option<(&'g Node, usize)> {
        let node = self.nodes.get(self.makers.get(id)?)?;
        let at = node.outputs.iter().position(|output| *output == Some(id))?;
        Some((node, at))
    }

    /// Returns the producer of a value, if it has no other result and no blocks.
    pub fn maker(&self, id: ValueId) -> Option<(usize, &'g Node)> {
        let at = self.makers.get(id)?;
        let node = self.nodes.get(at)?;
        let alone = node.outputs.iter().skip(1).all(Option::is_none);
        (alone && node.output(0) == Some(id) && node.blocks.is_empty()).then_some((at, node))
    }
}

/// Returns the matches of a pattern at a value.
pub fn matches(view: &View<'_>, values: &Values, pattern: &Pattern, id: ValueId) -> Vec<State> {
    let matcher = Matcher { view, values };
    // Most patterns fail at their operators, without a state.
    if matcher.may_match(pattern, id) { matcher.at(pattern, id, &State::default()) } else { Vec::new() }
}

/// Returns the number that all elements of a constant equal.
pub fn number(known: &Known) -> Option<f64> {
    fn one<T: PartialEq + Copy>(mut all: impl Iterator<Item = T>) -> Option<T> {
        let first = all.next()?;
        all.all(|other| other == first).then_some(first)
    }
    match known {
        // Zeros of different sign are different numbers.
        Known::Floats(all) => one(all.iter().map(|number| number.to_bits()))
            .map(f64::from_bits)
            .filter(|number| !number.is_nan()),
        // Larger integers may not be exact as floats.
        Known::Ints(all) => one(all.iter().map(|dim| dim.number()))?
            .filter(|number| number.unsigned_abs() < 1 << 52)
            .map(|number| number as f64),
        Known::Bools(all) => one(all.iter().copied()).map(f64::from),
        Known::Strings(_) => None,
    }
}

pub fn tensor(values: &Values, id: ValueId) -> Option<&TensorType> {
    values[id].ty.as_ref().and_then(Type::as_tensor)
}

impl State {
    /// Returns the match with one more constant whose elements it depends on.
    fn having_read(&self, id: ValueId) -> State {
        let mut state = self.clone();
        state.read.push(id);
        state
    }
}

struct Matcher<'m, 'g> {
    view: &'m View<'g>,
    values: &'m Values,
}

impl Matcher<'_, '_> {
    /// Returns the number that all elements of a constant equal. Callers that depend on it record it in their state.
    fn number(&self, id: ValueId) -> Option<f64> {
        number(self.values[id].known.peek()?)
    }

    fn at(&self, pattern: &Pattern, id: ValueId, state: &State) -> Vec<State> {
        match pattern {
            Pattern::Any(name) => bind(state, name, id).into_iter().collect(),
            Pattern::Constant(name) => {
                if self.values[id].is_constant() {
                    bind(state, name, id).into_iter().collect()
                } else {
                    Vec::new()
                }
            }
            Pattern::Number(_) | Pattern::Scalar(_) => match self.number(id) {
                Some(found) => self.numeric(pattern, found, id, &state.having_read(id)),
                None => Vec::new(),
            },
            Pattern::Sum(terms) => self.chain(terms, id, state, &["Add", "Sub"]),
            Pattern::Product(factors) => self.chain(factors, id, state, &["Mul", "Div"]),
            Pattern::Difference(sides) => self.difference(sides, id, state),
            Pattern::Inverse(inner) => self.inverse(inner, id, state),
            Pattern::Power(base, exponent) => self.power(base, *exponent, id, state),
            Pattern::Either(all) => {
                let found = all.iter().flat_map(|pattern| self.at(pattern, id, state));
                found.collect()
            }
            Pattern::Call(call) => self.call(call, id, state),
            Pattern::Absent => Vec::new(),
        }
    }

    /// Matches a number that the graph contains as `like`, or as its negative or inverse.
    fn numeric(&self, pattern: &Pattern, found: f64, like: ValueId, state: &State) -> Vec<State> {
        let dtype = tensor(self.values, like).map(|tensor| tensor.dtype);
        match pattern {
            Pattern::Number(wanted) if dtype.is_some_and(|dtype| near(found, *wanted, dtype)) => {
                vec![state.clone()]
            }
            Pattern::Scalar(name) => {
                let mut state = state.clone();
                match state.numbers.iter().find(|(scalar, _)| scalar == name) {
                    Some((_, number)) if *number != found => return Vec::new(),
                    Some(_) => {}
                    None => state.numbers.push((name, found)),
                }
                vec![state]
            }
            _ => Vec::new(),
        }
    }

    fn call(&self, call: &Call, id: ValueId, state: &State) -> Vec<State> {
        if let (["Sqrt"], [of]) = (call.kinds.as_slice(), call.arguments.as_slice())
            && let Some((a, b, state)) = self.pair(id, state, &["Pow"])
            && self.number(b) == Some(0.5)
        {
            return self.at(of, a, &state.having_read(b));
        }
        let Some((inputs, mut state)) = self.node(id, state, &call.kinds) else {
            return Vec::new();
        };
        let maker = self.view.maker(id);
        if let (Some(label), Some((at, _))) = (call.label, maker) {
            state.labels.push((label, at));
        }
        if let (["Clip"], [x, lower, upper], Some((_, node))) =
            (call.kinds.as_slice(), call.arguments.as_slice(), maker)
        {
            return self.clip([x, lower, upper], node, &state);
        }
        let mut all = self.arguments(call, &inputs, &state);
        if let ([a, b], true) = (inputs.as_slice(), call.commutative) {
            all.extend(self.arguments(call, &[*b, *a], &state));
        }
        all
    }

    /// Bounds are attributes in old versions; known bounds are numbers in all versions.
    fn clip(&self, [x, lower, upper]: [&Pattern; 3], node: &Node, state: &State) -> Vec<State> {
        let (Some(id), Some(clip)) = (node.input(0), node.operator_as::<Clip>()) else {
            return Vec::new();
        };
        let known = |at: usize| node.input(at).and_then(|id| self.values[id].known.peek());
        let mut states = self.at(x, id, state);
        for (at, wanted) in [(1, lower), (2, upper)] {
            let found = clip.number(at, known(at));
            let open = node.input(at).is_some() && found.is_none();
            states = states
                .iter()
                .flat_map(|state| match (wanted, found) {
                    (Pattern::Absent, None) if !open => vec![state.clone()],
                    (_, Some(found)) => {
                        let read = node.input(at).into_iter();
                        let state = read.fold(state.clone(), |state, id| state.having_read(id));
                        self.numeric(wanted, found, id, &state)
                    }
                    _ => Vec::new(),
                })
                .collect();
        }
        states
    }

    fn arguments(&self, call: &Call, inputs: &[Option<ValueId>], state: &State) -> Vec<State> {
        let further = inputs.get(call.arguments.len()..).unwrap_or_default();
        let missing = call.arguments.get(inputs.len()..).unwrap_or_default();
        if (!further.is_empty() && !call.open) || missing.iter().any(|argument| *argument != Pattern::Absent)
        {
            return Vec::new();
        }
        let mut states = vec![state.clone()];
        for (pattern, input) in call.arguments.iter().zip(inputs) {
            let next = |state: &State| match (input, pattern) {
                (None, Pattern::Absent) => vec![state.clone()],
                (Some(id), pattern) => self.at(pattern, *id, state),
                (None, _) => Vec::new(),
            };
            states = states.iter().flat_map(next).collect();
        }
        states
    }

    /// Returns the inputs of a node of one of these kinds, without missing ones at the end.
    fn node(&self, id: ValueId, state: &State, kinds: &[&str]) -> Option<(Vec<Option<ValueId>>, State)> {
        if self.values[id].is_constant() {
            return None;
        }
        let (at, node) = self.view.maker(id)?;
        if !kinds.contains(&&*node.kind) {
            return None;
        }
        let mut inputs = node.inputs.clone();
        while inputs.last() == Some(&None) {
            inputs.pop();
        }
        let mut state = state.clone();
        if !state.nodes.contains(&at) {
            state.nodes.push(at);
        }
        Some((inputs, state))
    }

    /// Returns the two inputs of a node of one of these kinds, if they broadcast as in current versions.
    fn pair(&self, id: ValueId, state: &State, kinds: &[&str]) -> Option<(ValueId, ValueId, State)> {
        let (inputs, state) = self.node(id, state, kinds)?;
        let [Some(a), Some(b)] = inputs.as_slice() else {
            return None;
        };
        let shape = |id: ValueId| tensor(self.values, id).map(|tensor| tensor.shape.as_slice());
        let (_, node) = self.view.maker(id)?;
        let old = node.version < 7 && shape(*a) != shape(*b);
        let scalar = shape(*b).is_some_and(<[_]>::is_empty);
        (!old || scalar).then_some((*a, *b, state))
    }

    fn is_float(&self, id: ValueId) -> bool {
        tensor(self.values, id).is_some_and(|tensor| tensor.dtype.kind() == ElementClass::Float)
    }
}

fn bind(state: &State, name: &'static str, id: ValueId) -> Option<State> {
    let bound = state.bound.iter().find(|(word, _)| *word == name);
    match bound {
        Some((_, value)) => (*value == id).then(|| state.clone()),
        None => {
            let mut state = state.clone();
            state.bound.push((name, id));
            Some(state)
        }
    }
}

/// Returns `true` if a constant of a file equals a number of a pattern, within the precision of its type.
fn near(found: f64, wanted: f64, dtype: DType) -> bool {
    let digits = match dtype {
        DType::F16 => 5e-4,
        DType::Bf16 => 4e-3,
        DType::F32 => 1e-6,
        DType::F64 => 1e-14,
        _ => 0.0,
    };
    (found - wanted).abs() <= wanted.abs() * digits
}

#[cfg(test)]
mod tests;
