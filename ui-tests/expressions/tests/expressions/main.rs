//! Checks that an integer expression has one value.
//!
//! The value must be the same by the specification, at compile time with fixed and with dynamic sizes, in generated
//! code, and on the host.
//!
//! `SEED=7 EXPRESSIONS=2000 cargo test -p onnx-embed-expressions` tests other expressions than CI.

mod known;
mod operators;

use onnx_embed::{Device, TensorData, Value, Values};
use onnx_embed_expressions::{CASES, Run};
use onnx_embed_ir::types::Known;
use onnx_embed_property_graphs::Random;
use onnx_embed_property_graphs::expressions::{Expression, Form, OUTPUTS, SIZES, all};

/// Number of shapes for each expression.
const SHAPES: u64 = 6;

/// Returns sizes of all kinds, the same for each expression.
fn shapes() -> Vec<Vec<i64>> {
    let mut random = Random::new(5);
    let sizes = [0, 1, 2, 3, 4, 5, 7, 8, 9, 33];
    let shape = |_| (0..SIZES).map(|_| *random.pick(&sizes)).collect();
    (0..SHAPES).map(shape).collect()
}

#[track_caller]
fn none_differ(found: usize, least: usize, differences: &[String]) {
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(found >= least, "only {found} values of {least} are compared");
}

#[test]
fn known_sizes_give_known_values() {
    let expressions = all();
    let (mut found, mut compared, mut differences) = (0, 0, Vec::new());
    for shape in shapes() {
        for some in expressions.chunks(OUTPUTS) {
            let known = known::values(some, &Form::Fixed(shape.clone()));
            for (expression, known) in some.iter().zip(&known) {
                let Some(expected) = expression.value(&shape) else {
                    continue;
                };
                compared += 1;
                let Some(Known::Ints(dims)) = known else {
                    continue;
                };
                found += 1;
                let number = dims.first().and_then(|dim| dim.number());
                if number != Some(expected) {
                    differences.push(format!("{number:?}, not {expected}: {expression:?} of {shape:?}"));
                }
            }
        }
    }
    none_differ(found, compared - compared / 50, &differences);
}

#[test]
fn what_is_known_of_open_sizes_holds_for_each() {
    let expressions = all();
    let (mut found, mut differences) = (0, Vec::new());
    for some in expressions.chunks(OUTPUTS) {
        let known = known::values(some, &Form::Sizes);
        for (expression, known) in some.iter().zip(&known) {
            let Some(Known::Ints(dims)) = known else {
                continue;
            };
            for shape in shapes() {
                let Some(expected) = expression.value(&shape) else {
                    continue;
                };
                found += 1;
                let number = dims.first().and_then(|dim| known::substituted(dim, &shape));
                if number != Some(expected) {
                    differences.push(format!(
                        "{number:?}, not {expected}: {dims:?} for {expression:?} of {shape:?}"
                    ));
                }
            }
        }
    }
    none_differ(found, expressions.len() / 2, &differences);
}

#[test]
fn generated_code_computes_sizes() {
    compare(
        |case| case.sizes,
        |shape| {
            let sizes: Vec<usize> = shape.iter().map(|&size| size as usize).collect();
            let count = sizes.iter().product();
            ("x", TensorData::new(vec![0f32; count], sizes))
        },
    );
}

#[test]
fn the_host_computes_numbers() {
    compare(|case| case.host, |shape| ("sizes", TensorData::new(shape.to_vec(), [SIZES])));
}

/// Runs the models with each shape and compares the results with the values of the expressions.
fn compare(
    run: impl Fn(&onnx_embed_expressions::Case) -> Run,
    input: impl Fn(&[i64]) -> (&'static str, TensorData),
) {
    let expressions = all();
    let (mut found, mut differences) = (0, Vec::new());
    for (case, some) in CASES.iter().zip(expressions.chunks(OUTPUTS)) {
        for shape in shapes() {
            let (name, data) = input(&shape);
            let mut values = Values::new();
            values.insert(name, Value::Tensor(data));
            match run(case)(&Device::flex(), values) {
                Ok(results) => differences.extend(differing(some, &shape, &results, &mut found)),
                Err(error) => differences.push(format!("{error} with {shape:?}: {some:?}")),
            }
        }
    }
    none_differ(found, expressions.len(), &differences);
}

fn differing(expressions: &[Expression], shape: &[i64], results: &Values, found: &mut usize) -> Vec<String> {
    let mut differences = Vec::new();
    for (at, expression) in expressions.iter().enumerate() {
        let Some(expected) = expression.value(shape) else {
            continue;
        };
        *found += 1;
        let number = match results.get(&format!("y{at}")) {
            Some(Value::Tensor(data)) => data.iter::<i64>().next(),
            _ => None,
        };
        if number != Some(expected) {
            differences.push(format!("{number:?}, not {expected}: {expression:?} of {shape:?}"));
        }
    }
    differences
}
