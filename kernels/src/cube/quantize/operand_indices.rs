//! Offsets of the elements of operands that broadcast to a result.

use burn::backend::TensorMetadata;
use burn::tensor::Shape;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use crate::cube::narrow;

/// An axis of a result, with the strides of three operands along it.
#[derive(CubeLaunch, CubeType, Clone, Copy)]
pub struct Axis {
    pub size: u32,
    pub next_first: u32,
    pub next_second: u32,
    pub next_third: u32,
}

/// Offsets of the elements of three operands, in elements.
#[derive(CubeType, Clone, Copy)]
pub struct OperandIndices {
    pub first: usize,
    pub second: usize,
    pub third: usize,
}

/// Returns the strides of an operand along the axes of a result, 0 along those that broadcast.
pub fn steps(operand: &CubeTensor) -> Vec<usize> {
    let shape = operand.shape();
    let sizes = shape.iter().zip(operand.meta.strides().iter());
    sizes.map(|(size, stride)| if *size == 1 { 0 } else { *stride }).collect()
}

/// Returns the axes of a result from the last one on. Neighbors are joined if all operands continue at the
/// same strides; an operand without strides is absent.
pub fn axes(shape: &Shape, operands: [&[usize]; 3]) -> SequenceArg<Axis> {
    let mut joined: Vec<(usize, [usize; 3])> = Vec::new();
    for (axis, &size) in shape.iter().enumerate().rev() {
        let next = operands.map(|steps| steps.get(axis).copied().unwrap_or(0));
        match joined.last_mut() {
            _ if size == 1 => {}
            Some((inner, of_inner)) if next == of_inner.map(|step| step * *inner) => *inner *= size,
            _ => joined.push((size, next)),
        }
    }
    let mut axes = SequenceArg::new();
    for (size, [first, second, third]) in joined {
        axes.push(AxisLaunch::new(narrow(size), narrow(first), narrow(second), narrow(third)));
    }
    axes
}

/// Returns the offsets of the elements of the operands for an index of the result.
#[cube]
pub fn operand_indices(position: usize, axes: &Sequence<Axis>) -> OperandIndices {
    let mut first = 0usize;
    let mut second = 0usize;
    let mut third = 0usize;
    let mut rest = position;
    #[unroll]
    for at in 0..axes.len() {
        let axis = axes.index(at);
        let mut index = rest;
        if comptime!(at + 1 < axes.len()) {
            index = rest % axis.size as usize;
            rest /= axis.size as usize;
        }
        first += index * axis.next_first as usize;
        second += index * axis.next_second as usize;
        third += index * axis.next_third as usize;
    }
    OperandIndices { first, second, third }
}
