//! Steps of training.

use std::collections::BTreeMap;

use onnx_embed::burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use onnx_embed::burn::tensor::Gradients;
use onnx_embed::{Device, Int, OnnxModel, Tensor, TensorData};

use crate::values;

use super::{
    SHARED, anchor_grid, check_parameters, conv_norm, conv_norm_half, equal_scales, layer_scale, numbers,
    shared_blocks, tied_embedding,
};

/// A step of gradient descent. It takes gradients as Burn's optimizers do: the first parameter of an id gets the
/// gradient.
struct Step<'a> {
    gradients: &'a mut Gradients,
    /// By the path of each parameter, `true` if it had a gradient.
    learned: BTreeMap<String, bool>,
    at: Vec<String>,
}

impl ModuleMapper for Step<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.at.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.at.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let gradient = if param.is_require_grad() { param.val().grad_remove(self.gradients) } else { None };
        self.learned.insert(self.at.join("."), gradient.is_some());
        let Some(gradient) = gradient else {
            return param;
        };
        param.map(|tensor| Tensor::from_inner(tensor.inner() - gradient * 0.01).require_grad())
    }
}

/// Trains a model for some steps. Each trained parameter must have a gradient, and the loss must fall.
fn train<M: OnnxModel + Module, const D: usize>(model: M, forward: impl Fn(&M, &Device) -> Tensor<D>) -> M {
    let mut model = model.train();
    let device = model.devices().remove(0);
    let mut losses = Vec::new();
    for _ in 0..5 {
        let y = forward(&model, &device);
        let loss = (y.clone() * y).mean();
        losses.push(loss.clone().into_scalar::<f32>());
        let mut gradients = loss.backward();
        let mut step = Step { gradients: &mut gradients, learned: BTreeMap::new(), at: Vec::new() };
        model = model.map(&mut step);
        for parameter in M::PARAMETERS {
            let learned = step.learned.get(parameter.path);
            assert_eq!(learned, Some(&parameter.trained), "{}", parameter.name);
        }
    }
    let falls = losses.is_sorted_by(|earlier, later| earlier > later);
    assert!(falls, "{losses:?}");
    model
}

/// Elements of parameters by path.
#[derive(Default)]
struct Elements {
    at: Vec<String>,
    all: BTreeMap<String, Vec<f32>>,
}

impl ModuleVisitor for Elements {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.at.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.at.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.all.insert(self.at.join("."), values(param.val()));
    }
}

/// Returns the elements of the parameter with this name.
fn parameter<M: OnnxModel + Module>(model: &M, name: &str) -> Vec<f32> {
    let mut elements = Elements::default();
    model.visit(&mut elements);
    let parameter = M::PARAMETERS.iter().find(|parameter| parameter.name == name).unwrap();
    elements.all.remove(parameter.path).unwrap()
}

fn tensor<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(numbers(shape), device)
}

#[test]
fn equal_scales_learn_on_their_own() {
    let model = equal_scales::Trained::new(&Device::flex());
    let [first, second] = ["first.scale", "second.scale"].map(|name| parameter(&model, name));
    assert_eq!(first, second);
    let trained = train(model, |model, device| model.forward(tensor([3, 4], device)));
    let [first, second] = ["first.scale", "second.scale"].map(|name| parameter(&trained, name));
    assert_ne!(first, second);
}

#[test]
fn a_scale_of_ones_learns() {
    let model = layer_scale::Trained::new(&Device::flex());
    let trained = train(model, |model, device| model.forward(tensor([3, 4], device)));
    assert_ne!(parameter(&trained, "gamma"), [1.0; 4]);
}

#[test]
fn a_tied_weight_stays_tied() {
    let model = tied_embedding::Trained::new(&Device::flex());
    let ids = TensorData::from([[0i64, 3, 10], [7, 7, 1]]);
    let trained =
        train(model, |model, device| model.forward(Tensor::<2, Int>::from_data(ids.clone(), device)));
    let initializers: &[(&str, &[usize])] =
        &[("embedding.weight", &[11, 6]), ("layer.bias", &[6]), ("layer.weight", &[6, 6])];
    check_parameters(&trained, initializers);
}

#[test]
fn a_weight_that_modules_share_stays_shared() {
    let model = shared_blocks::Trained::new(&Device::flex());
    let ids = TensorData::from([[0i64, 3, 10], [7, 7, 1]]);
    let trained = train(model, |model, device| {
        model.forward(shared_blocks::TrainedInput { ids: Tensor::from_data(ids.clone(), device), up: true })
    });
    check_parameters(&trained, SHARED);
}

#[test]
fn statistics_stay_what_they_are() {
    let model = conv_norm::Trained::new(&Device::flex());
    let before = parameter(&model, "norm.mean");
    let shape = [2, 2, 6, 6];
    let trained = train(model, |model, device| model.forward(tensor(shape, device)));
    assert_eq!(parameter(&trained, "norm.mean"), before);
}

#[test]
fn parameters_learn_that_are_converted_at_each_call() {
    let model = conv_norm_half::Trained::new(&Device::flex());
    let shape = [2, 2, 6, 6];
    train(model, |model, device| model.forward(tensor(shape, device)));
}

#[test]
fn a_grid_stays_what_it_is() {
    let model = anchor_grid::Trained::new(&Device::flex());
    let shape = [2, 3, 40];
    train(model, |model, device| model.forward(tensor(shape, device)));
}
