//! Tests of outputs that match or differ.

use onnx_embed_ir::dtype::DType;

use super::*;

const TOLERANCE: f64 = 1e-4;

fn tensor(dtype: DType, shape: &[usize], bytes: Vec<u8>) -> Tensor {
    let shape = shape.to_vec();
    Tensor { dtype, shape, bytes }
}

fn row(values: [f32; 3]) -> Tensor {
    tensor(DType::F32, &[3], values.map(f32::to_le_bytes).concat())
}

fn ints(shape: &[usize], values: &[i64]) -> Tensor {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes());
    tensor(DType::I64, shape, bytes.collect())
}

fn check(found: Tensor, expected: Tensor, problem: Option<&str>) {
    let expected = Expected::Value(Value::Tensor(expected));
    let comparison = compare(&Value::Tensor(found), &expected, TOLERANCE);
    assert_eq!(comparison.problem.as_deref(), problem);
}

#[test]
fn small_errors_are_measured_by_the_largest_element() {
    check(row([100.0, 0.009, 0.0]), row([100.0, 0.0, 0.0]), None);
    let problem = "is 2.000000e-2 at [1], expected 0.000000e0; elements beyond the tolerance: 1 of 3";
    check(row([100.0, 0.02, 0.0]), row([100.0, 0.0, 0.0]), Some(problem));
}

#[test]
fn an_infinite_element_is_no_measure_for_others() {
    let infinite = row([f32::INFINITY, 1.0, 0.0]);
    check(infinite.clone(), infinite.clone(), None);
    let problem = "is 1.100000e0 at [1], expected 1.000000e0; elements beyond the tolerance: 1 of 3";
    check(row([f32::INFINITY, 1.1, 0.0]), infinite, Some(problem));
}

#[test]
fn nan_equals_nan_alone() {
    check(row([f32::NAN, 1.0, 1.0]), row([f32::NAN, 1.0, 1.0]), None);
    let problem = "is NaN at [0], expected 1.000000e0; elements beyond the tolerance: 1 of 3";
    check(row([f32::NAN, 1.0, 1.0]), row([1.0; 3]), Some(problem));
    let problem = "is 1.000000e0 at [0], expected NaN; elements beyond the tolerance: 1 of 3";
    check(row([1.0; 3]), row([f32::NAN, 1.0, 1.0]), Some(problem));
}

#[test]
fn the_relative_error_is_that_of_the_worst_element() {
    let expected = Expected::Value(Value::Tensor(row([4.0, 1.0, 0.0])));
    let found = Value::Tensor(row([4.0, 1.5, 0.25]));
    assert_eq!(compare(&found, &expected, 1.0).relative, 0.125);
}

#[test]
fn types_and_shapes_must_be_equal() {
    check(row([1.0; 3]), ints(&[3], &[1; 3]), Some("has type float32, expected int64"));
    let other = Tensor { shape: vec![1, 3], ..row([1.0; 3]) };
    check(row([1.0; 3]), other, Some("has shape [3], expected [1, 3]"));
}

#[test]
fn integers_are_exact() {
    let large = i64::MAX - 1;
    check(ints(&[1], &[large]), ints(&[1], &[large]), None);
    let problem = "differs in the last bits of large integers";
    check(ints(&[1], &[large]), ints(&[1], &[i64::MAX]), Some(problem));
    let problem = "is 5 at [1, 0], expected 3; differing elements: 2 of 4";
    check(ints(&[2, 2], &[1, 2, 5, 5]), ints(&[2, 2], &[1, 2, 3, 4]), Some(problem));
}

