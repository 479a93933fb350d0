//! Constants in all parts of a file that may contain them.

use onnx_embed::{Device, OnnxModel, TensorData, onnx_model};

use crate::{rows, values, vector};

onnx_model! { struct Listed = "../../models/listed_initializer.onnx"; }
onnx_model! { struct Encodings = "../../models/encodings.onnx"; }
onnx_model! { struct Sparse = "../../models/sparse.onnx"; }
onnx_model! { struct External = "../../models/external.onnx"; }
onnx_model! { struct Functions = "../../models/functions.onnx"; }

#[test]
fn an_initializer_listed_as_input_is_a_constant() {
    assert_eq!(Listed::SIGNATURE.to_string(), "(x: float32[2]) -> (y: float32[2])");
    let y = Listed::new(&Device::flex()).forward(vector([1.0, 1.0]));
    assert_eq!(values(y), [2.0, 3.0]);
}

#[test]
fn every_field_of_numbers_is_read() {
    let outputs = Encodings::new(&Device::flex()).run(Default::default()).unwrap();
    let check = |name: &str, expected: TensorData| {
        assert_eq!(outputs[name].tensor(), Some(&expected), "{name}");
    };
    check("float_data_out", TensorData::from([1.5f32, -2.0]));
    check("double_data_out", TensorData::from([1.5f64, -2.0]));
    check("int64_data_out", TensorData::from([-3i64, 1 << 40]));
    check("uint64_data_out", TensorData::from([3u64, 1 << 40]));
    check("int32_out", TensorData::from([-3i32, 4]));
    check("int8_out", TensorData::from([-3i8, 4]));
    check("uint8_out", TensorData::from([200u8, 4]));
    check("bool_out", TensorData::from([true, false]));
    let floats = |name: &str| {
        let data = outputs[name].tensor().unwrap();
        data.iter::<f32>().collect::<Vec<_>>()
    };
    assert_eq!(floats("float16_out"), [1.5, -2.0]);
    assert_eq!(floats("bfloat16_out"), [1.5, -2.0]);
}

#[test]
fn sparse_constants_are_zero_elsewhere() {
    let y = Sparse::new(&Device::flex()).forward(rows([[0.0; 3]; 2]));
    assert_eq!(values(y), [0.0, 5.0, 0.0, 0.0, 7.0, 9.0]);
}

#[test]
fn external_data_is_embedded_too() {
    let x = [[1.0, 2.0, 3.0], [0.0, -1.0, 0.5]];
    let y = External::new(&Device::flex()).forward(rows(x));
    assert_eq!(values(y), [3.5, 9.5, 1.5, -0.5]);
}

#[test]
fn files_of_a_model_in_pieces_are_counted() {
    let model = include_bytes!("../../models/external.onnx");
    let error = External::from_bytes(&[model], &Device::flex()).map(drop);
    assert_eq!(error.unwrap_err().to_string(), "the number of files is 1, expected 2");
    let weights = include_bytes!("../../models/weights/perceptron.bin");
    External::from_bytes(&[model, weights], &Device::flex()).unwrap();
}

#[test]
fn functions_take_attributes_defaults_and_absent_inputs() {
    let output = Functions::new(&Device::flex()).forward(rows([[1.0, 0.0], [0.0, 1.0]]));
    assert_eq!(values(output.y), [13.0, 26.0, 19.0, 32.0]);
    assert_eq!(values(output.z), [2.0, 4.0, 6.0, 8.0]);
}
