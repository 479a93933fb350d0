//! Comparison of values except for rounding.

use onnx_embed::{DType, TensorData, Value, Values};

/// Fails with the first difference.
pub fn agree(found: &Values, expected: &Values) -> Result<(), String> {
    for (name, expected) in expected.iter() {
        let Some(found) = found.get(name) else {
            return Err(format!("output `{name}` is missing"));
        };
        same(found, expected).map_err(|problem| format!("output `{name}`: {problem}"))?;
    }
    Ok(())
}

fn same(found: &Value, expected: &Value) -> Result<(), String> {
    match (found, expected) {
        (Value::Tensor(found), Value::Tensor(expected)) => tensors(found, expected),
        (Value::Strings(found), Value::Strings(expected)) if found == expected => Ok(()),
        // The references return the content of an optional.
        (Value::Optional(Some(found)), expected) => same(found, expected),
        (Value::Sequence(found), Value::Sequence(expected)) if found.len() == expected.len() => {
            let mut pairs = found.iter().zip(expected);
            pairs.try_for_each(|(found, expected)| same(found, expected))
        }
        _ => Err(format!("{found:?}, expected {expected:?}")),
    }
}

fn tensors(found: &TensorData, expected: &TensorData) -> Result<(), String> {
    let form = |data: &TensorData| format!("{:?} {:?}", data.dtype(), data.shape().as_slice());
    if form(found) != form(expected) {
        return Err(format!("{}, expected {}", form(found), form(expected)));
    }
    let Some(step) = step(found.dtype()) else {
        let size = found.dtype().size();
        let mut pairs = found.as_bytes().chunks(size).zip(expected.as_bytes().chunks(size));
        return match pairs.position(|(found, expected)| found != expected) {
            None => Ok(()),
            Some(at) => {
                let [found, wanted] = [found, expected].map(|data| data.iter::<i64>().nth(at));
                Err(format!("{found:?}, expected {wanted:?}, at {at} of {:?}", expected.shape()))
            }
        };
    };
    let [found, wanted] = [found, expected].map(|data| data.iter::<f64>().collect::<Vec<f64>>());
    let finite = wanted.iter().copied().filter(|value| value.is_finite());
    let largest = finite.map(f64::abs).fold(1e-3, f64::max);
    for (at, (&left, &right)) in found.iter().zip(&wanted).enumerate() {
        let is_equal = left == right || (left.is_nan() && right.is_nan());
        let is_near = (left - right).abs() <= step * right.abs() + step * largest;
        if !is_equal && !is_near {
            return Err(format!("{left:?}, expected {right:?}, at {at} of {:?}", expected.shape()));
        }
    }
    Ok(())
}

/// Returns the relative tolerance of floats, or `None` for exact types. It is some units in the last place; the
/// references round 16-bit floats after each step.
fn step(dtype: DType) -> Option<f64> {
    match dtype {
        DType::F64 => Some(1e-9),
        DType::F32 => Some(1e-4),
        DType::F16 => Some(1e-2),
        DType::BF16 => Some(6e-2),
        _ => None,
    }
}
