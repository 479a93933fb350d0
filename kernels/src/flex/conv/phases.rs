//! Weights of transposed convolutions by the phases of output pixels.

use burn::backend::{TensorMetadata, flex::FlexTensor};

use super::Filters;
use crate::flex::{
    simd::InstructionSet,
    stored::readable,
    view::{Dense, Matrix},
};

/// Maximum number of phases along all axes.
const MAX_PHASES: usize = 512;

/// The convolutions that compute the output pixels of each phase.
pub struct Phases {
    pub set: InstructionSet,
    pub strides: [usize; 3],
    pub dilations: [usize; 3],
    groups: usize,
    /// Number of output channels of a group.
    pub outputs: usize,
    pub parts: Vec<Part>,
}

/// Phases that one convolution computes.
pub struct Part {
    pub phases: Vec<[usize; 3]>,
    pub kernel: [usize; 3],
    /// Output channels of the weight, each once for each phase. `None` if no tap reaches the phases.
    pub filters: Option<Filters>,
}

impl Phases {
    /// Returns `None` if taps of one phase are further apart than output pixels are, for too many phases, or for weights that are
    /// not finite.
    pub fn new(
        weight: &FlexTensor,
        kernel: [usize; 3],
        strides: [usize; 3],
        dilations: [usize; 3],
        groups: usize,
    ) -> Option<Self> {
        let is_sparse = |axis: usize| strides[axis] > 1 && dilations[axis] > 1;
        let count = strides.iter().try_fold(1usize, |count, stride| count.checked_mul(*stride));
        if (0..3).any(is_sparse) || count? > MAX_PHASES {
            return None;
        }
        let values = Dense::new(&readable(weight));
        // A convolution reads its padding: 0 times infinity is NaN.
        if !values.values().iter().all(|value| value.is_finite()) {
            return None;
        }
        let taps = |phase: [usize; 3]| {
            [0, 1, 2].map(|axis| kernel[axis].saturating_sub(phase[axis]).div_ceil(strides[axis]))
        };
        // Phases with the same number of taps are one convolution. With others, its weights would be 0 for taps that a phase
        // lacks, and an infinite input times 0 is NaN.
        let mut parts: Vec<([usize; 3], Vec<[usize; 3]>)> = Vec::new();
        for depth in 0..strides[0] {
            for row in 0..strides[1] {
                for phase in (0..strides[2]).map(|column| [depth, row, column]) {
                    match parts.iter_mut().find(|(kernel, _)| *kernel == taps(phase)) {
                        Some((_, phases)) => phases.push(phase),
                        None => parts.push((taps(phase), vec![phase])),
                    }
                }
            }
        }
        let shape = weight.shape();
        let weight = Weight {
            values: values.values(),
            channels: shape[0] / groups,
            outputs: shape[1],
            kernel,
            strides,
            groups,
        };
        let set = InstructionSet::best();
        let parts = parts.into_iter().map(|(kernel, phases)| Part {
            filters: (!kernel.contains(&0)).then(|| weight.filters(set, kernel, &phases)),
            phases,
            kernel,
        });
        Some(Self { set, strides, dilations, groups, outputs: shape[1] * groups, parts: parts.collect() })
    }

    pub fn is_of(&self, strides: [usize; 3], dilations: [usize; 3], groups: usize) -> bool {
        (self.strides, self.dilations, self.groups) == (strides, dilations, groups)
    }
}

/// A weight `[channels, outputs, kernel..]`, whose channels are those of all groups.
struct Weight<'a> {
    values: &'a [f32],
    channels: usize,
    outputs: usize,
    kernel: [usize; 3],
    strides: [usize; 3],
    groups: usize,
}

impl Weight<'_> {
    fn filters(&self, set: InstructionSet, kernel: [usize; 3], phases: &[[usize; 3]]) -> Filters {
        let inner = self.channels * kernel.iter().product::<usize>();
        let mut rows = Vec::with_capacity(self.groups * self.outputs * phases.len() * inner);
        for group in 0..self.groups {
            for output in 0..self.outputs {
                for phase in phases {
                    for channel in 0..self.channels {
                        let channel = group * self.channels + channel;
                        self.taps(channel * self.outputs + output, kernel, *phase, &mut rows);
                    }
                }
            }
        }
        Filters::new(set, Matrix::dense(&rows, inner), self.groups)
    }

    /// The taps of a phase from the last one to the first.
    fn taps(&self, plane: usize, kernel: [usize; 3], phase: [usize; 3], out: &mut Vec<f32>) {
        let place = |axis: usize, at: usize| {
            let tap = phase[axis] + (kernel[axis] - 1 - at) * self.strides[axis];
            (tap < self.kernel[axis]).then_some(tap)
        };
        for depth in (0..kernel[0]).map(|at| place(0, at)) {
            for row in (0..kernel[1]).map(|at| place(1, at)) {
                for column in (0..kernel[2]).map(|at| place(2, at)) {
                    let value = (|| {
                        let line = (plane * self.kernel[0] + depth?) * self.kernel[1] + row?;
                        Some(self.values[line * self.kernel[2] + column?])
                    })();
                    out.push(value.unwrap_or(0.0));
                }
            }
        }
    }
}
