//! Models that trace the values of a run.

use onnx_embed::{Device, OnnxModel, TensorData, TracedModel, Values, onnx_model};

onnx_model! {
    #[onnx(trace)]
    struct Digits = "../../../examples/mnist/mnist.onnx";
}

onnx_model! {
    #[onnx(trace)]
    struct Steered = "../../models/steered.onnx";
}

/// Returns names, sizes and nodes of the values of a run.
fn lines(model: &impl TracedModel, inputs: Values) -> Vec<String> {
    let mut lines = Vec::new();
    let run = model.trace(inputs, |value| {
        let (name, node, operator) = (value.name(), value.node(), value.operator());
        let shape = value.shape().unwrap_or_default();
        assert_eq!(value.read().unwrap().tensor().map_or(shape.clone(), |data| data.shape().to_vec()), shape);
        lines.push(format!("{name} {shape:?} by {node} ({operator})"));
    });
    if let Err(error) = run {
        lines.push(error.to_string());
    }
    lines
}

#[test]
fn every_value_comes_with_its_node() {
    let image = TensorData::new(vec![0.5f32; 784], [1, 1, 28, 28]);
    let found = lines(&Digits::new(&Device::flex()), Values::from([("image", image)]));
    let expected = [
        "/relu1/Relu_output_0 [1, 8, 28, 28] by /conv1/Conv (com.microsoft.FusedConv)",
        "/pool1/MaxPool_output_0 [1, 8, 14, 14] by /pool1/MaxPool (MaxPool)",
        "/relu2/Relu_output_0 [1, 16, 14, 14] by /conv2/Conv (com.microsoft.FusedConv)",
        "/pool2/MaxPool_output_0 [1, 16, 7, 7] by /pool2/MaxPool (MaxPool)",
        "/flatten/Flatten_output_0 [1, 784] by /flatten/Flatten (Flatten)",
        "/linear/Gemm_output_0 [1, 10] by /linear/Gemm (Gemm)",
        "probabilities [1, 10] by /softmax/Softmax (Softmax)",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_traced_model_gives_what_others_give() {
    let image = || Values::from([("image", TensorData::new(vec![0.5f32; 784], [1, 1, 28, 28]))]);
    let model = Digits::new(&Device::flex());
    let traced = model.trace(image(), |_| {}).unwrap();
    assert_eq!(traced, model.run(image()).unwrap());
    let all = model.trace_all(image()).unwrap();
    assert_eq!(all["probabilities"], traced["probabilities"]);
}

#[test]
fn values_in_branches_and_loops_are_shown_as_often_as_they_are_computed() {
    let x = TensorData::from([1.0f32, 2.0, 1.0, 1.0]);
    let model = Steered::new(&Device::flex());
    let found = lines(&model, Values::from([("x", x.clone())]));
    let iteration = [
        "picked [] by /pick/Gather (Gather)",
        "squared [] by /model/Mul (Mul)",
        "step [] by /model/Add (Add)",
        "shared [4] by /model/Softmax (Softmax)",
        "moved [4] by /model/Add (Add)",
        "larger [4] by /model/Add (Add)",
        "total [] by /model/ReduceSum (ReduceSum)",
        "after [] by /model/Less (Less)",
    ];
    let mut expected = vec![
        "shares [4] by /model/Softmax (Softmax)",
        "weighted [4] by /model/Mul (Mul)",
        "sum [] by /model/ReduceSum (ReduceSum)",
        "positive [] by /model/Greater (Greater)",
        "a [4] by /model/Mul (Mul)",
        "y [4] by /model/If (If)",
    ];
    expected.extend(iteration);
    expected.extend(iteration);
    expected.extend(["steps [] by /grow/Loop (Loop)", "z [4] by /grow/Loop (Loop)"]);
    assert_eq!(found, expected);
    let all = model.trace_all(Values::from([("x", x)])).unwrap();
    let (first, second) = (all["larger"].tensor().unwrap(), all["larger#2"].tensor().unwrap());
    assert_ne!(first, second);
    assert_eq!(all["z"].tensor(), Some(second));
}
