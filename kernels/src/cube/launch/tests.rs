//! Launches on the software adapter of wgpu, if there is one.

use burn::backend::ops::FloatTensorOps;
use burn::tensor::TensorData;
use burn_cubecl::{CubeBackend, CubeDevice};

use cubecl::zspace::metadata::Metadata;

use super::*;
use crate::{attempt::attempt, backend::Runtime, testing::devices};

/// A unit copies an element. Units beyond `count`, at most the elements of `x` and `y`, end.
#[cube(launch_unchecked, address_type = "dynamic")]
fn copy_kernel(x: &Tensor<f32>, y: &mut Tensor<f32>, count: usize) {
    if ABSOLUTE_POS >= count {
        terminate!();
    }
    y[ABSOLUTE_POS] = x[ABSOLUTE_POS];
}

/// A row-major tensor of the device.
fn tensor(values: &[f32], shape: [usize; 2]) -> Option<CubeTensor> {
    let has_wgpu = devices().iter().any(|device| Runtime::of(device) == Runtime::Wgpu);
    if !has_wgpu {
        eprintln!("left out: there is no adapter");
    }
    let data = TensorData::new(values.to_vec(), shape);
    has_wgpu.then(|| CubeBackend::float_from_data(data, &CubeDevice::Wgpu(Default::default())))
}

fn values(x: CubeTensor) -> Vec<f32> {
    let data = cubecl::future::block_on(CubeBackend::float_into_data(x)).expect("it is read");
    data.try_to_vec().expect("they are floats")
}

fn reason(run: impl FnOnce()) -> String {
    attempt(run).expect_err("the launch is refused").reason
}

#[test]
fn elements_are_copied_and_an_empty_grid_copies_none() {
    let Some(x) = tensor(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3]) else {
        return;
    };
    let y = tensor(&[0.0; 6], [2, 3]).expect("there is an adapter");
    launch!(Grid::units(0) => copy_kernel(&x, &y; 6));
    assert_eq!(values(y.clone()), [0.0; 6]);
    launch!(Grid::units(4) => copy_kernel(&x, &y; 4));
    assert_eq!(values(y), [1.0, 2.0, 3.0, 4.0, 0.0, 0.0]);
}

#[test]
fn operands_are_row_major_unless_they_are_strided() {
    let Some(x) = tensor(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3]) else {
        return;
    };
    let y = tensor(&[0.0; 6], [2, 3]).expect("there is an adapter");
    let x = CubeBackend::float_swap_dims(x, 0, 1);
    launch!(Grid::units(6) => copy_kernel(Strided(&x), &y; 6));
    assert_eq!(values(y.clone()), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let reason = reason(|| launch!(Grid::units(6) => copy_kernel(x, &y; 6)));
    assert!(reason.starts_with("copy_kernel: expected a row-major operand"), "{reason}");
}

#[test]
fn an_operand_that_exceeds_its_buffer_is_refused() {
    let Some(x) = tensor(&[1.0, 2.0], [1, 2]) else {
        return;
    };
    // Burn's own reshape does not compare the numbers of elements.
    let wide = |shape: [usize; 2], strides: [usize; 2]| {
        let x = x.clone();
        let metadata = Metadata::new(shape, strides);
        CubeTensor::new(x.client, x.handle, metadata, x.device, x.dtype)
    };
    for (shape, strides) in
        [([1, 3], [3, 1]), ([2, 2], [1, 1]), ([1 << 31, 4], [4, 1]), ([1 << 40, 1 << 40], [1 << 40, 1])]
    {
        let y = wide(shape, strides);
        let reason = reason(|| launch!(Grid::units(2) => copy_kernel(&x, Strided(y); 2)));
        assert!(reason.ends_with("exceeds a buffer of 2 elements"), "{reason}");
    }
}

#[test]
fn a_grid_that_exceeds_the_device_is_refused() {
    let Some(x) = tensor(&[1.0, 2.0], [1, 2]) else {
        return;
    };
    let many = usize::MAX / 2;
    for (grid, part) in [
        (Grid::cubes(1, 1 << 20), "units per cube, found 1048576"),
        (Grid::cubes(1, 32).shared(1 << 30), "bytes of shared memory, found 1073741824"),
        (Grid::cubes(many, 32), "cubes, found"),
        (Grid::units(many), "found"),
    ] {
        let reason = reason(|| launch!(grid => copy_kernel(&x, &x; 2)));
        assert!(reason.contains(part), "{reason}");
    }
}
