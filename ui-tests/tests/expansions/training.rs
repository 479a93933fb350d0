//! Models compiled for training have the parameters of their files.

#[cfg(feature = "autodiff")]
mod steps;

use std::collections::BTreeSet;

use onnx_embed::burn::module::{Module, ModuleVisitor, Param};
use onnx_embed::{Device, OnnxModel, Tensor, TensorData, Values};

use crate::values;

/// Defines a model for training and one for inference only.
macro_rules! model {
    ($name:ident, $file:literal) => {
        pub mod $name {
            onnx_embed::onnx_model! {
                #[onnx(train = true)]
                pub struct Trained = $file;
            }
            onnx_embed::onnx_model! {
                #[onnx(train = false)]
                pub struct Plain = $file;
            }
        }
    };
}

model!(equal_scales, "../../models/training/equal_scales.onnx");
model!(layer_scale, "../../models/training/layer_scale.onnx");
model!(tied_embedding, "../../models/training/tied_embedding.onnx");
model!(shared_blocks, "../../models/training/shared_blocks.onnx");
model!(conv_norm, "../../models/training/conv_norm.onnx");
model!(anchor_grid, "../../models/training/anchor_grid.onnx");

pub mod conv_norm_half {
    onnx_embed::onnx_model! {
        #[onnx(train = true, precision = "bf16")]
        pub struct Trained = "../../models/training/conv_norm.onnx";
    }
}

/// Parameters that a visitor finds in a module.
#[derive(Default)]
struct Found {
    at: Vec<String>,
    parameters: Vec<(String, usize)>,
    ids: BTreeSet<String>,
}

impl ModuleVisitor for Found {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.at.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.at.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let count = param.val().shape().num_elements();
        self.parameters.push((self.at.join("."), count));
        self.ids.insert(param.id.to_string());
    }
}

/// Compares the parameters of a model with the initializers of its file, sorted by name.
fn check_parameters<M: OnnxModel + Module>(model: &M, initializers: &[(&str, &[usize])]) {
    let mut parameters: Vec<(&str, &[usize])> =
        M::PARAMETERS.iter().map(|parameter| (parameter.name, parameter.shape)).collect();
    parameters.sort_unstable();
    assert_eq!(parameters, initializers);
    let mut found = Found::default();
    model.visit(&mut found);
    let listed: Vec<(String, usize)> = M::PARAMETERS
        .iter()
        .map(|parameter| (parameter.path.to_owned(), parameter.shape.iter().product()))
        .collect();
    let mut sorted = [found.parameters, listed];
    sorted.iter_mut().for_each(|list| list.sort_unstable());
    let [found_paths, listed] = sorted;
    assert_eq!(found_paths, listed);
    assert_eq!(found.ids.len(), listed.len());
    let count = initializers.iter().map(|(_, shape)| shape.iter().product::<usize>());
    assert_eq!(model.num_params(), count.sum::<usize>());
}

/// Compares the first outputs of two models.
fn check_outputs(a: &impl OnnxModel, b: &impl OnnxModel, input: &str, data: TensorData) {
    let run = |outputs: Result<Values, onnx_embed::Error>| {
        let outputs = outputs.unwrap();
        let (_, first) = outputs.iter().next().unwrap();
        first.tensor().unwrap().iter::<f32>().collect::<Vec<_>>()
    };
    let a = run(a.run(Values::from([(input, data.clone())])));
    let b = run(b.run(Values::from([(input, data)])));
    check_close(&a, &b);
}

fn check_close(a: &[f32], b: &[f32]) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0), "{a} is not {b}");
    }
}

/// Initializers of `shared_blocks.onnx`.
const SHARED: &[(&str, &[usize])] = &[
    ("decoder.bias", &[6]),
    ("decoder.weight", &[6, 6]),
    ("encoder.layer.bias", &[6]),
    ("encoder.layer.weight", &[6, 6]),
    ("gain", &[6]),
    ("table", &[11, 6]),
];

