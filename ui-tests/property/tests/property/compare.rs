//! Comparison of values except for rounding.

use onnx_embed::{DType, TensorData, Value, Values};

/// Fails if two results differ by more than rounding. `nudged` contains results for inputs that differ by a rounding:
/// they measure its effect on each element. Elements that must be exact are not compared if they differ there.
pub fn agree(found: &Values, expected: &Values, nudged: &[Values]) -> Result<(), String> {
    for (name, expected) in expected.iter() {
        let problem = |text: String| format!("output `{name}`: {text}");
        let (Some(Value::Tensor(left)), Value::Tensor(right)) = (found.get(name), expected) else {
            return Err(problem("is missing, or no tensor".to_owned()));
        };
        let others = nudged.iter().filter_map(|values| values.get(name)?.tensor());
        let others: Vec<&TensorData> = others.collect();
        tensors(left, right, &others).map_err(problem)?;
    }
    Ok(())
}

fn tensors(found: &TensorData, expected: &TensorData, others: &[&TensorData]) -> Result<(), String> {
    let form = |data: &TensorData| (data.dtype(), data.shape().to_vec());
    if form(found) != form(expected) {
        return Err(format!("{:?}, not {:?}", form(found), form(expected)));
    }
    // An output whose size depends on rounding cannot be compared element by element.
    if others.iter().any(|other| form(other) != form(expected)) {
        return Ok(());
    }
    let numbers = |data: &TensorData| data.iter::<f64>().collect::<Vec<f64>>();
    let (left, right) = (numbers(found), numbers(expected));
    let others: Vec<Vec<f64>> = others.iter().map(|other| numbers(other)).collect();
    let exact = is_exact(found.dtype());
    let step = step(found.dtype());
    let finite = right.iter().copied().filter(|number| number.is_finite());
    let largest = finite.map(f64::abs).fold(0.0, f64::max);
    for (at, (&left, &right)) in left.iter().zip(&right).enumerate() {
        let moved = || others.iter().filter_map(|other| other.get(at).copied());
        let same = |left: f64, right: f64| left == right || (left.is_nan() && right.is_nan());
        let holds = if exact || !right.is_finite() {
            same(left, right) || moved().any(|moved| !same(moved, right))
        } else if moved().any(|moved| !moved.is_finite()) {
            true
        } else {
            let spread = moved().map(|moved| (moved - right).abs()).fold(0.0, f64::max);
            // Steps such as `log(exp(x) + 1)` round small results to 0. The operator that replaces them computes the result.
            let rounded = if right == 0.0 { step * step } else { 0.0 };
            let allowed = 256.0 * step * right.abs() + 64.0 * step * largest + 32.0 * spread + rounded;
            (left - right).abs() <= allowed
        };
        if !holds {
            return Err(format!("{left:?}, not {right:?}, at {at} of {:?}", expected.shape()));
        }
    }
    Ok(())
}

fn is_exact(dtype: DType) -> bool {
    !dtype.is_float()
}

/// Returns the distance from 1 to the next number.
fn step(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::EPSILON,
        DType::F16 => 2f64.powi(-10),
        DType::BF16 => 2f64.powi(-7),
        _ => f64::from(f32::EPSILON),
    }
}
