//! Packed 2-, 4- or 8-bit weights in the memory of a device.

use alloc::{vec, vec::Vec};
use burn::module::Module;
use burn::tensor::{DType, Device, Int, Tensor, TensorData};

use super::halves::scale_and_zero;
use crate::{
    backend::runs_cubes,
    spec::bits::{BitMatrix, Blocks, PANEL, ZeroPoints},
};

/// The panels of a [`BitMatrix`] as tensors, padded with outputs of value 0.
#[derive(Module, Debug)]
pub struct Coded {
    /// Codes for each panel, block, 32 bits of the block, and output.
    pub(crate) codes: Tensor<1, Int>,
    /// Scale and zero point for each panel, block and output.
    pub(crate) scales: Tensor<1>,
    pub(crate) zeros: Tensor<1>,
    #[module(skip)]
    pub(crate) blocks: Blocks,
}

impl Coded {
    /// Copies a matrix to a device that has a kernel for it, if its inputs are in the order of the file.
    pub fn new(matrix: &BitMatrix, device: &Device) -> Option<Self> {
        let panels = matrix.panels();
        if !runs_cubes(device) || panels.order.is_some() || panels.codes.is_empty() {
            return None;
        }
        let scales = || panels.scales.iter().flat_map(|line| line.0).collect();
        let (scales, zeros): (Vec<f32>, Vec<f32>) = match &panels.zeros {
            ZeroPoints::Middle => {
                let middle = (1u32 << (panels.blocks.bits - 1)) as f32;
                (scales(), vec![middle; panels.scales.len() * PANEL])
            }
            ZeroPoints::Whole(zeros) => (scales(), zeros.as_flattened().iter().map(|&x| x.into()).collect()),
            ZeroPoints::Floats(zeros) => (scales(), zeros.iter().flat_map(|line| line.0).collect()),
            ZeroPoints::Halves(words) => words.iter().flat_map(|line| line.0).map(scale_and_zero).unzip(),
        };
        let codes: Vec<u32> = panels.codes.iter().flat_map(|line| line.0).collect();
        let single = |values: Vec<f32>| {
            let length = values.len();
            Tensor::from_data(TensorData::new(values, [length]), (device, DType::F32))
        };
        let length = codes.len();
        Some(Self {
            codes: Tensor::from_data(TensorData::new(codes, [length]), (device, DType::U32)),
            scales: single(scales),
            zeros: single(zeros),
            blocks: panels.blocks,
        })
    }
}
