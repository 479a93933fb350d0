//! Comparison of outputs with recorded ones.

use onnx_embed_ir::dtype::ElementClass;

use crate::npz::Expected;
use crate::style;
use crate::value::{Key, Tensor, Value};

/// Difference between an output and the recorded one.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Largest `|a - b| / max|b|`. It is 0 for equal outputs, and infinite if the difference has no magnitude.
    pub relative: f64,
    /// Reason why the output does not match, if it does not.
    pub problem: Option<String>,
}

/// Tolerance of a float relative to the recorded element, in addition to `tolerance` relative to the largest.
const OF_ELEMENT: f64 = 1e-3;

/// Compares dtype, shape and values. Integers, booleans and strings must be equal.
pub fn compare(found: &Value, expected: &Expected, tolerance: f64) -> Comparison {
    match (found, expected) {
        (Value::Optional(Some(found)), _) => compare(found, expected, tolerance),
        (Value::Tensor(found), Expected::Value(Value::Tensor(expected))) => {
            tensors(found, expected, tolerance)
        }
        (
            Value::Strings { shape, texts },
            Expected::Value(Value::Strings { shape: sizes, texts: recorded }),
        ) => {
            if shape == sizes {
                strings(texts, recorded)
            } else {
                differs(format!("has shape {shape:?}, expected {sizes:?}"))
            }
        }
        (Value::Sequence(found), Expected::Maps { keys, values }) => maps(found, keys, values, tolerance),
        (Value::Map(_), Expected::Maps { keys, values }) => {
            maps(std::slice::from_ref(found), keys, values, tolerance)
        }
        (_, expected) => differs(format!("is {}, expected {}", found.kind(), expected.kind())),
    }
}

/// Returns `true` if an output is at most twice as far from the result in double precision as the recorded output is.
/// No other order of summation can be expected to be closer.
pub fn is_as_near(found: &Value, expected: &Expected, exact: &Value) -> bool {
    let (Value::Tensor(found), Expected::Value(Value::Tensor(expected)), Value::Tensor(exact)) =
        (found, expected, exact)
    else {
        return false;
    };
    let like = |other: &Tensor| other.dtype == expected.dtype && other.shape == expected.shape;
    let alike = like(found) && exact.shape == expected.shape;
    let (Some(found), Some(expected), Some(exact)) = (found.numbers(), expected.numbers(), exact.numbers())
    else {
        return false;
    };
    let distance = |numbers: &[f64]| {
        let pairs = numbers.iter().zip(&exact);
        pairs
            .map(|(a, b)| if a == b { 0.0 } else { (a - b).abs() })
            .try_fold(0.0f64, |furthest, distance| distance.is_finite().then(|| furthest.max(distance)))
    };
    match (alike, distance(&found), distance(&expected)) {
        (true, Some(found), Some(recorded)) => found <= 2.0 * recorded,
        _ => false,
    }
}

/// Returns `true` if an output is at most twice as far from the recorded one as the other results are, both by the
/// largest difference and by the mean difference.
pub fn is_within(found: &Value, expected: &Expected, others: &[&Expected]) -> bool {
    let Some(found) = distance(found, expected) else {
        return false;
    };
    let others = others.iter().filter_map(|other| match other {
        Expected::Value(other) => distance(other, expected),
        Expected::Maps { .. } => None,
    });
    let spread = others.fold(Distance::default(), |spread, other| Distance {
        largest: spread.largest.max(other.largest),
        mean: spread.mean.max(other.mean),
    });
    found.largest <= 2.0 * spread.largest && found.mean <= 2.0 * spread.mean
}

#[derive(Clone, Copy, Debug, Default)]
struct Distance {
    largest: f64,
    mean: f64,
}

/// Returns the distance of two tensors of one type and shape, if it is finite. Equal infinities and two NaNs have the
/// distance 0, unequal elements that are not floats the distance 1.
fn distance(found: &Value, expected: &Expected) -> Option<Distance> {
    let (Value::Tensor(found), Expected::Value(Value::Tensor(expected))) = (found, expected) else {
        return None;
    };
    if found.dtype != expected.dtype || found.shape != expected.shape {
        return None;
    }
    let (found, recorded) = (found.numbers()?, expected.numbers()?);
    let is_float = expected.dtype.kind() == ElementClass::Float;
    let (mut largest, mut sum) = (0.0f64, 0.0);
    for (a, b) in found.iter().zip(&recorded) {
        let distance = match (a == b || (a.is_nan() && b.is_nan()), is_float) {
            (true, _) => 0.0,
            (false, true) => (a - b).abs(),
            (false, false) => 1.0,
        };
        if !distance.is_finite() {
            return None;
        }
        largest = largest.max(distance);
        sum += distance;
    }
    let mean = sum / (recorded.len().max(1) as f64);
    Some(Distance { largest, mean })
}

