//! The memory limit of a model, and of its caller.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use onnx_embed::burn::tensor::Tolerance;
use onnx_embed::{
    Array, DType, Device, DynModel, OnnxModel, Tensor, TensorData, Values, memory_limit, onnx_model,
    with_memory_limit, with_memory_limit_async,
};

use crate::{floats, ints, message, zeros};

onnx_model! { struct Counted = "../../models/counted.onnx"; }

onnx_model! {
    #[onnx(memory_limit = "1 MiB")]
    struct Limited = "../../models/counted.onnx";
}

const REFUSED: &str =
    "cannot run `/rows/Expand` (Expand): shape [65537, 4] requires 1.0 MiB, the memory limit is 1.0 MiB";

fn request(x: TensorData, rows: i64) -> Values {
    Values::from([
        ("x", x.into()),
        ("row", TensorData::new(vec![1f32, 2.0, 3.0, 4.0], [1, 4]).into()),
        ("shape", ints(&[rows, 4])),
    ])
}

fn run(model: &dyn DynModel, rows: i64) -> String {
    message(model.run(request(zeros(&[1, 1]), rows)))
}

fn none(shape: &[usize]) -> TensorData {
    TensorData::from_bytes_vec(Vec::new(), shape.to_vec(), DType::F32)
}

#[test]
fn a_caller_sets_the_limit() {
    let model = Counted::new(&Device::flex());
    assert_eq!(run(&model, 65_537), "no error");
    assert_eq!(with_memory_limit(1 << 20, || run(&model, 65_536)), "no error");
    assert_eq!(with_memory_limit(1 << 20, || run(&model, 65_537)), REFUSED);
    assert_eq!(run(&model, 65_537), "no error");
    assert!(memory_limit() > 1 << 20);
}

#[test]
fn a_model_has_a_limit_that_its_caller_replaces() {
    let model = Limited::new(&Device::flex());
    assert_eq!(run(&model, 65_536), "no error");
    assert_eq!(run(&model, 65_537), REFUSED);
    assert_eq!(with_memory_limit(1 << 21, || run(&model, 65_537)), "no error");
}

fn input(rows: i64) -> LimitedInput {
    let device = Device::flex();
    LimitedInput {
        x: Tensor::zeros([1, 1], &device),
        row: Tensor::zeros([1, 4], &device),
        shape: Array::vector([rows, 4]),
    }
}

#[test]
fn typed_forms_have_it_too() {
    let model = Limited::new(&Device::flex());
    let output = model.try_forward(input(65_536)).unwrap();
    assert_eq!(output.rows.dims(), [65_536, 4]);
    let error = model.try_forward(input(65_537)).unwrap_err();
    assert_eq!(error.to_string(), REFUSED);
    let panic = catch_unwind(AssertUnwindSafe(|| model.forward(input(65_537)))).unwrap_err();
    assert_eq!(*panic.downcast::<String>().unwrap(), REFUSED);
    let error = finished(model.try_forward_async(input(65_537))).unwrap_err();
    assert_eq!(error.to_string(), REFUSED);
    let larger = with_memory_limit_async(1 << 21, model.try_forward_async(input(65_537)));
    assert!(finished(larger).is_ok());
}

/// Returns the result of a future that never waits.
fn finished<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

#[test]
fn inputs_without_elements_have_sizes_that_count() {
    let model: &dyn DynModel = &Counted::new(&Device::flex());
    let answer = |shape: &[usize]| message(model.run(request(none(shape), 1)));
    assert_eq!(answer(&[0, 1 << 20]), "no error");
    for shape in [[0, 1 << 40], [1 << 40, 0], [(1 << 62) + 1, 0], [0, usize::MAX]] {
        let found = answer(&shape);
        let begin = format!("`x` has shape {shape:?}, which exceeds the memory limit of ");
        assert!(found.starts_with(&begin), "{found}");
    }
    let limited = Limited::new(&Device::flex());
    let found = message(limited.run(request(none(&[0, 1 << 20]), 1)));
    assert_eq!(
        found,
        "`x` has shape [0, 1048576], which exceeds the memory limit of 1.0 MiB (sizes of 0 count as 1)"
    );
}

#[test]
fn results_are_those_without_a_limit() {
    let output = Limited::new(&Device::flex()).run(request(zeros(&[1, 1]), 2));
    let rows = TensorData::from([[1f32, 2.0, 3.0, 4.0]; 2]);
    output.unwrap()["rows"].tensor().unwrap().assert_approx_eq::<f32>(&rows, Tolerance::default());
    assert_eq!(floats(&[1.0]).tensor().unwrap().shape().to_vec(), [1]);
}
