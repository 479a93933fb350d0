//! Memory and time that operators need for intermediate results.
//!
//! Both depend on values and sizes of inputs.

use std::time::Instant;

use onnx_embed::{Array, Device, OnnxModel, Value, Values, onnx_model, with_memory_limit};

use crate::{floats, ints, message, one, zeros};

onnx_model! { struct Held = "../../models/held.onnx"; }

/// Returns inputs that need little memory.
fn fine() -> Values {
    Values::from([
        ("picture", zeros(&[1, 1, 8, 8]).into()),
        ("regions", zeros(&[1, 4]).into()),
        ("of", ints(&[0])),
        ("boxes", zeros(&[1, 2, 4]).into()),
        ("scores", zeros(&[1, 1, 2]).into()),
        ("share", one(0.5f32)),
        ("x", zeros(&[1, 2, 5, 5]).into()),
        ("weight", zeros(&[1, 2, 3, 3]).into()),
        ("offset", zeros(&[1, 18, 3, 3]).into()),
        ("grid", zeros(&[1, 2, 2, 2]).into()),
        ("query", zeros(&[1, 1, 2, 4]).into()),
        ("key", zeros(&[1, 1, 3, 4]).into()),
        ("texts", Array::vector(["ab,c".to_owned()]).into()),
        ("samples", zeros(&[1, 4]).into()),
        ("points", zeros(&[5, 4]).into()),
    ])
}

/// Returns the message of the model with these inputs replaced, with a memory limit of 1 MiB.
fn answer(others: Vec<(&str, Value)>) -> String {
    let mut inputs = fine();
    for (name, value) in others {
        inputs.insert(name, value);
    }
    with_memory_limit(1 << 20, || message(Held::new(&Device::flex()).run(inputs)))
}

fn regions(all: &[[f32; 4]]) -> Vec<(&'static str, Value)> {
    let flat = floats(&all.concat()).tensor().unwrap().clone().try_into_vec::<f32>().unwrap();
    let regions = onnx_embed::TensorData::new(flat, [all.len(), 4]);
    vec![("regions", regions.into()), ("of", ints(&vec![0; all.len()]))]
}

#[test]
fn little_is_answered() {
    assert_eq!(answer(Vec::new()), "no error");
}

#[test]
fn regions_of_any_size() {
    let begin = Instant::now();
    let ends = [2e4, 1e5, 1e12, f32::MAX, f32::INFINITY, f32::NAN, -1e12];
    let all = ends.map(|end| [-end, 0.0, end, end]);
    assert_eq!(answer(regions(&all)), "no error");
    assert!(begin.elapsed().as_secs() < 10);
}

#[test]
fn boxes_of_which_all_are_kept() {
    let count = 20_000;
    let boxes: Vec<f32> = (0..count).flat_map(|at| [0.0, at as f32, 1.0, at as f32 + 1.0]).collect();
    let boxes = onnx_embed::TensorData::new(boxes, [1, count, 4]);
    let begin = Instant::now();
    let found = answer(vec![("boxes", boxes.into()), ("scores", zeros(&[1, 1, count]).into())]);
    assert_eq!(found, "no error");
    assert!(begin.elapsed().as_secs() < 10);
    for share in [-0.5f32, 1.5, f32::NAN] {
        let expected = format!(
            "cannot run `/kept/NonMaxSuppression` (NonMaxSuppression): expected an IoU threshold from 0 to \
             1, found {share}"
        );
        assert_eq!(answer(vec![("share", one(share))]), expected);
    }
}

#[test]
fn nearest_of_many_points() {
    let count = 100_000;
    let points: Vec<f32> = (0..count).flat_map(|at| [at as f32, 0.0, 0.0, 1.0]).collect();
    let mut inputs = fine();
    inputs.insert("points", Value::from(onnx_embed::TensorData::new(points, [count, 4])));
    let samples = vec![70_000.2f32, 0.0, 0.0, 0.0, -5.0, 0.0, 0.0, 1.0];
    inputs.insert("samples", Value::from(onnx_embed::TensorData::new(samples, [2, 4])));
    let begin = Instant::now();
    let mut outputs = Held::new(&Device::flex()).run(inputs).unwrap();
    assert!(begin.elapsed().as_secs() < 5);
    let neighbours = outputs.remove("neighbours").unwrap();
    let expected = [70_000i64, 70_001, 69_999, 0, 1, 2];
    assert_eq!(neighbours.tensor().unwrap().try_to_vec::<i64>().unwrap(), expected);
}

#[test]
fn intermediate_results_above_the_memory_limit() {
    let check = |others: Vec<(&str, Value)>, node: &str, shape: &str| {
        let (found, limit) = (answer(others), "the memory limit is 1.0 MiB");
        let begin = format!("cannot run `/{node}` (");
        assert!(found.starts_with(&begin), "{found}");
        assert!(found.contains(shape) && found.ends_with(limit), "{found}");
    };
    let moved = vec![
        ("x", zeros(&[1, 4, 66, 66]).into()),
        ("weight", zeros(&[1, 4, 3, 3]).into()),
        ("offset", zeros(&[1, 18, 64, 64]).into()),
    ];
    check(moved, "moved/DeformConv", "shape [1, 4, 9, 4096] requires");
    let read = vec![
        ("x", zeros(&[1, 64, 3, 3]).into()),
        ("weight", zeros(&[1, 64, 3, 3]).into()),
        ("offset", zeros(&[1, 18, 1, 1]).into()),
        ("grid", zeros(&[1, 64, 64, 2]).into()),
    ];
    check(read, "read/GridSample", "shape [1, 64, 64, 64] requires");
    let long = || vec![("query", zeros(&[1, 1, 2000, 4]).into()), ("key", zeros(&[1, 1, 2000, 4]).into())];
    let found = answer(long());
    assert!(
        found.contains("shape [1, 2000, 2000] requires 30.5 MiB, the memory limit is 1.0 MiB"),
        "{found}"
    );
    let texts = |text: String| {
        let mut texts = vec![String::new(); 1000];
        texts[0] = text;
        vec![("texts", Array::vector(texts).into())]
    };
    check(texts("a".repeat(100)), "tokens/Tokenizer", "shape [1000, 100] requires");
}
