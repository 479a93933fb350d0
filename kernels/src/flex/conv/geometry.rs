//! Sizes of convolutions.

use burn::tensor::ops::ConvOptions;

pub use crate::spec::geometry::Geometry;

impl Geometry {
    /// The convolution of an input and a kernel with these spatial sizes.
    pub fn new<const S: usize>(sizes: &[usize], kernel: &[usize], options: &ConvOptions<S>) -> Self {
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
            let padded = pads[axis].0.saturating_add(sizes[axis]).saturating_add(pads[axis].1);
            // A saturated size is larger than any input.
            let last = kernel[axis].saturating_sub(1).saturating_mul(dilations[axis]);
            let reach = last.saturating_add(1);
            padded.checked_sub(reach).map_or(0, |room| room / strides[axis] + 1)
        });
        Self { sizes, kernel, strides, dilations, before: pads.map(|(before, _)| before), positions }
    }

    /// Returns true if each output pixel depends on the input pixel with the same index alone.
    pub fn is_pointwise(&self) -> bool {
        self.kernel == [1; 3] && self.strides == [1; 3] && self.positions == self.sizes
    }

    /// All pixels along one axis, for a pointwise convolution.
    pub fn flat(self) -> Self {
        let places = [1, 1, self.sizes.iter().product()];
        Self { sizes: places, positions: places, ..self }
    }

    /// Number of rows and columns of a plane that the taps of all output pixels read, `None` if it overflows.
    pub fn padded_plane(&self) -> Option<[usize; 2]> {
        let reach = |axis: usize| {
            let taps = (self.kernel[axis] - 1).checked_mul(self.dilations[axis])?;
            let last = (self.positions[axis] - 1).checked_mul(self.strides[axis])?;
            taps.checked_add(last)?.checked_add(1)
        };
        Some([reach(1)?, reach(2)?])
    }

    /// Number of taps of the kernel.
    pub fn taps(&self) -> usize {
        self.kernel.iter().product()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
