//! Weights of a model under the names of another one.
//!
//! Two files have the same structure if their simplified graphs are equal, up to names, the order of independent nodes and
//! of operands that commute, and the layout of weights. Then the weights of one file can be stored in a copy of the other.
//! A program loads the copy because nothing else in it changes: neither a name nor a value that the code depends on.
//!
//! The copy computes what the second file does: both simplified graphs compute what their files do, and simplification of the
//! first graph depends on no value that the copy changes ([`Fingerprint::check`]).

mod assignment;
mod compare;
mod compiled;
mod constants;
mod correspondence;
mod elements;
mod evaluate;
mod form;
mod layout;
mod moves;
mod numbers;
mod side;
mod sizes;
mod solver;
mod store;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::diagnostics::{Diagnostics, shown};
use crate::diff::Difference;
use crate::dim::Dim;
use crate::emit::Item;
use crate::emit::fingerprint::{Fingerprint, Refusal};
use crate::graph::{Block, ValueId, Values};
use crate::model::{Model, display_name};
use crate::options::{Options, Outputs, Size};
use crate::read::Untyped;
use crate::types::Type;
use crate::{attempts, inspect};
use compare::Comparison;
use correspondence::Correspondence;
use side::Side;

pub use assignment::Assignment;
pub use compiled::Compiled;
pub(crate) use elements::stored as stored_elements;

/// A copy of the files of a model with the weights of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adapted {
    /// The model file, then external data with their paths relative to its folder.
    pub files: Vec<(PathBuf, Vec<u8>)>,
    pub weights: Vec<Moved>,
    /// Inputs and outputs that have other names in the other model, which follow.
    pub renamed: Vec<(String, String)>,
}

/// A weight of the copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Name in the copy.
    pub name: String,
    /// Name in the other model.
    pub from: String,
    /// Whether the elements differ from those of the compiled model.
    pub differs: bool,
}

/// Reason why the weights of a model cannot be stored in a copy of another one.
#[derive(Debug)]
pub enum Obstacle {
    /// The first model does not compile.
    First(Diagnostics),
    /// The second model cannot be read.
    Second(Diagnostics),
    /// The structures differ.
    Differs(Difference),
    /// The bytes of this weight have another length than the elements need.
    Unstorable(String),
    /// Two weights of the copy share bytes, but have different elements.
    Shared(String, String),
    /// A program would refuse the copy.
    Refused(Refusal),
}

/// Returns a copy of the model at `compiled` with the weights of the one at `other`. `options` are those of the program.
pub fn adapt(compiled: &Path, other: &Path, options: &Options) -> Result<Adapted, Obstacle> {
    let first = crate::load_observed(compiled, options, &mut |_| ()).map_err(Obstacle::First)?;
    let item = Item::model(display_name(compiled));
    adapted(&first, &item, options, |first| load_as(first, options, &|options| inspect::read(other, options)))
}

/// Returns a copy of a model with the weights of another one, which has the sizes of the first one.
fn adapted(
    first: &Model,
    item: &Item,
    options: &Options,
    second: impl FnOnce(&Model) -> Result<Model, Obstacle>,
) -> Result<Adapted, Obstacle> {
    // The values that the code depends on are known only after emission.
    crate::check(first, item, options).map_err(Obstacle::First)?;
    let second = second(first)?;
    let Match { assignments, renamed } = matched(first, &second).map_err(Obstacle::Differs)?;
    let (files, weights) = store::copy(first, &assignments)?;
    let values = &first.graph.values;
    let print = Fingerprint::new(values, &first.files, &[], |id| values[id].name.clone());
    let bytes: Vec<Bytes> = files.iter().map(|(_, bytes)| Bytes::from(bytes.clone())).collect();
    print.check(&bytes).map_err(Obstacle::Refused)?;
    Ok(Adapted { files, weights, renamed })
}

/// Two models of the same structure.
pub struct Match<'g> {
    /// Weights of the first model that are not fixed, with their elements in the second one. A weight has an assignment for
    /// each constant of the second model at its position.
    pub assignments: Vec<Assignment<'g>>,
    /// Inputs and outputs that have other names in the second model, which follow.
    pub renamed: Vec<(String, String)>,
}

/// Compares the structures of two models, and returns their first difference. The code of the first model must be complete,
/// because it determines which weights are fixed.
pub fn matched<'g>(first: &'g Model, second: &'g Model) -> Result<Match<'g>, Difference> {
    let (a, b) = (Side::new(&first.graph), Side::new(&second.graph));
    let inputs = ports(&a, &b, &first.graph.body.inputs, &second.graph.body.inputs)?;
    let (outputs, mut renamed) = outputs(first, second)?;
    let names =
        |&(left, right): &(ValueId, ValueId)| (a.values[left].name.clone(), b.values[right].name.clone());
    renamed.splice(0..0, inputs.iter().map(names).filter(|(left, right)| left != right));
    let bodies = (&first.graph.body, &second.graph.body);
    let mut correspondence = Correspondence::new(&a, &b);
    let block = correspondence.model(bodies, &inputs, &outputs)?;
    let mut comparison = Comparison::new(&a, &b);
    comparison.block(&block)?;
    Ok(Match { assignments: comparison.finish()?, renamed })
}

