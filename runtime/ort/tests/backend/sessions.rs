//! Sessions: how they are created, and what they tell about their model.

use std::borrow::Cow;

use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::{TensorElementType, TensorRef, ValueType};

use crate::models::*;

fn tensor_of(kind: &ValueType) -> (TensorElementType, Vec<i64>, Vec<String>) {
    let ValueType::Tensor { ty, shape, dimension_symbols } = kind else { panic!("{kind}") };
    (*ty, shape.to_vec(), dimension_symbols.iter().map(ToString::to_string).collect())
}

#[test]
fn a_session_has_the_inputs_and_outputs_of_its_model() {
    let session = session(AFFINE);
    let names =
        |outlets: &[ort::value::Outlet]| outlets.iter().map(|o| o.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(
        (names(session.inputs()), names(session.outputs())),
        (vec!["x".into()], vec!["y".into(), "z".into()])
    );
    let batch = || vec!["batch".to_owned(), String::new()];
    assert_eq!(tensor_of(session.inputs()[0].dtype()), (TensorElementType::Float32, vec![-1, 3], batch()));
    assert_eq!(tensor_of(session.outputs()[0].dtype()), (TensorElementType::Float32, vec![-1, 2], batch()));
}

#[test]
fn a_session_has_the_metadata_of_its_model() {
    let session = session(AFFINE);
    let metadata = session.metadata().unwrap();
    assert_eq!(metadata.producer().as_deref(), Some("make.py"));
    assert_eq!(metadata.name().as_deref(), Some("affine"));
    assert_eq!(metadata.description().as_deref(), Some("An affine map"));
    assert_eq!(metadata.domain().as_deref(), Some("org.example"));
    assert_eq!(metadata.version(), Some(7));
    assert_eq!(metadata.custom_keys().unwrap(), ["author", "labels"]);
    assert_eq!(metadata.custom("author").as_deref(), Some("tests"));
}

#[test]
fn a_model_without_metadata_has_empty_texts() {
    let session = session(SCALAR);
    let metadata = session.metadata().unwrap();
    assert_eq!(metadata.description().as_deref(), Some(""));
    assert_eq!(metadata.custom_keys().unwrap(), Vec::<String>::new());
}

#[test]
fn a_model_is_loaded_from_its_file() {
    set_up();
    let mut session = Session::builder().unwrap().commit_from_file(path("affine.onnx")).unwrap();
    let x = TensorRef::from_array_view(([1usize, 3], &[1f32, 2.0, 3.0][..])).unwrap();
    let outputs = session.run(ort::inputs![x]).unwrap();
    assert_eq!(outputs["y"].try_extract_tensor::<f32>().unwrap().1, [14.0, 25.0]);
}

#[test]
fn other_weights_of_the_same_graph_are_used() {
    set_up();
    let mut bytes = AFFINE.to_vec();
    let old = 20f32.to_le_bytes();
    let at = bytes.windows(4).position(|window| window == old).unwrap();
    bytes[at..at + 4].copy_from_slice(&30f32.to_le_bytes());
    let mut session = session(&bytes);
    let x = TensorRef::from_array_view(([1usize, 3], &[0f32; 3][..])).unwrap();
    let outputs = session.run(ort::inputs![x]).unwrap();
    assert_eq!(outputs["y"].try_extract_tensor::<f32>().unwrap().1, [10.0, 30.0]);
}

#[test]
fn a_file_of_no_registered_model_is_an_error_that_names_them_all() {
    set_up();
    let text = message(Session::builder().unwrap().commit_from_memory(b"no model"));
    assert!(text.starts_with("the file is none of the registered models:"), "{text}");
    for name in ["Affine", "Types", "Texts", "Sequences", "Scalar", "Classes", "External"] {
        assert!(text.contains(&format!("::{name}`: ")), "{text}");
    }
    assert!(text.contains(&format!("its size in bytes is 8, expected {}", AFFINE.len())), "{text}");
    let missing = message(Session::builder().unwrap().commit_from_file(path("absent.onnx")));
    assert!(missing.contains("absent.onnx"), "{missing}");
    assert!(Session::builder().unwrap().commit_from_memory(&[]).is_err());
}

#[test]
fn external_data_comes_from_the_folder_of_the_model() {
    set_up();
    let session = Session::builder().unwrap().commit_from_file(path("external.onnx")).unwrap();
    check_external(session);
}

#[test]
fn external_data_comes_from_memory() {
    set_up();
    let builder = Session::builder().unwrap();
    let builder =
        builder.with_external_initializer_file_in_memory("external.bin", Cow::Borrowed(EXTERNAL_DATA));
    check_external(builder.unwrap().commit_from_memory(EXTERNAL).unwrap());
}

#[test]
fn external_data_comes_from_a_folder_of_the_options() {
    set_up();
    let key = "session.model_external_initializers_file_folder_path";
    let builder = Session::builder().unwrap().with_config_entry(key, path("")).unwrap();
    check_external({ builder }.commit_from_memory(EXTERNAL).unwrap());
    let text = message(Session::builder().unwrap().commit_from_memory(EXTERNAL));
    assert!(text.contains("its file `external.bin` is missing"), "{text}");
}

fn check_external(mut session: Session) {
    let x = TensorRef::from_array_view(([2usize, 3], &[1f32; 6][..])).unwrap();
    let outputs = session.run(ort::inputs![x]).unwrap();
    assert_eq!(outputs["y"].try_extract_tensor::<f32>().unwrap().1, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

#[test]
fn a_size_that_the_options_set_is_checked() {
    set_up();
    let builder = Session::builder().unwrap().with_dimension_override("batch", 2).unwrap();
    let mut session = { builder }.commit_from_memory(AFFINE).unwrap();
    assert_eq!(tensor_of(session.inputs()[0].dtype()).1, [2, 3]);
    assert_eq!(tensor_of(session.outputs()[0].dtype()).1, [2, 2]);
    let two = TensorRef::from_array_view(([2usize, 3], &[0f32; 6][..])).unwrap();
    assert!(session.run(ort::inputs![two]).is_ok());
    let one = TensorRef::from_array_view(([1usize, 3], &[0f32; 3][..])).unwrap();
    let text = message(session.run(ort::inputs![one]));
    assert!(text.contains("size `batch` of `x` is 1, the session options set 2"), "{text}");
    let denotation = Session::builder().unwrap().with_dimension_override_by_denotation("DATA_BATCH", 2);
    assert!(denotation.is_err());
}

#[test]
fn options_without_effect_are_accepted() {
    set_up();
    let builder = Session::builder().unwrap();
    let builder = builder.with_intra_threads(2).unwrap().with_inter_threads(1).unwrap();
    let builder = builder.with_optimization_level(GraphOptimizationLevel::Level3).unwrap();
    let builder = builder.with_parallel_execution(false).unwrap().with_memory_pattern(false).unwrap();
    let mut session = { builder }.commit_from_memory(AFFINE).unwrap();
    let x = TensorRef::from_array_view(([1usize, 3], &[0f32; 3][..])).unwrap();
    assert!(session.run(ort::inputs![x]).is_ok());
}

#[test]
fn a_builder_makes_several_sessions() {
    set_up();
    let mut builder = Session::builder().unwrap();
    let one = builder.commit_from_memory(AFFINE).unwrap();
    let other = builder.clone().commit_from_memory(SCALAR).unwrap();
    assert_eq!((one.inputs().len(), other.inputs().len()), (1, 2));
}
