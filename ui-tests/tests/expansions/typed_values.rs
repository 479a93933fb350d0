//! Values as programs create, read and print them.

use onnx_embed::{Device, Error, OnnxModel, Tensor, Value, Values, onnx_model};

use crate::panic_of;

onnx_model! { struct Digits = "../../../examples/mnist/mnist.onnx"; }
onnx_model! { struct Pair = "../../models/pair.onnx"; }
onnx_model! { struct Iris = "../../models/iris.onnx"; }
onnx_model! { struct Scalars = "../../models/scalars.onnx"; }
onnx_model! { struct Rows = "../../models/rows.onnx"; }

const FLOWERS: [[f32; 4]; 2] = [[5.1, 3.5, 1.4, 0.2], [6.0, 2.2, 4.0, 1.0]];

fn flowers() -> Tensor<2> {
    Tensor::from_data(FLOWERS, &Device::flex())
}

#[test]
fn pixels_become_a_digit() -> Result<(), Error> {
    let image = vec![0.0f32; 28 * 28];
    let inputs = Values::new().with("image", (image, [1, 1, 28, 28]));
    let outputs = Digits::default().run(inputs)?;
    let probabilities = outputs["probabilities"].to_vec::<f32>()?;
    assert_eq!(outputs["probabilities"].shape(), Some(&[1, 10][..]));
    let sum: f32 = probabilities.iter().sum();
    assert!((sum - 1.0).abs() < 1e-5, "{probabilities:?}");
    Ok(())
}

#[test]
fn rows_are_arrays_and_tensors_alike() -> Result<(), Error> {
    let model = Iris::default();
    let of_arrays = model.run(Values::new().with("features", FLOWERS))?;
    let of_tensor = model.run(Values::new().with("features", flowers()))?;
    assert_eq!(of_arrays, of_tensor);
    assert_eq!(of_arrays["label"].to_vec::<String>()?, ["setosa", "versicolor"]);
    assert_eq!(
        of_arrays["label"].to_vec::<i64>().unwrap_err().to_string(),
        "the value is string[2], expected a tensor of int64: use `to_vec::<String>()`"
    );
    Ok(())
}

#[test]
fn numbers_of_several_types_are_inputs_of_one_model() -> Result<(), Error> {
    let inputs = Values::new().with("x", 1.5f32).with("k", 7i64);
    let outputs = Scalars::default().run(inputs)?;
    assert_eq!(outputs.to_string(), "y: float32 = 3\nj: int64 = 49");
    Ok(())
}

#[test]
fn outputs_print_their_numbers() -> Result<(), Error> {
    let output = Iris::default().forward(flowers());
    assert_eq!(
        format!("{output:?}"),
        r#"IrisOutput { label: string[2] = ["setosa", "versicolor"], probabilities: float32[2, 3] = [[0.9714, 0.0286, 2.956e-5], [0.0103, 0.8817, 0.108]] }"#
    );
    assert_eq!(
        output.to_string(),
        "label: string[2] = [\"setosa\", \"versicolor\"]\n\
         probabilities: float32[2, 3] = [[0.9714, 0.0286, 2.956e-5], [0.0103, 0.8817, 0.108]]"
    );
    let outputs = Iris::default().run(Values::new().with("features", FLOWERS))?;
    assert_eq!(outputs.to_string(), output.to_string());
    Ok(())
}

#[test]
fn misspelled_names_are_answered_with_the_right_ones() -> Result<(), Error> {
    let model = Iris::default();
    let refused = model.run(Values::new().with("feature", FLOWERS));
    assert_eq!(refused.unwrap_err().to_string(), "unexpected input `feature`: did you mean `features`?");
    let outputs = model.run(Values::new().with("features", FLOWERS))?;
    assert_eq!(
        panic_of(|| outputs["probabilites"].clone()),
        "no value `probabilites`: did you mean `probabilities`?"
    );
    Ok(())
}

#[test]
fn what_forward_panics_with_is_an_error_of_its_type() {
    let wide: Tensor<2> = Tensor::from_data([[1.0f32; 5]], &Device::flex());
    match Iris::default().try_forward(wide) {
        Err(Error::WrongShape { name: "features", found, .. }) => assert_eq!(found, [1, 5]),
        other => panic!("{other:?}"),
    }
    let device = Device::flex();
    let ids = Tensor::from_data([99i64], &device);
    let error = Rows::new(&device).try_forward(ids).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot run `/emb/Gather` (Gather): index 99 is out of bounds for axis 0 of size 50"
    );
    let (a, b) = (wide_rows(2), wide_rows(3));
    let error = Pair::default().try_forward(PairInput { a, b }).unwrap_err();
    assert_eq!(error.to_string(), "size `batch` is 2 in `a` but 3 in `b`");
    let (a, b) = (wide_rows(2), wide_rows(2));
    let output = Pair::default().try_forward(PairInput { a, b }).unwrap();
    assert_eq!(output.total.dims(), [2, 3]);
}

fn wide_rows(rows: usize) -> Tensor<2> {
    Tensor::ones([rows, 3], &Device::flex())
}

#[test]
fn sequences_and_optionals_are_values_too() {
    let items = vec![Value::from([1i64]), Value::from([2i64, 3])];
    let values = Values::new().with("xs", items).with("past", None::<Value>);
    assert_eq!(values.to_string(), "xs: sequence(int64[..]) = [[1], [2, 3]]\npast: optional() = none");
}
