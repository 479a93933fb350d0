//! Operators that are computed by functions of the program.

mod operators {
    use onnx_embed::{Array, Int, Tensor};

    /// Returns `y * sigmoid(beta * y)` of `y = x + bias`.
    pub fn bias_swish(x: Tensor<2>, bias: Tensor<1>, beta: f32, mode: &str, steps: &[i64]) -> Tensor<2> {
        assert_eq!((mode, steps), ("fast", &[2, 3][..]));
        let y = x + bias.unsqueeze();
        y.clone() * sigmoid(y * beta)
    }

    /// Returns `x * factor + bias` for tensors of any rank. Both weights may be absent.
    pub fn scaled<const D: usize>(x: Tensor<D>, bias: Option<Tensor<1>>, factor: Option<f32>) -> Tensor<D> {
        let x = x * factor.unwrap_or(1.0);
        match bias {
            Some(bias) => x + bias.unsqueeze(),
            None => x,
        }
    }

    pub fn top(x: Tensor<2>, count: i64) -> (Tensor<2>, Tensor<2, Int>) {
        x.topk_with_indices(count as usize, 1)
    }

    /// Returns one column too many.
    pub fn too_wide(x: Tensor<2>, count: i64) -> (Tensor<2>, Tensor<2, Int>) {
        top(x, count + 1)
    }

    /// Returns the elements above zero.
    pub fn positive(x: Tensor<2>) -> Tensor<1> {
        let positive = x.clone().greater_scalar(0).flatten::<1>(0, 1).argwhere().squeeze_dim(1);
        x.flatten::<1>(0, 1).select(0, positive)
    }

    /// Returns the index of each letter in the alphabet.
    pub fn letters(text: Array<String>) -> Array<i64> {
        let length = text.data().iter().map(String::len).max().unwrap_or(0);
        let rows = text.data().iter();
        let ids = rows.flat_map(|row| row.bytes().map(|letter| i64::from(letter - b'a')));
        Array::new([text.len(), length], ids.collect())
    }

    pub fn negative(x: Tensor<1>) -> Tensor<1> {
        -x
    }

    fn sigmoid(x: Tensor<2>) -> Tensor<2> {
        onnx_embed::burn::tensor::activation::sigmoid(x)
    }
}

use onnx_embed::{Array, Device, OnnxModel, Tensor, TensorData, Value, Values};

mod swish {
    onnx_embed::onnx_model! {
        #[onnx(ops("my.company.BiasSwish" = crate::operators::bias_swish))]
        pub struct Model = "../../models/custom.onnx";
    }
}

mod swish_half {
    onnx_embed::onnx_model! {
        #[onnx(ops("my.company.BiasSwish" = crate::operators::bias_swish), precision = "f16", train = true)]
        pub struct Model = "../../models/custom.onnx";
    }
}

mod branches {
    use crate::operators::scaled;

    // A path without `crate` is relative to the module of the call.
    onnx_embed::onnx_model! {
        #[onnx(ops("my.company.Scaled" = scaled), simplify = false)]
        pub struct Model = "../../models/custom_branches.onnx";
    }
}

mod results {
    onnx_embed::onnx_model! {
        #[onnx(ops(
            "my.company.Top" = super::operators::top -> ([batch, 2], int64[batch, 2]),
            "my.company.Positive" = super::operators::positive -> [found],
        ))]
        pub struct Model = "../../models/custom_results.onnx";
    }
}

mod wide {
    onnx_embed::onnx_model! {
        #[onnx(ops(
            "my.company.Top" = crate::operators::too_wide -> ([_, 2], int64[_, 2]),
            "my.company.Positive" = crate::operators::positive -> float32[found],
        ))]
        pub struct Model = "../../models/custom_results.onnx";
    }
}

mod text {
    onnx_embed::onnx_model! {
        #[onnx(ops("my.company.Letters" = crate::operators::letters -> int64[batch, length]))]
        pub struct Model = "../../models/custom_text.onnx";
    }
}

