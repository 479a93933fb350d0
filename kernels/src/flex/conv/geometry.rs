//! Where a convolution reads and writes.

use burn::tensor::ops::ConvOptions;

pub use crate::spec::geometry::Geometry;

impl Geometry {
    /// Of an input and a kernel with these sizes, the batch and the channels left out.
    pub fn new<const S: usize>(
        sizes: &[usize],
        kernel: &[usize],
        options: &ConvOptions<S>,
    ) -> Self {
        let missing = 3 - S;
        let on = |axis: usize| axis.checked_sub(missing);
        let of = |values: &[usize], other: usize| {
            std::array::from_fn(|axis| on(axis).map_or(other, |axis| values[axis]))
        };
        let pads: [(usize, usize); 3] =
            std::array::from_fn(|axis| on(axis).map_or((0, 0), |axis| options.padding[axis]));
        let (sizes, kernel): ([usize; 3], [usize; 3]) = (of(sizes, 1), of(kernel, 1));
        let (strides, dilations): ([usize; 3], [usize; 3]) =
            (of(&options.stride, 1), of(&options.dilation, 1));
        let positions = std::array::from_fn(|axis| {
            let padded = pads[axis]
                .0
                .saturating_add(sizes[axis])
                .saturating_add(pads[axis].1);
            // What saturates is larger than any input.
            let last = kernel[axis]
                .saturating_sub(1)
                .saturating_mul(dilations[axis]);
            let reach = last.saturating_add(1);
            padded
                .checked_sub(reach)
                .map_or(0, |room| room / strides[axis] + 1)
        });
        Self {
            sizes,
            kernel,
            strides,
            dilations,
            before: pads.map(|(before, _)| before),
            positions,
        }
    }

    /// Whether each position sees its own place alone.
    pub fn is_pointwise(&self) -> bool {
        self.kernel == [1; 3] && self.strides == [1; 3] && self.positions == self.sizes
    }

    /// All places along one axis, for what is pointwise.
    pub fn flat(self) -> Self {
        let places = [1, 1, self.sizes.iter().product()];
        Self {
            sizes: places,
            positions: places,
            ..self
        }
    }

    pub fn taps(&self) -> usize {
        self.kernel.iter().product()
    }
}

/// The taps along an axis: places that are `stride` apart are neighbours for them.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The remainders of the taps' places, by `stride`.
    pub phases: Vec<usize>,
    /// Each tap's phase, by number, and how many neighbours further it is than the first place.
    pub taps: Vec<(usize, usize)>,
    /// How much further the last place is than a position.
    pub furthest: usize,
}

impl Axis {
    pub fn new(kernel: usize, stride: usize, dilation: usize) -> Self {
        let places = || (0..kernel).map(|tap| tap * dilation);
        let mut phases: Vec<usize> = places().map(|place| place % stride).collect();
        phases.sort_unstable();
        phases.dedup();
        let number = |phase| phases.iter().position(|found| *found == phase).unwrap_or(0);
        let taps: Vec<_> = places()
            .map(|place| (number(place % stride), place / stride))
            .collect();
        let furthest = taps.iter().map(|(_, shift)| *shift).max().unwrap_or(0);
        Self {
            phases,
            taps,
            furthest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taps_of_a_stride_are_neighbours_of_their_phase() {
        let axis = Axis::new(4, 2, 1);
        assert_eq!(axis.phases, [0, 1]);
        assert_eq!(axis.taps, [(0, 0), (1, 0), (0, 1), (1, 1)]);
        assert_eq!(axis.furthest, 1);
        let axis = Axis::new(3, 2, 2);
        assert_eq!(axis.phases, [0]);
        assert_eq!(axis.taps, [(0, 0), (0, 1), (0, 2)]);
        let axis = Axis::new(2, 3, 4);
        assert_eq!((axis.phases, axis.taps), (vec![0, 1], vec![(0, 0), (1, 1)]));
    }

    #[test]
    fn axes_that_are_missing_have_one_place() {
        let options = ConvOptions::new_with_padding([2], [(1, 2)], [3], 1);
        let geometry = Geometry::new(&[9], &[3], &options);
        assert_eq!(geometry.sizes, [1, 1, 9]);
        assert_eq!(geometry.positions, [1, 1, 3]);
        assert_eq!(geometry.before, [0, 0, 1]);
        assert!(!geometry.is_pointwise());
    }
}
