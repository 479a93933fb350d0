//! Statistical checks of random results.
//!
//! The limit is five standard errors. A draw exceeds it about once in two million times.

use onnx_embed::{DType, TensorData, Value, Values};

/// Law that random outputs satisfy. Its arguments are the inputs, the outputs, and the recorded outputs of another
/// draw.
pub type Law = fn(&Values, &Values, &Values) -> Result<(), String>;

/// Laws by the prefix of the case name. The first match applies.
const LAWS: [(&str, Option<Law>); 11] = [
    // If nothing is dropped, nothing is random.
    ("test_training_dropout_zero_ratio", None),
    ("test_training_dropout", Some(dropout)),
    // The comparison in upstream's function is reversed: `random > p` holds with probability 1 - p.
    ("test_bernoulli_expanded", Some(bernoulli_reversed)),
    ("test_bernoulli_double_expanded", Some(bernoulli_reversed)),
    ("test_bernoulli_seed_expanded", Some(bernoulli_reversed)),
    ("test_bernoulli", Some(bernoulli)),
    ("own_bernoulli_random", Some(bernoulli)),
    ("own_multinomial_random", Some(multinomial)),
    ("own_dropout_random", Some(dropout)),
    ("own_randomnormal", Some(same_distribution)),
    ("own_randomuniform", Some(same_distribution)),
];

const ERRORS: f64 = 5.0;

/// Returns the law of a random case. Other cases are compared with their recorded outputs.
pub fn law(name: &str) -> Option<Law> {
    // `own_Op_v1_name` is looked up as `own_op_name`.
    let name = name.to_lowercase();
    let parts = name.split('_').filter(|part| {
        let number = part.strip_prefix('v').filter(|number| !number.is_empty());
        !number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    });
    let name = parts.collect::<Vec<_>>().join("_");
    // The results of our own cases with a seed are recorded.
    if name.starts_with("own_") && name.contains("_seed") {
        return None;
    }
    let mut laws = LAWS.iter();
    laws.find(|(start, _)| name.starts_with(start))?.1
}

/// Checks that each output is 1 with its probability, which is input `x`, and otherwise 0.
fn bernoulli(inputs: &Values, found: &Values, expected: &Values) -> Result<(), String> {
    zeros_and_ones(inputs, found, expected, |p| p)
}

fn bernoulli_reversed(inputs: &Values, found: &Values, expected: &Values) -> Result<(), String> {
    zeros_and_ones(inputs, found, expected, |p| 1.0 - p)
}

fn zeros_and_ones(
    inputs: &Values,
    found: &Values,
    expected: &Values,
    probability: fn(f64) -> f64,
) -> Result<(), String> {
    let drawn = alike(&found["y"], &expected["y"])?;
    let probabilities = floats(&inputs["x"])?.into_iter().map(probability);
    let probabilities: Vec<f64> = probabilities.collect();
    for (drawn, probability) in drawn.iter().zip(&probabilities) {
        let possible = match *drawn {
            0.0 => *probability < 1.0,
            1.0 => *probability > 0.0,
            _ => false,
        };
        if !possible {
            return Err(format!("{drawn} was drawn with probability {probability}"));
        }
    }
    counted("ones", drawn.iter().sum(), &probabilities)
}

/// Checks that output `y` is input `x / (1 - r)`, or 0 with probability `r`. Output `z` is the mask of the kept
/// elements.
fn dropout(inputs: &Values, found: &Values, expected: &Values) -> Result<(), String> {
    let y = alike(&found["y"], &expected["y"])?;
    let ratio = match inputs.get("r") {
        Some(ratio) => floats(ratio)?[0],
        None => 0.5,
    };
    let x = floats(&inputs["x"])?;
    let mask = match found.get("z") {
        Some(mask) => alike(mask, &expected["z"])?,
        None => y.iter().map(|y| f64::from(*y != 0.0)).collect(),
    };
    // Half a unit in the last place of bfloat16 exceeds the tolerance of other types.
    let relative = match found["y"].tensor().map(TensorData::dtype) {
        Some(DType::BF16) => 1.0 / 256.0,
        _ => 1e-3,
    };
    for ((x, y), mask) in x.iter().zip(&y).zip(&mask) {
        let kept = mask * x / (1.0 - ratio);
        if (mask * (1.0 - mask)) != 0.0 || (kept - y).abs() > 1e-7 + relative * kept.abs() {
            return Err(format!("{y} came of {x} where the mask is {mask}"));
        }
    }
    let kept = vec![1.0 - ratio; mask.len()];
    counted("kept elements", mask.iter().sum(), &kept)
}