fn tensors(found: &Tensor, expected: &Tensor, tolerance: f64) -> Comparison {
    if found.dtype != expected.dtype {
        return differs(format!("has type {}, expected {}", found.dtype, expected.dtype));
    }
    let sizes = &expected.shape;
    if found.shape != *sizes {
        return differs(format!("has shape {:?}, expected {sizes:?}", found.shape));
    }
    let (Some(numbers), Some(recorded)) = (found.numbers(), expected.numbers()) else {
        return differs(format!("has type {}, which cannot be compared", found.dtype));
    };
    if expected.dtype.kind() == ElementClass::Float {
        return floats(&numbers, &recorded, sizes, tolerance);
    }
    let unequal = |(_, (a, b)): &(usize, (&f64, &f64))| a != b;
    let mut pairs = numbers.iter().zip(&recorded).enumerate().filter(unequal);
    match pairs.next() {
        Some((at, (a, b))) => differs(format!(
            "is {a} at {:?}, expected {b}; differing elements: {} of {}",
            index(at, sizes),
            1 + pairs.count(),
            numbers.len()
        )),
        None if found.bytes != expected.bytes => {
            differs("differs in the last bits of large integers".to_owned())
        }
        None => matches(),
    }
}

fn floats(found: &[f64], expected: &[f64], sizes: &[usize], tolerance: f64) -> Comparison {
    let finite = expected.iter().copied().filter(|value| value.is_finite());
    let largest = finite.fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let (mut relative, mut beyond) = (0.0f64, 0usize);
    let mut worst: Option<(f64, usize, f64, f64)> = None;
    for (at, (&a, &b)) in found.iter().zip(expected).enumerate() {
        if a == b || (a.is_nan() && b.is_nan()) {
            continue;
        }
        let (distance, allowed) = if a.is_finite() && b.is_finite() {
            ((a - b).abs(), tolerance * largest + OF_ELEMENT * b.abs())
        } else {
            (f64::INFINITY, 0.0)
        };
        relative = relative.max(if largest > 0.0 { distance / largest } else { distance });
        if distance > allowed {
            beyond += 1;
            if worst.is_none_or(|(furthest, ..)| distance > furthest) {
                worst = Some((distance, at, a, b));
            }
        }
    }
    let problem = worst.map(|(_, at, a, b)| {
        let (index, count) = (index(at, sizes), found.len());
        format!(
            "is {a:.6e} at {index:?}, expected {b:.6e}; elements beyond the tolerance: {beyond} of {count}"
        )
    });
    Comparison { relative, problem }
}

fn strings(found: &[String], expected: &[String]) -> Comparison {
    let mut pairs = found.iter().zip(expected);
    match pairs.find(|(a, b)| a != b) {
        Some((a, b)) => differs(format!("is {a:?}, expected {b:?}")),
        None => matches(),
    }
}

fn maps(found: &[Value], keys: &[Key], values: &Tensor, tolerance: f64) -> Comparison {
    let Some(expected) = values.numbers() else {
        return differs("was recorded as maps whose values are not numbers".to_owned());
    };
    let rows = expected.len().checked_div(keys.len()).unwrap_or(0);
    if found.len() != rows {
        return differs(format!("has {}, expected {rows}", style::count(found.len(), "map")));
    }
    let mut sorted: Vec<&Key> = keys.iter().collect();
    sorted.sort();
    let mut numbers = Vec::new();
    for map in found {
        let Value::Map(map) = map else {
            return differs(format!("contains {}, expected maps", map.kind()));
        };
        let mut found_keys: Vec<&Key> = map.iter().map(|(key, _)| key).collect();
        found_keys.sort();
        if found_keys != sorted {
            return differs(format!("has the keys {found_keys:?}, expected {sorted:?}"));
        }
        for key in keys {
            let value = map.iter().find(|(other, _)| other == key);
            let number = match value {
                Some((_, Value::Tensor(number))) => number.numbers().unwrap_or_default(),
                _ => Vec::new(),
            };
            match number.as_slice() {
                [number] => numbers.push(*number),
                _ => return differs(format!("has no number for the key {key:?}")),
            }
        }
    }
    floats(&numbers, &expected, &[rows, keys.len()], tolerance)
}

fn matches() -> Comparison {
    Comparison { relative: 0.0, problem: None }
}

fn differs(problem: String) -> Comparison {
    Comparison { relative: f64::INFINITY, problem: Some(problem) }
}

/// Returns the index on each axis of the element at an offset.
fn index(mut at: usize, sizes: &[usize]) -> Vec<usize> {
    let mut index = Vec::new();
    for &size in sizes.iter().rev() {
        index.push(at % size.max(1));
        at /= size.max(1);
    }
    index.reverse();
    index
}

#[cfg(test)]
mod tests;
