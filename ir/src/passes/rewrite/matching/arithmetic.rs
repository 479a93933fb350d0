//! Sums, products and powers in any order and spelling.

use super::{Matcher, State};
use crate::graph::ValueId;
use crate::passes::rewrite::pattern::Pattern;

impl Matcher<'_, '_> {
    /// Matches terms of a sum, or factors of a product, in any order and nesting.
    pub(super) fn chain(
        &self,
        parts: &[Pattern],
        id: ValueId,
        state: &State,
        kinds: &[&str; 2],
    ) -> Vec<State> {
        let parts: Vec<&Pattern> = parts.iter().collect();
        self.parts(&parts, id, state, kinds)
    }

    fn parts(&self, parts: &[&Pattern], id: ValueId, state: &State, kinds: &[&str; 2]) -> Vec<State> {
        if let [part] = parts {
            let found = self.at(part, id, state);
            // `x / 2` is `x * 0.5`, so the last part may be a number alone.
            if !found.is_empty() {
                return found;
            }
        }
        let [together, inverse] = kinds;
        let Some((a, b, state)) = self.pair(id, state, &[*together, *inverse]) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        let kind = self.view.maker(id).map(|(_, node)| node.kind.clone());
        if kind.as_deref() == Some(*inverse) {
            for (at, part) in parts.iter().enumerate() {
                let rest: Vec<&Pattern> = without(parts, at);
                for state in self.taken_away(part, b, &state, inverse) {
                    all.extend(self.parts(&rest, a, &state, kinds));
                }
            }
            return all;
        }
        // Every split of the parts into two nonempty sets.
        let ways = 1usize.checked_shl(parts.len() as u32).unwrap_or(0);
        for way in 1..ways.saturating_sub(1) {
            let side = |left: bool| -> Vec<&Pattern> {
                let mine = |at: &usize| ((way >> at) & 1 == 1) == left;
                let at = (0..parts.len()).filter(mine);
                at.filter_map(|at| parts.get(at).copied()).collect()
            };
            for state in self.parts(&side(true), a, &state, kinds) {
                all.extend(self.parts(&side(false), b, &state, kinds));
            }
        }
        all
    }

    /// Matches a subtrahend or a divisor.
    fn taken_away(&self, part: &Pattern, id: ValueId, state: &State, kind: &str) -> Vec<State> {
        match part {
            Pattern::Number(_) | Pattern::Scalar(_) => match (self.number(id), kind) {
                (Some(found), "Sub") => self.numeric(part, -found, id, &state.having_read(id)),
                // Integer division rounds.
                (Some(found), _) if found == 1.0 || self.is_float(id) => {
                    self.numeric(part, 1.0 / found, id, &state.having_read(id))
                }
                _ => Vec::new(),
            },
            Pattern::Inverse(inner) if kind == "Div" => self.at(inner, id, state),
            _ => Vec::new(),
        }
    }

    pub(super) fn difference(&self, sides: &[Pattern; 2], id: ValueId, state: &State) -> Vec<State> {
        let [left, right] = sides;
        let mut all = Vec::new();
        if let Some((a, b, state)) = self.pair(id, state, &["Sub"]) {
            for state in self.at(left, a, &state) {
                all.extend(self.at(right, b, &state));
            }
        }
        if let (Pattern::Number(number), Some((a, b, state))) = (right, self.pair(id, state, &["Add"])) {
            for (a, b) in [(a, b), (b, a)] {
                for state in self.at(left, a, &state) {
                    all.extend(self.at(&Pattern::Number(-number), b, &state));
                }
            }
        }
        all
    }

    pub(super) fn inverse(&self, inner: &Pattern, id: ValueId, state: &State) -> Vec<State> {
        if let Some((inputs, state)) = self.node(id, state, &["Reciprocal"])
            && let [Some(x)] = inputs.as_slice()
        {
            return self.at(inner, *x, &state);
        }
        if let Some((a, b, state)) = self.pair(id, state, &["Div"])
            && self.number(a) == Some(1.0)
            && self.is_float(a)
        {
            return self.at(inner, b, &state.having_read(a));
        }
        if let (Some((a, b, state)), Pattern::Call(call)) = (self.pair(id, state, &["Pow"]), inner)
            && let (["Sqrt"], [of]) = (call.kinds.as_slice(), call.arguments.as_slice())
            && self.number(b) == Some(-0.5)
        {
            return self.at(of, a, &state.having_read(b));
        }
        Vec::new()
    }

    pub(super) fn power(&self, base: &Pattern, exponent: i32, id: ValueId, state: &State) -> Vec<State> {
        if exponent == 1 {
            return self.at(base, id, state);
        }
        if let Some((a, b, state)) = self.pair(id, state, &["Pow"])
            && self.number(b) == Some(f64::from(exponent))
        {
            return self.at(base, a, &state.having_read(b));
        }
        let Some((a, b, state)) = self.pair(id, state, &["Mul"]) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for (a, b) in [(a, b), (b, a)] {
            for state in self.at(base, a, &state) {
                all.extend(self.power(base, exponent - 1, b, &state));
            }
            // A square is found the same either way.
            if exponent == 2 {
                break;
            }
        }
        all
    }
}

fn without<'p>(parts: &[&'p Pattern], at: usize) -> Vec<&'p Pattern> {
    let others = parts.iter().enumerate().filter(|(other, _)| *other != at);
    others.map(|(_, part)| *part).collect()
}