/// Loads a model with the sizes that the inputs of `first` have.
fn load_as(
    first: &Model,
    options: &Options,
    read: &dyn Fn(&Options) -> Result<Untyped, Diagnostics>,
) -> Result<Model, Obstacle> {
    let plain = Options {
        dims: BTreeMap::new(),
        inputs: BTreeMap::new(),
        names: BTreeMap::new(),
        outputs: Outputs::default(),
        states: Vec::new(),
        signature: None,
        licenses: None,
        ..options.clone()
    };
    let untyped = read(&plain).map_err(Obstacle::Second)?;
    let (declared, _) = attempts::typed(&untyped, &plain);
    let values = (&first.graph.values, &declared.graph.values);
    let pairs = by_name(values.0, values.1, &first.graph.body.inputs, &declared.graph.body.inputs);
    let mut inputs = BTreeMap::new();
    for (a, b) in pairs {
        let (a, b) = (&values.0[a], &values.1[b]);
        if let Some(sizes) = sizes_as(a.ty.as_ref(), b.ty.as_ref()) {
            inputs.insert(b.name.clone(), sizes);
        }
    }
    let options = Options { inputs, ..plain };
    let untyped = read(&options).map_err(Obstacle::Second)?;
    crate::prepare(untyped, &options, &mut |_| ()).map_err(Obstacle::Second)
}

/// Returns the sizes of `first`, `None` if `second` has another rank or another number as a size. The file may leave the rank
/// of `second` open.
fn sizes_as(first: Option<&Type>, second: Option<&Type>) -> Option<Vec<Size>> {
    let first = first?.as_tensor()?;
    if let Some(second) = second {
        let agree = |(a, b): (&Dim, &Dim)| b.number().is_none() || a == b;
        let second = second.as_tensor()?;
        if first.rank() != second.rank() || !first.shape.iter().zip(&second.shape).all(agree) {
            return None;
        }
    }
    let size = |dim: &Dim| match (dim.number(), dim.name()) {
        (Some(number), _) => Some(Size::Fixed(number)),
        (None, Some(name)) => Some(Size::Named(name.to_string())),
        (None, None) => None,
    };
    first.shape.iter().map(size).collect()
}

/// Returns pairs of values with equal names, and of the others by their position, in the order of the first list.
fn by_name(
    first: &Values,
    second: &Values,
    of_first: &[ValueId],
    of_second: &[ValueId],
) -> Vec<(ValueId, ValueId)> {
    let same = |a: ValueId| of_second.iter().copied().find(|&b| first[a].name == second[b].name);
    let taken: Vec<ValueId> = of_first.iter().filter_map(|&a| same(a)).collect();
    let mut others = of_second.iter().copied().filter(|b| !taken.contains(b));
    let pairs = of_first.iter().filter_map(|&a| Some((a, same(a).or_else(|| others.next())?)));
    pairs.collect()
}

type Pairs = Vec<(ValueId, ValueId)>;

fn ports(a: &Side<'_>, b: &Side<'_>, first: &[ValueId], second: &[ValueId]) -> Result<Pairs, Difference> {
    let list = |side: &Side<'_>, ids: &[ValueId]| {
        let names: Vec<String> = ids.iter().map(|&id| side.values[id].name.clone()).collect();
        names.join(", ")
    };
    if first.len() != second.len() {
        return Err(difference("the inputs of the model", &list(a, first), &list(b, second)));
    }
    Ok(by_name(a.values, b.values, first, second))
}

/// Returns the pairs of outputs with equal names, and of the others by their position, and the names of the latter.
fn outputs(first: &Model, second: &Model) -> Result<(Pairs, Vec<(String, String)>), Difference> {
    let listed = |model: &Model| -> Vec<(String, ValueId)> {
        let Block { outputs, .. } = &model.graph.body;
        let names = model.facts.outputs.iter().cloned().map(Some).chain(std::iter::repeat(None));
        let named = outputs.iter().zip(names);
        named.map(|(&id, name)| (name.unwrap_or_else(|| model.graph.values[id].name.clone()), id)).collect()
    };
    let (a, b) = (listed(first), listed(second));
    if a.len() != b.len() {
        let names = |list: &[(String, ValueId)]| {
            let names: Vec<&str> = list.iter().map(|(name, _)| name.as_str()).collect();
            names.join(", ")
        };
        return Err(difference("the outputs of the model", &names(&a), &names(&b)));
    }
    let same = |name: &str| b.iter().position(|(other, _)| other == name);
    let taken: Vec<usize> = a.iter().filter_map(|(name, _)| same(name)).collect();
    let mut others = (0..b.len()).filter(|at| !taken.contains(at));
    let (mut pairs, mut renamed) = (Pairs::new(), Vec::new());
    for (name, id) in &a {
        let at = same(name).or_else(|| others.next());
        if let Some((other, counterpart)) = at.and_then(|at| b.get(at)) {
            pairs.push((*id, *counterpart));
            if name != other {
                renamed.push((name.clone(), other.clone()));
            }
        }
    }
    Ok((pairs, renamed))
}

fn difference(location: &str, first: &str, second: &str) -> Difference {
    Difference { location: location.to_owned(), first: shown(first), second: shown(second) }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::First(problems) | Obstacle::Second(problems) => {
                f.write_str(&problems.messages().join("; "))
            }
            Obstacle::Differs(Difference { location, first, second }) => {
                write!(f, "the graphs differ in {location}: {first}; in the other file {second}")
            }
            Obstacle::Unstorable(name) => write!(
                f,
                "the encoding of weight `{}` in the compiled file has another length for these values",
                shown(name)
            ),
            Obstacle::Shared(first, second) if first == second => {
                write!(
                    f,
                    "weight `{}` of the compiled file has several values in the other one",
                    shown(first)
                )
            }
            Obstacle::Shared(first, second) => write!(
                f,
                "weights `{}` and `{}` have the same bytes in the compiled file, and different values in the other one",
                shown(first),
                shown(second)
            ),
            Obstacle::Refused(refusal) => refusal.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
