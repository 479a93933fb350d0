//! Fused and separate steps on quantized values return the same integers.

use onnx_embed::{Device, OnnxModel, TensorData, Value, Values, onnx_model};

onnx_model! {
    #[onnx(train = false)]
    struct Joined = "../../models/between_scales.onnx";
}
onnx_model! {
    #[onnx(simplify = false, train = false)]
    struct InSteps = "../../models/between_scales.onnx";
}

#[test]
fn joined_steps_give_the_integers_of_the_steps() {
    let device = Device::flex();
    let joined = Joined::new(&device).run(every_pair()).unwrap();
    let steps = InSteps::new(&device).run(every_pair()).unwrap();
    assert_eq!(joined.iter().count(), 11);
    for (name, expected) in steps.iter() {
        let (expected, found) = (numbers(Some(expected)), numbers(joined.get(name)));
        let differing = expected.iter().zip(&found).filter(|(a, b)| a != b).count();
        assert_eq!((differing, found.len()), (0, expected.len()), "{name}");
        let mut distinct = found;
        distinct.sort_unstable();
        distinct.dedup();
        assert!(distinct.len() > 30, "{name} has {} values", distinct.len());
    }
}

/// Returns all 8-bit integers and all pairs of them.
fn every_pair() -> Values {
    let unsigned: Vec<u8> = (0..=255).collect();
    let signed: Vec<i8> = (-128..=127).collect();
    let pairs = unsigned.iter().flat_map(|&a| unsigned.iter().flat_map(move |&b| [a, b]));
    let choice: Vec<bool> = (0..256).map(|at| at % 3 == 0).collect();
    let mut values = Values::new();
    let mut insert = |name: &str, data: TensorData| values.insert(name, Value::Tensor(data));
    insert("a", TensorData::new(unsigned.clone(), [256, 1]));
    insert("b", TensorData::new(unsigned.clone(), [1, 256]));
    insert("c", TensorData::new(signed.clone(), [256, 1]));
    insert("d", TensorData::new(signed, [1, 256]));
    insert("e", TensorData::new(choice, [256, 1]));
    insert("pairs", TensorData::new(pairs.collect::<Vec<u8>>(), [65536, 1, 2]));
    values
}

fn numbers(value: Option<&Value>) -> Vec<i32> {
    let data = value.and_then(Value::tensor);
    data.map(|data| data.iter::<i32>().collect()).unwrap_or_default()
}