/// Returns numbers with 23 different values.
fn numbers<const D: usize>(shape: [usize; D]) -> TensorData {
    let count: usize = shape.iter().product();
    let values = (0..count).map(|at| ((at * 37 % 23) as f32 - 11.0) / 7.0);
    TensorData::new(values.collect(), shape)
}

#[test]
fn parameters_that_are_equal_are_several() {
    use equal_scales::{Plain, Trained};

    let device = Device::flex();
    let model = Trained::new(&device);
    let initializers: &[(&str, &[usize])] = &[
        ("first.bias", &[4]),
        ("first.norm.bias", &[4]),
        ("first.norm.weight", &[4]),
        ("first.scale", &[4]),
        ("first.weight", &[4, 4]),
        ("second.norm.bias", &[4]),
        ("second.norm.weight", &[4]),
        ("second.scale", &[4]),
    ];
    check_parameters(&model, initializers);
    check_outputs(&model, &Plain::new(&device), "x", numbers([3, 4]));
}

#[test]
fn parameters_that_change_nothing_stay() {
    use layer_scale::{Plain, Trained};

    let device = Device::flex();
    let model = Trained::new(&device);
    let initializers: &[(&str, &[usize])] = &[
        ("fc.bias", &[4]),
        ("fc.weight", &[4, 4]),
        ("gamma", &[4]),
        ("key.weight", &[4, 4]),
        ("query.weight", &[4, 4]),
        ("shift", &[4]),
    ];
    check_parameters(&model, initializers);
    check_outputs(&model, &Plain::new(&device), "x", numbers([3, 4]));
}

#[test]
fn a_parameter_that_several_layers_read_is_one() {
    use tied_embedding::{Plain, Trained};

    let device = Device::flex();
    let model = Trained::new(&device);
    let initializers: &[(&str, &[usize])] =
        &[("embedding.weight", &[11, 6]), ("layer.bias", &[6]), ("layer.weight", &[6, 6])];
    check_parameters(&model, initializers);
    let ids = TensorData::from([[0i64, 3, 10], [7, 7, 1]]);
    check_outputs(&model, &Plain::new(&device), "ids", ids);
}

#[test]
fn a_parameter_of_several_modules_is_one() {
    use shared_blocks::{Plain, PlainInput, Trained, TrainedInput};

    let device = Device::flex();
    let model = Trained::new(&device);
    check_parameters(&model, SHARED);
    let fixed = Plain::new(&device);
    for up in [true, false] {
        let ids = || Tensor::from_data(TensorData::from([[0i64, 3, 10]]), &device);
        let trained = values(model.forward(TrainedInput { ids: ids(), up }));
        let fixed = values(fixed.forward(PlainInput { ids: ids(), up }));
        check_close(&trained, &fixed);
    }
}

#[test]
fn statistics_are_parameters_without_gradients() {
    use conv_norm::{Plain, Trained};

    let device = Device::flex();
    let model = Trained::new(&device);
    let initializers: &[(&str, &[usize])] = &[
        ("conv.weight", &[5, 2, 3, 3]),
        ("head.bias", &[3]),
        ("head.weight", &[3, 5]),
        ("norm.bias", &[5]),
        ("norm.mean", &[5]),
        ("norm.variance", &[5]),
        ("norm.weight", &[5]),
    ];
    check_parameters(&model, initializers);
    let untrained = Trained::PARAMETERS.iter().filter(|parameter| !parameter.trained);
    let names: Vec<&str> = untrained.map(|parameter| parameter.name).collect();
    assert_eq!(names, ["norm.mean", "norm.variance"]);
    check_outputs(&model, &Plain::new(&device), "image", numbers([2, 2, 6, 6]));
}

#[test]
fn constants_of_nodes_are_no_parameters() {
    use anchor_grid::{Plain, Trained};

    let device = Device::flex();
    let model = Trained::new(&device);
    check_parameters(&model, &[("head.bias", &[2]), ("head.weight", &[2, 3, 1])]);
    check_outputs(&model, &Plain::new(&device), "x", numbers([2, 3, 40]));
}
