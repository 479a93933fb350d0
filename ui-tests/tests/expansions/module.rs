//! Models as Burn modules.

use onnx_embed::burn::module::Module;
use onnx_embed::burn::store::ModuleRecord;
use onnx_embed::{Device, onnx_model};

use crate::{rows, values};

onnx_model! { struct Perceptron = "../../models/perceptron.onnx"; }

/// A module that contains a model.
#[derive(Module, Debug)]
struct Doubled {
    first: Perceptron,
}

use onnx_embed::burn;

const X: [[f32; 3]; 2] = [[1.0, 2.0, 3.0], [0.0, -1.0, 0.5]];

fn y(model: &Perceptron) -> Vec<f32> {
    values(model.forward(rows(X)))
}

#[test]
fn a_record_carries_the_weights() {
    let device = Device::flex();
    let other = include_bytes!("../../models/perceptron_other_weights.onnx");
    let other = Perceptron::from_bytes(other, &device).unwrap();
    let model = Perceptron::new(&device);
    assert_ne!(y(&other), y(&model));
    let record = model.clone().into_record().into_bytes().unwrap();
    let record = ModuleRecord::from_bytes(record).unwrap();
    assert_eq!(y(&other.load_record(record)), y(&model));
}

#[test]
fn a_model_moves_and_counts_its_parameters() {
    let device = Device::flex();
    let model = Perceptron::new(&device).fork(&device).to_device(&device);
    assert_eq!(model.num_params(), 12 + 4 + 8 + 2);
    assert_eq!(model.devices(), [device]);
    assert_eq!(y(&model), [3.5, 9.5, 1.5, -0.5]);
}

#[test]
fn a_model_is_a_part_of_another_module() {
    let device = Device::flex();
    let doubled = Doubled { first: Perceptron::new(&device) };
    assert_eq!(doubled.num_params(), 26);
    let record = doubled.into_record().into_bytes().unwrap();
    let name = b"first.hidden.weight";
    assert!(record.windows(name.len()).any(|found| found == name));
}

#[test]
fn a_model_prints_its_layers() {
    let text = Perceptron::new(&Device::flex()).to_string();
    assert!(text.contains("hidden"), "{text}");
}

#[cfg(feature = "autodiff")]
mod training {
    use onnx_embed::burn::module::{Module, ModuleMapper, Param};
    use onnx_embed::burn::tensor::Gradients;
    use onnx_embed::{Device, Tensor, TensorData};

    use super::{Perceptron, X};

    /// A step of gradient descent.
    struct Step<'a>(&'a Gradients);

    impl ModuleMapper for Step<'_> {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            let gradient = param.val().grad(self.0).unwrap();
            param.map(|tensor| {
                let stepped = tensor.inner() - gradient * 0.01;
                Tensor::from_inner(stepped).require_grad()
            })
        }
    }

    #[test]
    fn every_parameter_learns() {
        let mut model = Perceptron::new(&Device::flex()).train();
        let device = model.devices().remove(0);
        let mut losses = Vec::new();
        for _ in 0..5 {
            let x: Tensor<2> = Tensor::from_data(TensorData::from(X), &device);
            let y = model.forward(x);
            let loss = (y.clone() * y).mean();
            losses.push(loss.clone().into_scalar::<f32>());
            let gradients = loss.backward();
            model = model.map(&mut Step(&gradients));
        }
        let falls = losses.is_sorted_by(|earlier, later| earlier > later);
        assert!(falls, "{losses:?}");
    }
}
