//! Constants that are used at the same position in two graphs.

use std::collections::BTreeSet;

use super::assignment::{Assigned, Assignment};
use super::evaluate::{dtype, evaluated, expression};
use super::layout::{self, Layout, Root, root, traced};
use super::side::Side;
use super::sizes::Sizes;
use super::solver::Solver;
use super::{difference, elements, numbers};
use crate::attributes::Described;
use crate::diff::Difference;
use crate::dtype::DType;
use crate::graph::{Node, ValueId};
use crate::print;
use crate::types::Type;
use crate::weight::Weight;

/// Maximum number of elements that messages show.
const MAX_SHOWN: usize = 4;

/// A constant where it is used.
struct Constant<'g> {
    /// The value that has the elements.
    root: ValueId,
    constant: Root<'g>,
    layout: Layout,
}

impl Constant<'_> {
    /// Returns `true` if the elements are in the file, or known.
    fn is_data(&self) -> bool {
        matches!(self.constant, Root::Stored(_) | Root::Known(_))
    }
}

/// Comparison of constants.
pub(super) struct Constants<'s, 'g> {
    first: &'s Side<'g>,
    second: &'s Side<'g>,
    seen: BTreeSet<(ValueId, ValueId)>,
    assignments: Vec<Assignment<'g>>,
    /// Constants that the files compute in different ways.
    unsolved: Vec<Unsolved>,
}

/// A constant of the first graph that gets the elements of one of the second graph.
struct Unsolved {
    first: ValueId,
    second: ValueId,
    /// Sizes of the matrix in the second graph, if the first one has it transposed.
    transposed: Option<Vec<usize>>,
    difference: Difference,
}

impl<'s, 'g> Constants<'s, 'g> {
    pub fn new(first: &'s Side<'g>, second: &'s Side<'g>) -> Self {
        Constants { first, second, seen: BTreeSet::new(), assignments: Vec::new(), unsolved: Vec::new() }
    }

    /// Compares two constants, and those from which they are computed when the model is loaded.
    pub fn compare(
        &mut self,
        first: ValueId,
        second: ValueId,
        sizes: &Sizes,
        location: &str,
    ) -> Result<(), Difference> {
        let known = self.assignments.len();
        let mut compared = Vec::new();
        let mut waiting = vec![(first, second, location.to_owned())];
        while let Some((a, b, location)) = waiting.pop() {
            if !self.seen.insert((a, b)) {
                continue;
            }
            compared.push((a, b));
            let Err(difference) = self.pair(a, b, sizes, &location, &mut waiting) else {
                continue;
            };
            let is_computed = |side: &Side<'_>, id| side.values[id].maker.is_some();
            let computed = is_computed(self.first, first) || is_computed(self.second, second);
            let types = (self.first.values[first].ty.as_ref(), self.second.values[second].ty.as_ref());
            if !computed || !sizes.same_types(types.0, types.1) {
                return Err(difference);
            }
            self.assignments.truncate(known);
            compared.iter().for_each(|pair| {
                self.seen.remove(pair);
            });
            self.unsolved.push(Unsolved { first, second, transposed: None, difference });
            break;
        }
        Ok(())
    }

    /// Keeps the elements of constants of the first graph where the second one has another node.
    pub fn keep(&mut self, id: ValueId) {
        for id in expression(self.first, id) {
            if let Root::Stored(weight) = root(&self.first.values[id])
                && !self.is_fixed(weight)
            {
                let name = &self.first.values[id].name;
                self.assignments.push(Assignment { weight, name, from: name, elements: Assigned::Own });
            }
        }
    }

