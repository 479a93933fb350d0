//! Fields of all kinds that generated modules have.

use onnx_embed::__private::{Anchor, device};
use onnx_embed::burn::module::{Module, Param};
use onnx_embed::burn::tensor::Shape;
use onnx_embed::{DType, Device, Int, Tensor, TensorData, burn};

#[derive(Module, Debug)]
struct Mixed {
    kernel: Param<Tensor<4>>,
    indices: Tensor<1, Int>,
    anchor: Anchor,
    layers: [Layer; 2],
}

#[derive(Module, Debug)]
struct Layer {
    scale: Param<Tensor<1>>,
}

#[derive(Module, Debug)]
struct Weightless {
    anchor: Anchor,
}

fn mixed(value: f32, device: &Device) -> Mixed {
    let layer = || Layer { scale: Param::from_data([value], device) };
    Mixed {
        kernel: Param::from_tensor(Tensor::full([1, 1, 2, 2], value, device)),
        indices: Tensor::from_data([1i64, 2], (device, DType::I64)),
        anchor: Anchor::new(device),
        layers: [layer(), layer()],
    }
}

#[test]
fn a_module_is_cloned_moved_and_printed() {
    let flex = Device::flex();
    let module = mixed(1.0, &flex).clone().to_device(&flex);
    assert_eq!(device(&module), flex);
    assert_eq!(module.indices.to_data(), TensorData::from([1i64, 2]));
    assert!(module.to_string().contains("kernel"));
}

#[test]
fn a_record_holds_the_parameters_alone() {
    let flex = Device::flex();
    let record = mixed(1.0, &flex).into_record();
    assert_eq!(record.len(), 3);
    let loaded = mixed(0.0, &flex).load_record(record);
    assert_eq!(loaded.kernel.val().into_data(), TensorData::full(Shape::from([1, 1, 2, 2]), 1.0f32));
    assert_eq!(loaded.num_params(), 6);
}

#[test]
fn a_module_without_weights_knows_its_device() {
    let module = Weightless { anchor: Anchor::new(&Device::flex()) };
    assert_eq!(device(&module), Device::flex());
    assert!(module.into_record().is_empty());
}

#[cfg(feature = "autodiff")]
#[test]
fn training_reaches_the_parameters_and_follows_the_anchor() {
    let trained = mixed(2.0, &Device::flex()).train();
    assert!(device(&trained).is_autodiff());
    let kernel = trained.kernel.val();
    let loss = (kernel.clone() * kernel.clone()).sum();
    let gradients = loss.backward();
    let gradient = kernel.grad(&gradients).unwrap();
    assert_eq!(gradient.into_data(), TensorData::full(Shape::from([1, 1, 2, 2]), 4.0f32));
    assert!(!device(&trained.valid()).is_autodiff());
}
