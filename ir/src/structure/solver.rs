//! Elements of weights from which other elements are computed.
//!
//! The program computes a weight from others when it is loaded, and the second file has the result, or computes it in another
//! way: one exporter folds a normalization into a convolution, another does not. Then the weights of the first file get elements
//! from which the program computes this result. Of two unknown operands one becomes 0 or 1.

use std::collections::{BTreeMap, BTreeSet};

use super::evaluate::{Binary, Unary, aligned, dtype, evaluated, nodes};
use super::layout::{Root, root};
use super::moves::moved;
use super::numbers;
use super::side::Side;
use crate::graph::{Node, ValueId};
use crate::weight::Weight;

/// Greatest relative difference between elements that the two files compute in different ways.
const ROUNDING: f64 = 1e-5;

/// Elements that a value must have, where this is known.
type Target = Vec<Option<f64>>;

/// Byte range of a weight, which identifies it.
type Key = (usize, usize);

/// A weight with found elements.
pub(super) struct Found<'g> {
    pub id: ValueId,
    pub weight: &'g Weight,
    /// Name of the constant of the second graph.
    pub from: &'g str,
    pub elements: Target,
}

/// Elements found so far.
pub(super) struct Solver<'s, 'g> {
    side: &'s Side<'g>,
    found: BTreeMap<Key, Found<'g>>,
    /// Weights whose elements were known for another reason.
    set: BTreeSet<Key>,
    from: &'g str,
}

impl<'s, 'g> Solver<'s, 'g> {
    pub fn new(side: &'s Side<'g>) -> Self {
        Solver { side, found: BTreeMap::new(), set: BTreeSet::new(), from: "" }
    }

    /// Sets the elements of a weight that are known for another reason.
    pub fn set(&mut self, id: ValueId, weight: &'g Weight, elements: Vec<f64>) -> Option<()> {
        let elements = elements.into_iter().map(Some).collect();
        self.found.entry(weight.start()?).or_insert(Found { id, weight, from: "", elements });
        self.set.insert(weight.start()?);
        Some(())
    }

    /// Finds elements from which a value is computed with these elements, which come from a constant with this name.
    pub fn solve(&mut self, id: ValueId, from: &'g str, wanted: &[f64]) -> Option<()> {
        self.from = from;
        nodes(self.side, id)?;
        self.value(id, wanted.iter().copied().map(Some).collect())?;
        let result = self.evaluated(id, true)?;
        let scale = wanted.iter().fold(0.0f64, |scale, x| scale.max(x.abs()));
        let agree = |(a, b): (&f64, &f64)| a == b || (a - b).abs() <= ROUNDING * scale;
        (result.len() == wanted.len() && result.iter().zip(wanted).all(agree)).then_some(())
    }