    /// Returns all assignments, after finding elements of weights from which others are computed.
    pub fn finish(mut self) -> Result<Vec<Assignment<'g>>, Difference> {
        let (first, second) = (self.first, self.second);
        let mut solver = Solver::new(first);
        for unsolved in &self.unsolved {
            self.preset(&mut solver, unsolved.first);
        }
        for Unsolved { first, second: id, transposed, difference } in self.unsolved {
            let stored = |id, constant| numbers::of(constant, dtype(second, id)?);
            let wanted = evaluated(second, id, &stored);
            let wanted = wanted.and_then(|wanted| match &transposed {
                Some(sizes) => numbers::transposed(&wanted, sizes),
                None => Some(wanted),
            });
            let solved = wanted.and_then(|wanted| solver.solve(first, second.source(id), &wanted));
            solved.ok_or(difference)?;
        }
        let found = solver.into_found().map(|found| Assignment {
            weight: found.weight,
            name: &first.values[found.id].name,
            from: found.from,
            elements: Assigned::Computed(found.elements),
        });
        self.assignments.extend(found);
        Ok(self.assignments)
    }

    /// Passes on the elements of weights that are also used elsewhere, where the second graph has them.
    fn preset(&self, solver: &mut Solver<'s, 'g>, id: ValueId) {
        for id in expression(self.first, id) {
            let Root::Stored(weight) = root(&self.first.values[id]) else {
                continue;
            };
            let mut assigned = self.assignments.iter();
            let assigned = assigned.find(|other| other.weight.start() == weight.start());
            let elements = assigned.and_then(Assignment::elements);
            if let Some(elements) = elements.and_then(|bytes| numbers::read(&bytes, weight.dtype)) {
                solver.set(id, weight, elements);
            }
        }
    }

    /// Compares two matrices of which one is used transposed.
    pub fn transposed(
        &mut self,
        (first, second): (ValueId, ValueId),
        transposed: (bool, bool),
        sizes: &Sizes,
        location: &str,
    ) -> Result<(), Difference> {
        let used = |side: &Side<'g>, id: ValueId, is_transposed: bool| {
            let (root, constant, layout) = traced(side, id);
            let mut shape = matrix(side.values[id].ty.as_ref())?;
            let layout = if is_transposed { layout.followed_by_transposition(shape.clone()) } else { layout };
            if is_transposed {
                shape.reverse();
            }
            Some((Constant { root, constant, layout }, shape))
        };
        let (a, b) = (used(self.first, first, transposed.0), used(self.second, second, transposed.1));
        let dtype = |side: &Side<'_>, id: ValueId| Some(side.values[id].ty.as_ref()?.as_tensor()?.dtype);
        let same = dtype(self.first, first) == dtype(self.second, second);
        match (a, b) {
            (Some((a, left)), Some((b, right))) if same && left == right && a.is_data() && b.is_data() => {
                self.data((first, a), (second, b), sizes, location)
            }
            (a, b) => {
                let text = |side: &Side<'_>, id: ValueId, is_transposed: bool| {
                    let ty = side.values[id].ty.as_ref().map_or("unknown".to_owned(), Type::to_string);
                    if is_transposed { format!("{ty}, transposed") } else { ty }
                };
                let (c, d) = (text(self.first, first, transposed.0), text(self.second, second, transposed.1));
                let difference = self.differs(location, (first, &c), (second, &d));
                match (a, b) {
                    (Some((_, left)), Some((_, right))) if same && left == right => {
                        let transposed = matrix(self.second.values[second].ty.as_ref());
                        self.unsolved.push(Unsolved { first, second, transposed, difference });
                        Ok(())
                    }
                    _ => Err(difference),
                }
            }
        }
    }

    fn pair(
        &mut self,
        first: ValueId,
        second: ValueId,
        sizes: &Sizes,
        location: &str,
        waiting: &mut Vec<(ValueId, ValueId, String)>,
    ) -> Result<(), Difference> {
        let types = (self.first.values[first].ty.as_ref(), self.second.values[second].ty.as_ref());
        if !sizes.same_types(types.0, types.1) {
            let text = |ty: Option<&Type>| ty.map_or("unknown".to_owned(), Type::to_string);
            return Err(self.differs(location, (first, &text(types.0)), (second, &text(types.1))));
        }
        let used = |side: &Side<'g>, id: ValueId| {
            let (root, constant, layout) = traced(side, id);
            Constant { root, constant, layout }
        };
        let (a, b) = (used(self.first, first), used(self.second, second));
        match (a.constant, b.constant) {
            (Root::Missing, Root::Missing) => Ok(()),
            (Root::Computed(_), _) | (_, Root::Computed(_)) => {
                self.computed((first, second), sizes, location, waiting)
            }
            _ => self.data((first, a), (second, b), sizes, location),
        }
    }

    /// Compares elements on which the code depends, and assigns others.
    fn data(
        &mut self,
        (first, a): (ValueId, Constant<'g>),
        (second, b): (ValueId, Constant<'g>),
        sizes: &Sizes,
        location: &str,
    ) -> Result<(), Difference> {
        match a.constant {
            Root::Stored(weight)
                if !self.is_fixed(weight)
                    && weight.dtype != DType::String
                    && b.is_data()
                    && !elements::is_symbolic(b.constant) =>
            {
                let (name, from) = (&self.first.values[a.root].name, &self.second.values[b.root].name);
                let elements = Assigned::Moved(a.layout, b.constant, b.layout);
                self.assignments.push(Assignment { weight, name, from, elements });
                Ok(())
            }
            _ => self.fixed((first, &a), (second, &b), sizes, location),
        }
    }

    /// Returns `true` if the code depends on the elements of a weight of the first graph.
    fn is_fixed(&self, weight: &Weight) -> bool {
        self.first.values.sources().is_consulted(weight)
    }

    /// Compares constants of which at least one is computed when the model is loaded.
    fn computed(
        &mut self,
        (first, second): (ValueId, ValueId),
        sizes: &Sizes,
        location: &str,
        waiting: &mut Vec<(ValueId, ValueId, String)>,
    ) -> Result<(), Difference> {
        let maker = |side: &Side<'g>, id: ValueId| side.values[id].maker.clone();
        let (a, b) = (maker(self.first, first), maker(self.second, second));
        let text = |node: Option<&Node>| match node {
            Some(node) => format!("computed from constants by {}", node.kind),
            None => "stored in the file".to_owned(),
        };
        let (Some(a), Some(b)) = (&a, &b) else {
            let (a, b) = (text(a.as_deref()), text(b.as_deref()));
            return Err(self.differs(location, (first, &a), (second, &b)));
        };
        let (left, right) = (a.operator.attributes(), b.operator.attributes());
        if a.kind != b.kind || a.inputs.len() != b.inputs.len() {
            return Err(self.differs(location, (first, &text(Some(a))), (second, &text(Some(b)))));
        }
        if !sizes.same(&left, &right) {
            let text = |node: &Node| format!("{} <{}>", text(Some(node)), print::attributes(node));
            return Err(self.differs(location, (first, &text(a)), (second, &text(b))));
        }
        let is_same = |at: usize| a.output(at).is_some() == b.output(at).is_some();
        if !(0..a.outputs.len().max(b.outputs.len())).all(is_same) || !a.blocks.is_empty() {
            return Err(self.differs(location, (first, &text(Some(a))), (second, &text(Some(b)))));
        }
        for (at, pair) in a.inputs.iter().zip(&b.inputs).enumerate() {
            match (*pair.0, *pair.1) {
                (Some(left), Some(right)) => waiting.push((left, right, location.to_owned())),
                (None, None) => {}
                (left, _) => {
                    let text = |present: bool| {
                        format!("{} {} input {at}", a.kind, if present { "with" } else { "without" })
                    };
                    let (left, right) = (text(left.is_some()), text(left.is_none()));
                    return Err(self.differs(location, (first, &left), (second, &right)));
                }
            }
        }
        Ok(())
    }

    /// Compares the elements of constants on which the code depends.
    fn fixed(
        &self,
        (first, a): (ValueId, &Constant<'g>),
        (second, b): (ValueId, &Constant<'g>),
        sizes: &Sizes,
        location: &str,
    ) -> Result<(), Difference> {
        let tensor = self.first.values[first].ty.as_ref().and_then(Type::as_tensor);
        let dtype = tensor.map(|ty| ty.dtype);
        let same = match (a.constant, b.constant) {
            (Root::Known(left), Root::Known(right)) if a.layout == b.layout => {
                sizes.same(&left.attributes(), &right.attributes())
            }
            _ if dtype == Some(DType::String) && a.layout == b.layout => {
                let (left, right) = (elements::strings(a.constant), elements::strings(b.constant));
                left.is_some() && left == right
            }
            _ => {
                let bytes = |used: &Constant<'g>| {
                    let width = elements::width(dtype?)?;
                    used.layout.applied(elements::of(used.constant, dtype?)?, width)
                };
                let (left, right) = (bytes(a), bytes(b));
                left.is_some() && left == right
            }
        };
        if same {
            return Ok(());
        }
        let text = |root: Root<'_>| shown(root).unwrap_or_else(|| "other elements".to_owned());
        Err(self.differs(location, (first, &text(a.constant)), (second, &text(b.constant))))
    }

    fn differs(
        &self,
        location: &str,
        (first, a): (ValueId, &str),
        (second, b): (ValueId, &str),
    ) -> Difference {
        let a = format!("{}: {a}", self.first.described(first));
        let b = format!("{}: {b}", self.second.described(second));
        difference(location, &a, &b)
    }
}

/// Returns the sizes of a matrix.
fn matrix(ty: Option<&Type>) -> Option<Vec<usize>> {
    layout::sizes(ty).filter(|sizes| sizes.len() == 2)
}

/// Returns the elements of a small constant.
fn shown(root: Root<'_>) -> Option<String> {
    let known = match root {
        Root::Stored(weight) if weight.count()? <= MAX_SHOWN => weight.elements()?,
        Root::Known(known) if known.len() <= MAX_SHOWN => known.clone(),
        _ => return None,
    };
    Some(print::elements(&known))
}
