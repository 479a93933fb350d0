//! Tests of public functions with operands that do not fit.
//!
//! A [`Row`] names the axes of a function's operands by letters, such as `query=bhsf key=bktf`. Equal letters are equal sizes;
//! with a `?` the axis may be 1 instead. The test changes one axis at a time. Sizes that contradict the letters must fail with
//! the shapes, by a check of this crate; other sizes must have the result of explicitly broadcast operands, also in double
//! precision.

mod arguments;
mod attention;
mod convolutions;
mod elements;
mod heads;
mod indices;
mod norms;
mod products;
mod quantized;
mod signals;
mod sources;

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use burn::tensor::{Tensor, TensorData, kind::Basic};

use crate::attempt::attempt;
use crate::fault::Fault;
use arguments::Arguments;

/// Returns the size of the axes that a letter names.
pub type Size<'a> = &'a dyn Fn(char) -> usize;

/// Sizes of the axes by letter.
type Sizes = BTreeMap<char, usize>;

/// A public function with several tensors.
pub struct Row {
    /// Path of its file without extension, and its name, such as `attention/rotary rotate`.
    name: &'static str,
    /// Operands with their axes, such as `input=bnf bias=f?`.
    operands: &'static str,
    /// Sizes of the axes, such as `b2n3f4`.
    sizes: &'static str,
    /// Additional condition on the sizes.
    holds: fn(&dyn Fn(char) -> usize) -> bool,
    /// The function also computes in double precision.
    doubles: bool,
    run: fn(&Arguments) -> Results,
}

/// The results of a function.
pub type Results = Vec<TensorData>;

/// Returns a row without an additional condition.
pub const fn row(
    name: &'static str,
    operands: &'static str,
    sizes: &'static str,
    run: fn(&Arguments) -> Results,
) -> Row {
    Row { name, operands, sizes, holds: |_| true, doubles: true, run }
}

impl Row {
    /// Adds a condition on the sizes.
    pub const fn when(self, holds: fn(&dyn Fn(char) -> usize) -> bool) -> Self {
        Self { holds, ..self }
    }

    /// Marks a function that only computes with integers or in single precision.
    pub const fn single(self) -> Self {
        Self { doubles: false, ..self }
    }
}

/// Returns the values of a tensor.
pub fn value<const D: usize, K: Basic>(x: Tensor<D, K>) -> TensorData {
    x.into_data()
}

/// An operand of a row: its name, and for each axis its letter and whether it may be 1 instead.
struct Axes<'a> {
    name: &'a str,
    axes: Vec<(char, bool)>,
}

fn parsed(operands: &str) -> Vec<Axes<'_>> {
    let parse = |operand| {
        let (name, letters): (&str, &str) = str::split_once(operand, '=').expect("name=axes");
        let mut axes = Vec::new();
        for letter in letters.chars() {
            match letter {
                '?' => axes.last_mut().map(|(_, may_be_one)| *may_be_one = true).expect("an axis"),
                _ => axes.push((letter, false)),
            }
        }
        Axes { name, axes }
    };
    operands.split(' ').map(parse).collect()
}

fn sizes(text: &str) -> Sizes {
    let numbers = text.split(char::is_alphabetic).skip(1);
    let letters = text.chars().filter(|letter| letter.is_alphabetic());
    letters.zip(numbers.map(|number| number.parse().expect("a size"))).collect()
}

