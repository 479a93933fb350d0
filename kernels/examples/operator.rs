//! A custom operator with kernels for CPUs and for CubeCL devices.
//!
//! Models bind it with `ops("my.company.Affine" = crate::affine)`.

use burn::backend::flex::FlexTensor;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, Flex, backend_extension};
use burn::tensor::{DType, Tensor};
use burn_cubecl::{
    CubeBackend, kernel::into_contiguous, ops::numeric::empty_device_contiguous_dtype, tensor::CubeTensor,
};
use cubecl::prelude::*;

/// Returns `x * scale + shift`: the operator `my.company.Affine` with these two attributes.
pub fn affine<const D: usize>(x: Tensor<D>, scale: f32, shift: f32) -> Tensor<D> {
    Tensor::from_dispatch(<Dispatch as Operators>::affine(x.into_dispatch(), scale, shift))
}

#[backend_extension(Flex: cfg(feature = "flex"), Cube: cfg(feature = "wgpu"), Fusion: cfg(feature = "fusion"))]
pub trait Operators: Backend {
    #[fusion(dtype = x, shape = x)]
    fn affine(x: FloatTensor<Self>, scale: f32, shift: f32) -> FloatTensor<Self>;
}

impl Operators for Flex {
    fn affine(x: FlexTensor, scale: f32, shift: f32) -> FlexTensor {
        let mut x = x.to_contiguous();
        match x.dtype() {
            DType::F32 => x.storage_mut::<f32>().iter_mut().for_each(|x| *x = *x * scale + shift),
            dtype => panic!("floats of single precision are expected, not {dtype:?}"),
        }
        x
    }
}

impl Operators for CubeBackend {
    fn affine(x: CubeTensor, scale: f32, shift: f32) -> CubeTensor {
        let x = into_contiguous(x);
        let y =
            empty_device_contiguous_dtype(x.client.clone(), x.device.clone(), x.meta.shape.clone(), x.dtype);
        let count = y.meta.shape.num_elements();
        let cube = CubeDim::new(&x.client, count);
        let cubes = cubecl::calculate_cube_count_elemwise(&x.client, count, cube);
        let dtype = burn::backend::cubecl::dtype_to_storage_type(x.dtype);
        let addresses = x.required_address_type().max(y.required_address_type());
        let client = x.client.clone();
        let (input, output) = (x.into_tensor_arg(), y.clone().into_tensor_arg());
        affine_kernel::launch(&client, cubes, cube, addresses, input, output, scale, shift, count, dtype);
        y
    }
}

#[cube(launch, address_type = "dynamic")]
fn affine_kernel<T: Float>(
    x: &cubecl::prelude::Tensor<T>,
    y: &mut cubecl::prelude::Tensor<T>,
    scale: f32,
    shift: f32,
    count: usize,
    #[define(T)] _dtype: ElemType,
) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    y[ABSOLUTE_POS] = x[ABSOLUTE_POS] * T::cast_from(scale) + T::cast_from(shift);
}

fn main() {
    let mut devices = vec![burn::tensor::Device::flex()];
    devices.extend(burn::tensor::Device::enumerate(burn::tensor::DeviceType::Wgpu).into_vec());
    for device in devices {
        let x = Tensor::<2>::ones([64, 64], &device);
        let y = affine(x.mul_scalar(3.0), 2.0, 0.5).add_scalar(1.0);
        println!("{device:?} {}", y.sum().into_scalar::<f32>() / 4096.0);
    }
}