mod function {
    onnx_embed::onnx_model! {
        #[onnx(ops("my.company.Act" = crate::operators::negative))]
        pub struct Model = "../../models/custom_function.onnx";
    }
}

fn tensor<const D: usize>(data: impl Into<TensorData>) -> Tensor<D> {
    Tensor::from_data(data.into(), &Device::flex())
}

fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().unwrap()
}

/// Returns the result of the model `custom` for one row.
fn expected(x: [f32; 3]) -> Vec<f32> {
    let biased = x.iter().zip([0.5, -0.5, 1.0]).map(|(x, bias)| x + bias);
    biased.map(|y| 2.0 * y / (1.0 + (-1.5 * y).exp())).collect()
}

fn assert_near(found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
    }
}

#[test]
fn a_function_gets_weights_and_attributes() {
    let model = swish::Model::new(&Device::flex());
    let x = [1.0, -2.0, 0.25];
    assert_near(&numbers(model.forward(tensor([x]))), &expected(x), 1e-6);
    let values = model.run(Values::from([("x", TensorData::from([x]))])).unwrap();
    let y = values["y"].tensor().unwrap().try_to_vec::<f32>().unwrap();
    assert_near(&y, &expected(x), 1e-6);
}

#[test]
fn weights_that_a_function_gets_are_parameters() {
    let model = swish_half::Model::new(&Device::flex());
    let names = swish_half::Model::PARAMETERS.iter();
    let names: Vec<&str> = names.map(|parameter| parameter.name).collect();
    assert_eq!(names, ["weight", "bias", "twice"]);
    let x = [1.0, -2.0, 0.25];
    assert_near(&numbers(model.forward(tensor([x]))), &expected(x), 1e-2);
}

#[test]
fn what_some_nodes_leave_out_is_an_option() {
    let model = branches::Model::new(&Device::flex());
    let x = || tensor::<2>([[1.0, 2.0, 3.0]]);
    let run = |fast| numbers(model.forward(branches::ModelInput { x: x(), fast }));
    assert_eq!(run(true), [3.0, 6.0, 9.0]);
    assert_eq!(run(false), [1.0, 2.0, 3.0]);
}

#[test]
fn several_results_and_sizes_that_only_the_function_knows() {
    let model = results::Model::new(&Device::flex());
    let y = model.forward(tensor([[1.0, -5.0, 3.0], [-1.0, 0.5, -2.0]]));
    assert_eq!(numbers(y.largest), [3.0, 1.0, 0.5, -1.0]);
    assert_eq!(y.at.into_data(), TensorData::from([[2i64, 0], [1, 0]]));
    assert_eq!(numbers(y.twice), [2.0, 6.0, 1.0]);
}

#[test]
fn a_function_that_gives_other_sizes_fails_under_the_name_of_its_node() {
    let model = wide::Model::new(&Device::flex());
    let x = Value::from(TensorData::from([[1f32, -5.0, 3.0], [-1.0, 0.5, -2.0]]));
    assert_eq!(
        model.run(Values::from([("x", x)])).unwrap_err().to_string(),
        "cannot run `largest` (my.company.Top): the function returned shape [2, 3] for result 0, expected \
         [2, 2]"
    );
}

#[test]
fn a_function_of_text_gives_arrays() {
    let model = text::Model::new(&Device::flex());
    let y = model.forward(Array::vector(["ab".to_owned(), "ca".to_owned()]));
    assert_eq!(y.ids.into_data(), TensorData::from([[0i64, 1], [2, 0]]));
    assert_eq!(numbers(y.rows), [0.0, 1.0, 10.0, 11.0, 20.0, 21.0, 0.0, 1.0]);
}

#[test]
fn a_function_comes_before_that_of_the_model() {
    let model = function::Model::new(&Device::flex());
    assert_eq!(numbers(model.forward(tensor([1.0, -2.0]))), [-1.0, 2.0]);
}
