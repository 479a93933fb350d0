//! Wrong arguments are errors, not panics.

use ort::session::Session;
use ort::value::{Tensor, TensorRef};

use crate::models::*;

#[test]
fn a_wrong_name_is_an_error() {
    let mut session = session(AFFINE);
    let x = TensorRef::from_array_view(([1usize, 3], &[0f32; 3][..])).unwrap();
    let text = message(session.run(ort::inputs!["pixels" => x]));
    assert!(text.contains("no input `pixels` (inputs are: `x`)"), "{text}");
}

#[test]
fn a_wrong_shape_is_an_error() {
    let mut session = session(AFFINE);
    let x = TensorRef::from_array_view(([1usize, 4], &[0f32; 4][..])).unwrap();
    let text = message(session.run(ort::inputs![x]));
    assert!(text.contains("`x`"), "{text}");
    let x = TensorRef::from_array_view(([3usize], &[0f32; 3][..])).unwrap();
    assert!(session.run(ort::inputs![x]).is_err());
}

#[test]
fn a_wrong_type_is_an_error() {
    let mut session = session(AFFINE);
    let x = TensorRef::from_array_view(([1usize, 3], &[0i64; 3][..])).unwrap();
    let text = message(session.run(ort::inputs![x]));
    assert!(text.contains("`x` has type int64, expected float32"), "{text}");
    let texts = Tensor::from_string_array(([1usize, 3], &["a"; 3][..])).unwrap();
    assert!(session.run(ort::inputs![texts]).is_err());
}

#[test]
fn a_missing_or_additional_input_is_an_error() {
    let mut session = session(SCALAR);
    let x = || TensorRef::from_array_view(([1usize], &[0i64][..])).unwrap();
    let text = message(session.run(ort::inputs![x()]));
    assert!(text.contains("missing input `factor`"), "{text}");
    assert!(session.run(ort::inputs![x(), x(), x()]).is_err());
}

#[test]
fn a_sequence_for_a_tensor_is_an_error() {
    let mut affine = session(AFFINE);
    let row = || Tensor::from_array(([1usize, 3], vec![0f32; 3])).unwrap();
    let sequence = ort::value::Sequence::new([row(), row()]).unwrap();
    assert!(affine.run(ort::inputs![sequence]).is_err());
    let mut sequences = session(SEQUENCES);
    assert!(sequences.run(ort::inputs![row()]).is_err());
}

#[test]
fn an_execution_provider_that_is_absent_is_passed_over() {
    set_up();
    let builder = Session::builder().unwrap();
    let builder = builder.with_execution_providers([ort::ep::CUDA::default().build()]).unwrap();
    assert!({ builder }.commit_from_memory(AFFINE).is_ok());
    let builder = Session::builder().unwrap();
    let required = ort::ep::CUDA::default().build().error_on_failure();
    assert!(builder.with_execution_providers([required]).is_err());
}

#[test]
fn a_value_of_another_type_is_not_extracted() {
    let mut session = session(AFFINE);
    let x = TensorRef::from_array_view(([1usize, 3], &[0f32; 3][..])).unwrap();
    let outputs = session.run(ort::inputs![x]).unwrap();
    assert!(outputs["y"].try_extract_tensor::<i64>().is_err());
    assert!(outputs["y"].try_extract_strings().is_err());
}