#[test]
fn strings_are_exact() {
    let text = |text: &str| Value::Strings { shape: vec![1], texts: vec![text.to_owned()] };
    let problem = |found, expected| compare(&text(found), &Expected::Value(text(expected)), 1.0);
    assert_eq!(problem("a", "a").problem, None);
    assert_eq!(problem("a", "b").problem.as_deref(), Some(r#"is "a", expected "b""#));
}

#[test]
fn maps_are_rows_of_values_by_key() {
    let map = |a: f32, b: f32| {
        let value = |value: f32| Value::Tensor(tensor(DType::F32, &[], value.to_le_bytes().into()));
        Value::Map(vec![(Key::Int(0), value(a)), (Key::Int(1), value(b))])
    };
    let found = Value::Sequence(vec![map(0.25, 0.75), map(1.0, 0.0)]);
    let problem = |values: [f64; 4]| {
        let values = tensor(DType::F64, &[2, 2], values.map(f64::to_le_bytes).concat());
        let keys = vec![Key::Int(1), Key::Int(0)];
        compare(&found, &Expected::Maps { keys, values }, TOLERANCE).problem
    };
    assert_eq!(problem([0.75, 0.25, 0.0, 1.0]), None);
    assert!(problem([0.25, 0.75, 0.0, 1.0]).is_some());
}

#[test]
fn kinds_and_keys_are_named() {
    let values = tensor(DType::F64, &[1, 1], 1f64.to_le_bytes().into());
    let maps = |keys| Expected::Maps { keys, values: values.clone() };
    let problem = |found: &Value, expected: &Expected| compare(found, expected, 1.0).problem.unwrap();
    let one = Value::Tensor(row([1.0; 3]));
    assert_eq!(problem(&one, &maps(vec![Key::Int(1)])), "is a tensor, expected a map or a sequence of maps");
    assert_eq!(
        problem(&Value::Optional(None), &Expected::Value(one.clone())),
        "is an empty optional, expected a tensor"
    );
    let sequence = Value::Sequence(vec![one.clone()]);
    assert_eq!(problem(&sequence, &maps(vec![Key::Int(1)])), "contains a tensor, expected maps");
    let map = Value::Map(vec![(Key::Text("a".to_owned()), one)]);
    assert_eq!(problem(&map, &maps(vec![Key::Int(1)])), "has the keys [\"a\"], expected [1]");
}

#[test]
fn an_output_may_be_as_far_from_the_exact_one_as_the_recorded_is() {
    let value = |values| Value::Tensor(row(values));
    let exact = tensor(DType::F64, &[3], [1.0f64, 2.0, 4.0].map(f64::to_le_bytes).concat());
    let exact = Value::Tensor(exact);
    let recorded = Expected::Value(value([1.0, 2.0, 4.25]));
    let near = |found| is_as_near(&found, &recorded, &exact);
    assert!(near(value([0.5, 2.0, 4.0])));
    assert!(near(value([1.0, 2.25, 3.75])));
    assert!(!near(value([1.0, 2.625, 4.0])));
    assert!(!near(value([f32::NAN, 2.0, 4.0])));
    assert!(!near(Value::Tensor(ints(&[3], &[1, 2, 4]))));
    let short = tensor(DType::F32, &[1], 1f32.to_le_bytes().to_vec());
    assert!(!near(Value::Tensor(short)));
}

#[test]
fn as_far_as_another_answer_is_within() {
    let value = |values| Value::Tensor(row(values));
    let recorded = |values| Expected::Value(value(values));
    let expected = recorded([1.0, 2.0, 3.0]);
    let others = [recorded([1.0, 2.0, 3.0]), recorded([1.5, 2.0, 3.0])];
    let is_within = |found| is_within(&value(found), &expected, &others.each_ref());
    assert!(is_within([1.0, 2.0, 4.0]));
    assert!(!is_within([1.0, 2.0, 4.01]));
    // The largest difference is small enough, the mean is not.
    assert!(!is_within([1.4, 2.4, 3.4]));
    assert!(!is_within([f32::NAN, 2.0, 3.0]));
    assert!(!is_within([f32::INFINITY, 2.0, 3.0]));
}

#[test]
fn without_another_answer_nothing_else_is_within() {
    let expected = Expected::Value(Value::Tensor(row([1.0, 2.0, 3.0])));
    let found = Value::Tensor(row([1.0, 2.0, 3.1]));
    assert!(!is_within(&found, &expected, &[]));
    let short = tensor(DType::F32, &[1], 1f32.to_le_bytes().to_vec());
    let short = Value::Tensor(short);
    assert!(!is_within(&short, &expected, &[&expected]));
    // A result with a NaN or of another type is ignored.
    let others = [row([f32::NAN, 2.0, 3.0]), ints(&[3], &[9, 9, 9])];
    let others = others.map(|other| Expected::Value(Value::Tensor(other)));
    assert!(!is_within(&found, &expected, &others.each_ref()));
}

#[test]
fn of_integers_those_that_differ_are_counted() {
    let expected = Expected::Value(Value::Tensor(ints(&[4], &[1, 2, 3, 4])));
    let other = Expected::Value(Value::Tensor(ints(&[4], &[9, 2, 3, 4])));
    let is_within = |found| is_within(&Value::Tensor(found), &expected, &[&other]);
    assert!(is_within(ints(&[4], &[1, 2, 7, 80])));
    assert!(!is_within(ints(&[4], &[1, 3, 7, 80])));
}