    /// Returns the weights with found elements, except for those that were set.
    pub fn into_found(self) -> impl Iterator<Item = Found<'g>> {
        let found = self.found.into_iter().filter(move |(key, _)| !self.set.contains(key));
        found.map(|(_, found)| found)
    }

    fn value(&mut self, id: ValueId, target: Target) -> Option<()> {
        match root(&self.side.values[id]) {
            Root::Missing => None,
            Root::Computed(node) => self.node(node, target),
            constant => match self.free(constant) {
                Some(weight) => self.stored(id, weight, target),
                None => self.agrees(&numbers::of(constant, dtype(self.side, id)?)?, &target),
            },
        }
    }

    /// Returns a weight whose elements may change.
    fn free(&self, constant: Root<'g>) -> Option<&'g Weight> {
        match constant {
            Root::Stored(weight) if !self.side.values.sources().is_consulted(weight) => Some(weight),
            _ => None,
        }
    }

    fn stored(&mut self, id: ValueId, weight: &'g Weight, target: Target) -> Option<()> {
        let count = weight.count()?;
        let open = || Found { id, weight, from: self.from, elements: vec![None; count] };
        let found = self.found.entry(weight.start()?).or_insert_with(open);
        (target.len() == found.elements.len()).then_some(())?;
        found.elements.iter_mut().zip(target).try_for_each(|(slot, wanted)| match wanted {
            Some(wanted) => put(slot, wanted),
            None => Some(()),
        })
    }

    fn agrees(&self, elements: &[f64], target: &Target) -> Option<()> {
        let near = |(a, b): (&f64, &Option<f64>)| b.is_none_or(|b| near(*a, b));
        (elements.len() == target.len() && elements.iter().zip(target).all(near)).then_some(())
    }

    fn node(&mut self, node: &'g Node, target: Target) -> Option<()> {
        if let Some(operator) = Unary::of(self.side, node) {
            let inverse = |y: f64| match operator {
                Unary::Negation => Some(-y),
                Unary::Root => (y >= 0.0).then_some(y * y),
                Unary::Reciprocal => (y != 0.0).then_some(y.recip()),
                Unary::Cast => Some(y),
            };
            let inverse = |y: Option<f64>| y.map_or(Some(None), |y| inverse(y).map(Some));
            let target = target.into_iter().map(inverse).collect::<Option<Target>>()?;
            return self.value(node.input(0)?, target);
        }
        if let Some(operator) = Binary::of(node) {
            return self.binary(operator, node, target);
        }
        let (operands, positions) = moved(self.side, node)?;
        let counts = operands.iter().map(|&id| self.count(id)).collect::<Option<Vec<usize>>>()?;
        let mut all: Target = vec![None; counts.iter().sum()];
        for (&at, wanted) in positions.iter().zip(target) {
            if let Some(wanted) = wanted {
                put(all.get_mut(at)?, wanted)?;
            }
        }
        for (id, count) in operands.into_iter().zip(counts) {
            let behind = all.split_off(count.min(all.len()));
            self.value(id, std::mem::replace(&mut all, behind))?;
        }
        Some(())
    }

    fn binary(&mut self, operator: Binary, node: &'g Node, target: Target) -> Option<()> {
        let (x, y) = (node.input(0)?, node.input(1)?);
        let (left, right) = aligned(self.side, node)?;
        let known = (self.evaluated(x, false), self.evaluated(y, false));
        match known {
            (Some(a), Some(b)) => {
                let pairs = left.iter().zip(&right);
                let elements = pairs.map(|(&i, &j)| Some(operator.of_numbers(*a.get(i)?, *b.get(j)?)));
                self.agrees(&elements.collect::<Option<Vec<_>>>()?, &target)
            }
            (None, Some(b)) => {
                let inverse = |wanted, b| match operator {
                    Binary::Add => Some(wanted - b),
                    Binary::Sub => Some(wanted + b),
                    Binary::Mul => quotient(wanted, b),
                    Binary::Div => Some(wanted * b),
                };
                let x_target = inverted(self.count(x)?, &target, (&left, &right), &b, inverse)?;
                self.value(x, x_target)
            }
            (Some(a), None) => {
                let inverse = |wanted, a| match operator {
                    Binary::Add => Some(wanted - a),
                    Binary::Sub => Some(a - wanted),
                    Binary::Mul => quotient(wanted, a),
                    Binary::Div => quotient(a, wanted),
                };
                let y_target = inverted(self.count(y)?, &target, (&right, &left), &a, inverse)?;
                self.value(y, y_target)
            }
            (None, None) => {
                // The larger operand, or else the one with fewer nodes, gets the elements.
                let sizes = (self.count(x)?, self.count(y)?);
                let nodes = (nodes(self.side, x)?, nodes(self.side, y)?);
                let is_left = sizes.0 > sizes.1 || sizes.0 == sizes.1 && nodes.0 <= nodes.1;
                let is_zero = target.iter().flatten().all(|&wanted| wanted == 0.0);
                if operator == Binary::Mul && is_zero {
                    // The other operand may be any number, which another weight determines.
                    let (id, count) = if is_left { (x, sizes.0) } else { (y, sizes.1) };
                    return self.value(id, vec![Some(0.0); count]);
                }
                let neutral = match operator {
                    Binary::Add | Binary::Sub => 0.0,
                    Binary::Mul | Binary::Div => 1.0,
                };
                let is_left = is_left || operator == Binary::Div && sizes.0 == sizes.1;
                let (id, count) = if is_left { (y, sizes.1) } else { (x, sizes.0) };
                self.value(id, vec![Some(neutral); count])?;
                self.evaluated(id, false)?;
                self.binary(operator, node, target)
            }
        }
    }

    fn count(&self, id: ValueId) -> Option<usize> {
        self.side.values[id].ty.as_ref()?.as_tensor()?.count()
    }

    /// Returns the elements of a value, if those of all its weights were found. If it is `complete`, weights without found
    /// elements keep those of the file.
    fn evaluated(&self, id: ValueId, complete: bool) -> Option<Vec<f64>> {
        evaluated(self.side, id, &|id, constant| {
            let dtype = dtype(self.side, id)?;
            let Some(weight) = self.free(constant) else {
                return numbers::of(constant, dtype);
            };
            let found = weight.start().and_then(|start| self.found.get(&start));
            let own = if complete { numbers::of(constant, dtype) } else { None };
            match found {
                Some(found) => {
                    let elements = found.elements.iter().enumerate();
                    elements.map(|(at, element)| element.or_else(|| own.as_ref()?.get(at).copied())).collect()
                }
                None => own,
            }
        })
    }
}

/// Returns the elements that an operand must have, if the elements of the other are known.
fn inverted(
    count: usize,
    target: &Target,
    (own, others): (&[usize], &[usize]),
    other: &[f64],
    inverse: impl Fn(f64, f64) -> Option<f64>,
) -> Option<Target> {
    let mut result: Target = vec![None; count];
    for ((&at, &beside), wanted) in own.iter().zip(others).zip(target) {
        if let Some(wanted) = wanted {
            put(result.get_mut(at)?, inverse(*wanted, *other.get(beside)?)?)?;
        }
    }
    Some(result)
}

fn quotient(a: f64, b: f64) -> Option<f64> {
    match (a == 0.0, b == 0.0) {
        (true, true) => Some(0.0),
        (_, true) => None,
        _ => Some(a / b),
    }
}

/// Sets an element, which must be near the one that was found before.
fn put(slot: &mut Option<f64>, wanted: f64) -> Option<()> {
    match *slot {
        Some(found) => near(found, wanted).then_some(()),
        None => {
            *slot = Some(wanted);
            Some(())
        }
    }
}

fn near(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= ROUNDING * a.abs().max(b.abs())
}