/// Returns the sizes of the letters in these shapes, if they are consistent.
fn agreed(operands: &[Axes<'_>], shapes: &[Vec<usize>]) -> Option<Sizes> {
    let mut found = Sizes::new();
    // Axes that may be 1 only determine a letter if no other axis does.
    for pass in [false, true] {
        let fixed: Vec<char> = found.keys().copied().filter(|_| pass).collect();
        for (operand, shape) in operands.iter().zip(shapes) {
            for (&(letter, may_be_one), &size) in operand.axes.iter().zip(shape) {
                if letter.is_ascii_digit() {
                    if letter.to_digit(10) != Some(size as u32) {
                        return None;
                    }
                } else if may_be_one == pass {
                    let known = *found.entry(letter).or_insert(size);
                    match () {
                        () if known == size || may_be_one && size == 1 => {}
                        () if may_be_one && known == 1 && !fixed.contains(&letter) => {
                            found.insert(letter, size);
                        }
                        () => return None,
                    }
                }
            }
        }
    }
    Some(found)
}

/// Outcome of a call: its results, a fault of this crate, or a panic of another crate.
enum Outcome {
    Results(Results),
    Fault(String),
    Panic(String),
}

fn outcome(run: impl FnOnce() -> Results) -> Outcome {
    let caught = attempt(|| match catch_unwind(AssertUnwindSafe(run)) {
        Ok(results) => Ok(results),
        Err(payload) if payload.is::<Fault>() => resume_unwind(payload),
        Err(payload) => Err(crate::fault::text(payload.as_ref())),
    });
    match caught {
        Ok(Ok(results)) => Outcome::Results(results),
        Ok(Err(panic)) => Outcome::Panic(panic),
        Err(fault) => Outcome::Fault(fault.reason),
    }
}

/// Describes how two lists of results differ.
fn difference(one: &Results, other: &Results, tolerance: f64) -> Option<String> {
    for (one, other) in one.iter().zip(other) {
        if one.shape() != other.shape() {
            return Some(format!("{:?} and {:?}", one.shape(), other.shape()));
        }
        for (one, other) in one.iter::<f64>().zip(other.iter::<f64>()) {
            let close = one == other || one.is_nan() && other.is_nan();
            if !close && (one - other).abs() > tolerance * other.abs().max(1.0) {
                return Some(format!("{one} and {other}"));
            }
        }
    }
    (one.len() != other.len()).then(|| "another number of results".to_owned())
}

/// Returns `true` if the message contains two shapes.
fn shows_two_shapes(reason: &str) -> bool {
    let is_shape = |text: &&str| {
        let inside = text.split_once(']').map(|(inside, _)| inside);
        inside.is_some_and(|inside| {
            inside.chars().all(|letter| letter.is_ascii_digit() || ", ".contains(letter))
        })
    };
    reason.split('[').skip(1).filter(is_shape).count() >= 2
}

/// Describes the failure of a row for these shapes; that of the operand `changed` differs from the row's.
fn problem(
    row: &Row,
    operands: &[Axes<'_>],
    changed: Option<usize>,
    shapes: &[Vec<usize>],
) -> Option<String> {
    let agreed = agreed(operands, shapes).filter(|sizes| (row.holds)(&|letter| sizes[&letter]));
    let whole = |operand: &Axes<'_>, shape: &Vec<usize>| {
        let size = |(&(letter, _), &size): (&(char, bool), &usize)| {
            agreed.as_ref().and_then(|sizes| sizes.get(&letter)).copied().unwrap_or(size)
        };
        operand.axes.iter().zip(shape).map(size).collect()
    };
    let pairs = operands.iter().zip(shapes);
    let shapes: Vec<[Vec<usize>; 2]> =
        pairs.map(|(operand, shape)| [shape.clone(), whole(operand, shape)]).collect();
    let run = |is_expanded, is_double| {
        let arguments = Arguments { shapes: shapes.clone(), is_expanded, is_double };
        outcome(|| (row.run)(&arguments))
    };
    match (agreed.is_some(), run(false, false)) {
        (_, Outcome::Panic(text)) => Some(format!("panics: {text}")),
        (false, Outcome::Results(results)) => {
            let shapes: Vec<_> = results.iter().map(|result| result.shape().to_vec()).collect();
            Some(format!("gives {shapes:?}"))
        }
        (false, Outcome::Fault(reason)) => {
            // An operand that contradicts a parameter has no second shape to show.
            let own = changed.map(|at| format!("{:?}", shapes[at][0]));
            let is_shown = own.is_some_and(|own| reason.contains(&own));
            let is_clear = is_shown || shows_two_shapes(&reason);
            (!is_clear).then(|| format!("does not show the shapes: {reason}"))
        }
        // Empty operands may be rejected.
        (true, Outcome::Fault(_)) if shapes.iter().any(|[shape, _]| shape.contains(&0)) => None,
        (true, Outcome::Fault(reason)) => Some(format!("is refused: {reason}")),
        (true, Outcome::Results(results)) => {
            let mut others = vec![run(true, false)];
            others.extend(row.doubles.then(|| run(true, true)));
            others.into_iter().find_map(|other| match other {
                Outcome::Results(other) => difference(&results, &other, 1e-4),
                Outcome::Fault(reason) | Outcome::Panic(reason) => Some(format!("expanded: {reason}")),
            })
        }
    }
}

/// Returns sizes other than `size`.
fn others(size: usize) -> Vec<usize> {
    let mut others = vec![0, 1, size.saturating_sub(1), size + 1, 2 * size];
    others.sort_unstable();
    others.dedup();
    others.retain(|other| *other != size);
    others
}

/// Runs a row unchanged, and with each axis of each operand changed.
fn problems(row: &Row) -> Vec<String> {
    let (operands, sizes) = (parsed(row.operands), sizes(row.sizes));
    let size = |&(letter, _): &(char, bool)| match letter.to_digit(10) {
        Some(number) => number as usize,
        None => sizes[&letter],
    };
    let shapes: Vec<Vec<usize>> =
        operands.iter().map(|operand| operand.axes.iter().map(size).collect()).collect();
    let mut found = Vec::new();
    let mut check = |changed: Option<usize>, shapes: &[Vec<usize>]| {
        if let Some(problem) = problem(row, &operands, changed, shapes) {
            let name = changed.map_or("all", |at| operands[at].name);
            found.push(format!("{}, {name} of {shapes:?}: {problem}", row.name));
        }
    };
    check(None, &shapes);
    for (at, operand) in operands.iter().enumerate() {
        for axis in 0..operand.axes.len() {
            for other in others(shapes[at][axis]) {
                let mut changed = shapes.clone();
                changed[at][axis] = other;
                check(Some(at), &changed);
            }
        }
    }
    found
}

fn check(rows: &[Row]) {
    let problems: Vec<String> = rows.iter().flat_map(problems).collect();
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
}

/// Returns the rows of all families.
fn table() -> Vec<&'static [Row]> {
    vec![
        attention::ROWS,
        convolutions::ROWS,
        elements::ROWS,
        heads::ROWS,
        indices::ROWS,
        norms::ROWS,
        products::ROWS,
        quantized::ROWS,
        signals::ROWS,
    ]
}
