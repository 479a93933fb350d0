//! Intermediate values as outputs of a model.

use onnx_embed::{Device, OnnxModel, Tensor, TracedModel, Values, onnx_model};

use crate::{rows, values};

onnx_model! {
    #[onnx(outputs("r"))]
    struct Features = "../../models/perceptron.onnx";
}

onnx_model! {
    #[onnx(outputs("h", ..))]
    struct Whole = "../../models/perceptron.onnx";
}

onnx_model! {
    #[onnx(outputs("/conv2/Conv_output_0", "/flatten/Flatten_output_0"))]
    struct Maps = "../../../examples/mnist/mnist.onnx";
}

onnx_model! {
    #[onnx(trace, simplify = false)]
    struct Digits = "../../../examples/mnist/mnist.onnx";
}

onnx_model! {
    #[onnx(outputs(total))]
    struct Total = "../../models/pair.onnx";
}

const X: [[f32; 3]; 2] = [[1.0, 2.0, 3.0], [0.0, -1.0, 0.5]];
/// Output of the first layer, computed by numpy.
const HIDDEN: [f32; 8] = [7.0, 2.0, -1.0, 4.0, 1.0, 0.0, -1.5, -0.5];

#[test]
fn a_classifier_gives_the_features_before_its_head() {
    let features: Tensor<2> = Features::new(&Device::flex()).forward(rows(X));
    assert_eq!(values(features), HIDDEN.map(|value| value.max(0.0)));
    let signature = Features::SIGNATURE.to_string();
    assert_eq!(signature, "(x: float32[batch, 3]) -> (r: float32[batch, 4])");
}

#[test]
fn two_dots_keep_the_outputs_of_the_file() {
    let output: WholeOutput = Whole::new(&Device::flex()).forward(rows(X));
    assert_eq!(values(output.h), HIDDEN);
    assert_eq!(output.y.dims(), [2, 2]);
}

#[test]
fn values_that_would_be_fused_are_those_of_the_plain_graph() {
    let device = Device::flex();
    let image = Tensor::<4>::from_data(
        onnx_embed::TensorData::new(
            (0..784).map(|at| (at % 29) as f32 / 29.0).collect::<Vec<_>>(),
            [1, 1, 28, 28],
        ),
        &device,
    );
    let inputs = Values::from([("image", image.clone().into_data())]);
    let all = Digits::new(&device).trace_all(inputs).unwrap();
    let maps: MapsOutput = Maps::new(&device).forward(image);
    assert_eq!(maps.conv2_conv_output_0.dims(), [1, 16, 14, 14]);
    let near = |found: Vec<f32>, name: &str| {
        let expected = all[name].tensor().unwrap().clone().try_to_vec::<f32>().unwrap();
        let pairs = found.iter().zip(&expected);
        let far = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(found.len() == expected.len() && far < 1e-4, "{name}: {far}");
    };
    near(values(maps.conv2_conv_output_0), "/conv2/Conv_output_0");
    near(values(maps.flatten_flatten_output_0), "/flatten/Flatten_output_0");
}

#[test]
fn inputs_that_the_outputs_need_stay() {
    let signature = Total::SIGNATURE.to_string();
    assert!(signature.starts_with("(a: float32") && signature.contains("b: float32"), "{signature}");
}