/// Checks that each row draws its classes with the probabilities whose logarithms are input `x`.
fn multinomial(inputs: &Values, found: &Values, expected: &Values) -> Result<(), String> {
    let drawn = alike(&found["y"], &expected["y"])?;
    let logarithms = floats(&inputs["x"])?;
    let rows = shape(&inputs["x"])[0];
    let (classes, count) = (logarithms.len() / rows, drawn.len() / rows);
    for (row, drawn) in logarithms.chunks(classes).zip(drawn.chunks(count)) {
        let weights: Vec<f64> = row.iter().map(|value| value.exp()).collect();
        let whole: f64 = weights.iter().sum();
        for (class, weight) in weights.iter().enumerate() {
            let hits = drawn.iter().filter(|&&place| place == class as f64).count();
            let probabilities = vec![weight / whole; count];
            counted(&format!("draws of {class}"), hits as f64, &probabilities)?;
        }
        if drawn.iter().any(|place| !(0.0..classes as f64).contains(place)) {
            return Err(format!("a place is outside of {classes} classes"));
        }
    }
    Ok(())
}

/// Checks that the outputs have the mean, variance and distribution of the recorded draw.
fn same_distribution(_: &Values, found: &Values, expected: &Values) -> Result<(), String> {
    let found = alike(&found["y"], &expected["y"])?;
    let expected = floats(&expected["y"])?;
    if expected.is_empty() {
        return Ok(());
    }
    let ([mean, variance], errors) = moments(&found);
    let ([recorded_mean, recorded_variance], recorded_errors) = moments(&expected);
    let limit = |at: usize| ERRORS * errors[at].hypot(recorded_errors[at]);
    if (mean - recorded_mean).abs() > limit(0) {
        return Err(format!("the mean is {mean}, not {recorded_mean}"));
    }
    if (variance - recorded_variance).abs() > limit(1) {
        return Err(format!("the variance is {variance}, not {recorded_variance}"));
    }
    // Limit of the Kolmogorov-Smirnov test for the same probability as that of five standard errors.
    let distance = distance(&found, &expected);
    let sizes = [found.len() as f64, expected.len() as f64];
    let limit = 2.74 * (1.0 / sizes[0] + 1.0 / sizes[1]).sqrt();
    if distance > limit { Err(format!("the distributions are {distance} apart")) } else { Ok(()) }
}

/// Checks that the number of successes in trials with these probabilities is within the limit.
fn counted(what: &str, count: f64, probabilities: &[f64]) -> Result<(), String> {
    let expected: f64 = probabilities.iter().sum();
    let variance: f64 = probabilities.iter().map(|p| p * (1.0 - p)).sum();
    if (count - expected).abs() <= ERRORS * variance.sqrt() {
        Ok(())
    } else {
        Err(format!("{count} {what} where {expected} are likely"))
    }
}

/// Returns mean and variance, and their standard errors.
fn moments(values: &[f64]) -> ([f64; 2], [f64; 2]) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let central = |power: i32| {
        let powers = values.iter().map(|value| (value - mean).powi(power));
        powers.sum::<f64>() / count
    };
    let (second, fourth) = (central(2), central(4));
    let errors = [second, fourth - second * second].map(|variance| (variance / count).sqrt());
    ([mean, second], errors)
}

/// Returns the largest difference between the empirical distribution functions of both.
fn distance(left: &[f64], right: &[f64]) -> f64 {
    let [left, right] = [left, right].map(|values| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted
    });
    let share = |values: &[f64], most: f64| {
        values.partition_point(|&value| value <= most) as f64 / values.len() as f64
    };
    let gap = |&value: &f64| (share(&left, value) - share(&right, value)).abs();
    left.iter().chain(&right).map(gap).fold(0.0, f64::max)
}

/// Returns the elements of a value. Fails unless its dtype and shape equal those of the recorded value.
fn alike(found: &Value, expected: &Value) -> Result<Vec<f64>, String> {
    let (Some(left), Some(right)) = (found.tensor(), expected.tensor()) else {
        return Err("the output is no tensor".to_owned());
    };
    let of = |data: &TensorData| (data.dtype(), data.shape().to_vec());
    if of(left) == of(right) { floats(found) } else { Err(format!("{:?}, not {:?}", of(left), of(right))) }
}

fn floats(value: &Value) -> Result<Vec<f64>, String> {
    let data = value.tensor().ok_or("a value is no tensor")?;
    Ok(data.iter::<f64>().collect())
}

fn shape(value: &Value) -> Vec<usize> {
    value.tensor().map_or_else(Vec::new, |data| data.shape().to_vec())
}
