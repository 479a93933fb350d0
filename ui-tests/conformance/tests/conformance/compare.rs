//! Comparison of values within the case's tolerance.

use std::path::Path;

use half::{bf16, f16};
use onnx_embed::__private::ops::dtype::lowered;
use onnx_embed::{DType, Device, TensorData, Value};

/// Maximum error of a float: `absolute + relative * |expected|`.
#[derive(Clone, Copy)]
pub struct Tolerance {
    relative: f64,
    absolute: f64,
    /// Minimum relative tolerance of values of type bfloat16.
    bfloat16: f64,
    /// Additional tolerance of values of type float16, as a fraction of the largest expected value.
    float16: f64,
}

/// One unit in the last place of bfloat16, relative to the value.
const UNIT: f64 = 1.0 / 128.0;

/// One unit in the last place of float16. Devices that compute in 16 bits round sums and terms to it; `verify` allows
/// for this too.
const UNIT_OF_FLOAT16: f64 = 1.0 / 1024.0;

impl Tolerance {
    /// Returns the tolerance in the folder of a case, or upstream's by default. Expected values of our own cases are
    /// rounded once; upstream's runner allows two units of bfloat16.
    pub fn of(name: &str, folder: &Path, device: &Device) -> Self {
        let file = std::fs::read_to_string(folder.join("tolerance.txt"));
        let text = file.unwrap_or("1e-3 1e-7".to_owned());
        let mut numbers = text.split_whitespace().map(|number| number.parse().unwrap());
        let mut next = || numbers.next().expect("a tolerance is two numbers");
        Tolerance {
            relative: next(),
            absolute: next(),
            bfloat16: if name.starts_with("own_") { UNIT } else { 2.0 * UNIT },
            float16: if lowered(device, DType::F16) == DType::F16 { UNIT_OF_FLOAT16 } else { 0.0 },
        }
    }
}

/// Fails if kind, dtype, shape or elements differ. Integers, booleans and strings must be equal.
pub fn agree(found: &Value, expected: &Value, tolerance: Tolerance) -> Result<(), String> {
    match (found, expected) {
        (Value::Tensor(found), Value::Tensor(expected)) => tensors(found, expected, tolerance),
        (Value::Strings(found), Value::Strings(expected)) => {
            if found == expected {
                Ok(())
            } else {
                Err(format!("{found:?}, not {expected:?}"))
            }
        }
        (Value::Sequence(found), Value::Sequence(expected)) => {
            if found.len() != expected.len() {
                return Err(format!("{} items, not {}", found.len(), expected.len()));
            }
            let pairs = found.iter().zip(expected).enumerate();
            pairs.into_iter().try_for_each(|(at, (found, expected))| {
                agree(found, expected, tolerance).map_err(|problem| format!("item {at}: {problem}"))
            })
        }
        (Value::Optional(None), Value::Optional(None)) => Ok(()),
        (Value::Optional(Some(found)), Value::Optional(Some(expected))) => agree(found, expected, tolerance),
        (Value::Map(found), Value::Map(expected)) => {
            if !found.keys().eq(expected.keys()) {
                return Err(format!("{found:?}, not {expected:?}"));
            }
            let mut pairs = found.iter().zip(expected.values());
            pairs.try_for_each(|((key, found), expected)| {
                agree(found, expected, tolerance).map_err(|problem| format!("{key:?}: {problem}"))
            })
        }
        _ => Err(format!("{found:?}, not {expected:?}")),
    }
}

/// Fails unless two values have the same bits.
pub fn equal(left: &Value, right: &Value) -> Result<(), String> {
    let exact = Tolerance { relative: 0.0, absolute: 0.0, bfloat16: 0.0, float16: 0.0 };
    // Strings, lengths and keys are compared here. Equal numbers may still differ in their bits.
    agree(left, right, exact)?;
    let mut pairs = vec![(left, right)];
    while let Some(pair) = pairs.pop() {
        match pair {
            (Value::Tensor(left), Value::Tensor(right)) if left.as_bytes() != right.as_bytes() => {
                return Err(format!("{left} and {right} differ in their bits"));
            }
            (Value::Sequence(left), Value::Sequence(right)) => pairs.extend(left.iter().zip(right)),
            (Value::Optional(Some(left)), Value::Optional(Some(right))) => {
                pairs.push((left.as_ref(), right.as_ref()));
            }
            (Value::Map(left), Value::Map(right)) => pairs.extend(left.values().zip(right.values())),
            _ => {}
        }
    }
    Ok(())
}

fn tensors(found: &TensorData, expected: &TensorData, tolerance: Tolerance) -> Result<(), String> {
    if found.dtype() != expected.dtype() || found.shape() != expected.shape() {
        return Err(format!(
            "{:?} {:?}, not {:?} {:?}",
            found.dtype(),
            found.shape(),
            expected.dtype(),
            expected.shape()
        ));
    }
    let (Some(left), Some(right)) = (floats(found), floats(expected)) else {
        let mut places = found.as_bytes().iter().zip(expected.as_bytes());
        return match places.position(|(found, expected)| found != expected) {
            None => Ok(()),
            Some(_) => Err(format!("{found}, not {expected}")),
        };
    };
    let tolerance = match found.dtype() {
        DType::BF16 => Tolerance { relative: tolerance.relative.max(tolerance.bfloat16), ..tolerance },
        DType::F16 => {
            let finite = right.iter().filter(|value| value.is_finite());
            let largest = finite.fold(0.0f64, |largest, value| largest.max(value.abs()));
            Tolerance { absolute: tolerance.absolute + tolerance.float16 * largest, ..tolerance }
        }
        _ => tolerance,
    };
    let wrong: Vec<usize> = (0..left.len()).filter(|&at| !close(left[at], right[at], tolerance)).collect();
    match wrong.first() {
        None => Ok(()),
        Some(&at) => Err(format!(
            "{} of {} differ, first at {at}: {:?}, not {:?}",
            wrong.len(),
            left.len(),
            left[at],
            right[at]
        )),
    }
}

fn close(found: f64, expected: f64, tolerance: Tolerance) -> bool {
    if found.is_nan() || expected.is_nan() {
        return found.is_nan() && expected.is_nan();
    }
    let allowed = tolerance.absolute + tolerance.relative * expected.abs();
    found == expected || (expected.is_finite() && (found - expected).abs() <= allowed)
}

/// Returns the elements of a float tensor, and `None` for other types.
fn floats(data: &TensorData) -> Option<Vec<f64>> {
    let bytes = data.as_bytes();
    Some(match data.dtype() {
        DType::F64 => {
            let chunks = bytes.as_chunks::<8>().0.iter();
            chunks.map(|&bytes| f64::from_le_bytes(bytes)).collect()
        }
        DType::F32 => {
            let chunks = bytes.as_chunks::<4>().0.iter();
            chunks.map(|&bytes| f32::from_le_bytes(bytes).into()).collect()
        }
        DType::F16 => {
            let chunks = bytes.as_chunks::<2>().0.iter();
            chunks.map(|&bytes| f16::from_le_bytes(bytes).into()).collect()
        }
        DType::BF16 => {
            let chunks = bytes.as_chunks::<2>().0.iter();
            chunks.map(|&bytes| bf16::from_le_bytes(bytes).into()).collect()
        }
        _ => return None,
    })
}
