//! Sliding windows of convolutions and pools.

use crate::{ensure, fault::fail};
#[cfg(test)]
use alloc::vec::Vec;

/// Kernel sizes, strides, dilations and padding per spatial axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window<const S: usize> {
    pub kernel: [usize; S],
    pub strides: [usize; S],
    pub dilations: [usize; S],
    /// Padding at the start and at the end of each axis.
    pub pads: [(usize, usize); S],
}

impl<const S: usize> Window<S> {
    /// Returns a window without dilation, stride or padding.
    pub const fn new(kernel: [usize; S]) -> Self {
        Self { kernel, strides: [1; S], dilations: [1; S], pads: [(0, 0); S] }
    }

    pub const fn strides(self, strides: [usize; S]) -> Self {
        Self { strides, ..self }
    }

    pub const fn dilations(self, dilations: [usize; S]) -> Self {
        Self { dilations, ..self }
    }

    pub const fn pads(self, pads: [(usize, usize); S]) -> Self {
        Self { pads, ..self }
    }

    /// Pads an input of these spatial sizes to one output per stride. An odd element is added at the end
    /// (`SAME_UPPER`).
    pub fn same_upper(self, sizes: [usize; S]) -> Self {
        self.pads(self.same(sizes).map(|total| (total / 2, total.div_ceil(2))))
    }

    /// Pads like [`Window::same_upper`], with an odd element at the start (`SAME_LOWER`).
    pub fn same_lower(self, sizes: [usize; S]) -> Self {
        self.pads(self.same(sizes).map(|total| (total.div_ceil(2), total / 2)))
    }

    /// Returns the number of output pixels along each axis of an input of these spatial sizes.
    ///
    /// `ceil` also admits a last window that exceeds the end of the padded input, unless it would start in the end padding. Fails
    /// if the number is negative, since the window exceeds the padded input by more than a stride.
    pub fn positions(&self, sizes: [usize; S], ceil: bool) -> [usize; S] {
        core::array::from_fn(|axis| {
            let (begin, _) = self.pads[axis];
            let stride = self.strides[axis];
            let (padded, reach) = (self.padded(axis, sizes[axis]), self.reach(axis));
            let Some(room) = padded.checked_sub(reach) else {
                let missing = reach - padded;
                let strides = if ceil { missing / stride } else { missing.div_ceil(stride) };
                ensure!(
                    strides <= 1,
                    "expected a window of at most {} elements for {padded} along spatial axis {axis}, found {reach}",
                    padded.saturating_add(stride)
                );
                return usize::from(strides == 0 && sizes[axis] > 0);
            };
            if !ceil {
                return room / stride + 1;
            }
            let last = room.div_ceil(stride);
            if last * stride >= begin + sizes[axis] { last } else { last + 1 }
        })
    }

    /// Returns a window with the same positions and elements on an input of these spatial sizes, whose numbers do not exceed the
    /// padded sizes by more than 1: a longer stride leaves one position, as one of this length does.
    pub fn shortened(self, sizes: [usize; S]) -> Self {
        let longest = |axis: usize| self.padded(axis, sizes[axis]).saturating_add(1);
        Self { strides: core::array::from_fn(|axis| self.strides[axis].min(longest(axis))), ..self }
            .with_used_dilations()
    }

    /// Returns the same window with dilations of 1 along axes on which it has one element.
    pub fn with_used_dilations(self) -> Self {
        let used = |axis: usize| if self.kernel[axis] == 1 { 1 } else { self.dilations[axis] };
        self.dilations(core::array::from_fn(used))
    }

    /// Fails if the window is larger than a padded input `[batch, channels, spatial..]`.
    pub fn ensure_fits(&self, input: &[usize]) {
        for (axis, size) in input[2..].iter().enumerate() {
            let (reach, padded) = (self.reach(axis), self.padded(axis, *size));
            ensure!(
                reach <= padded,
                "expected a window of at most {padded} elements along axis {} of the input {input:?}, found \
                 {reach}",
                axis + 2
            );
        }
    }

    /// Returns the distance between the first and the last element of the window along `axis`, both included.
    pub fn reach(&self, axis: usize) -> usize {
        let (kernel, dilation) = (self.kernel[axis], self.dilations[axis]);
        let reach = kernel.saturating_sub(1).checked_mul(dilation);
        reach.and_then(|last| last.checked_add(1)).unwrap_or_else(|| {
            fail(format_args!("a window of {kernel} elements with a dilation of {dilation} is too large"))
        })
    }

    /// Returns the number of elements of an axis of `size` and its padding.
    pub fn padded(&self, axis: usize, size: usize) -> usize {
        let (begin, end) = self.pads[axis];
        let padded = begin.checked_add(size);
        padded.and_then(|padded| padded.checked_add(end)).unwrap_or_else(|| {
            fail(format_args!("an axis of {size} elements with a padding of {begin} and {end} is too large"))
        })
    }

    pub fn is_symmetric(&self) -> bool {
        self.pads.iter().all(|(begin, end)| begin == end)
    }

    fn same(&self, sizes: [usize; S]) -> [usize; S] {
        core::array::from_fn(|axis| {
            // An axis without elements is padded to less than the window, which then has no position.
            let (size, stride) = (sizes[axis], self.strides[axis]);
            let needed = size.div_ceil(stride).saturating_mul(stride).saturating_add(self.reach(axis));
            needed.saturating_sub(size.saturating_add(stride))
        })
    }
}

#[cfg(test)]
impl<const S: usize> Window<S> {
    /// Returns the index of each element of the window in an input of these sizes at output `position`,
    /// kernel offsets in row-major order. `Some(None)` is padding, and `None` is beyond the padding.
    pub fn taps(&self, sizes: [usize; S], position: [usize; S]) -> Vec<Option<Option<[usize; S]>>> {
        crate::testing::indices(self.kernel)
            .map(|offset| {
                let padded: [usize; S] = core::array::from_fn(|axis| {
                    position[axis] * self.strides[axis] + offset[axis] * self.dilations[axis]
                });
                let beyond =
                    |axis: usize| padded[axis] >= self.pads[axis].0 + sizes[axis] + self.pads[axis].1;
                if (0..S).any(beyond) {
                    return None;
                }
                let inside = |axis: usize| {
                    let begin = self.pads[axis].0;
                    (begin..begin + sizes[axis]).contains(&padded[axis])
                };
                let index = || core::array::from_fn(|axis| padded[axis] - self.pads[axis].0);
                Some((0..S).all(inside).then(index))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::attempt;

    #[test]
    fn what_no_size_can_count_fails() {
        let message = |run: fn()| attempt(run).unwrap_err().reason;
        let far = || Window::new([4]).dilations([1 << 63]).ensure_fits(&[1, 1, 5]);
        assert_eq!(
            message(far),
            "a window of 4 elements with a dilation of 9223372036854775808 is too large"
        );
        assert_eq!(
            message(|| _ = Window::new([4]).positions([2], false)),
            "expected a window of at most 3 elements for 2 along spatial axis 0, found 4"
        );
        let padded = || Window::new([2]).pads([(usize::MAX, 1)]).ensure_fits(&[1, 1, 5]);
        assert!(message(padded).ends_with("is too large"));
    }

    #[test]
    fn long_strides_leave_one_position() {
        let long = 1 << 60;
        for (kernel, pads, size) in [(1, (0, 0), 1), (2, (1, 0), 3), (3, (0, 4), 2), (4, (0, 0), 3)] {
            for stride in [1, 2, 3, 5, 7, long] {
                let window = Window::new([kernel]).strides([stride]).pads([pads]);
                let short = window.shortened([size]);
                assert!(short.strides[0] <= 8);
                for ceil in [false, true] {
                    let positions = |window: Window<1>| attempt(|| window.positions([size], ceil)).ok();
                    assert_eq!(positions(short), positions(window));
                }
            }
        }
        assert_eq!(Window::new([1]).dilations([long]).shortened([1]).dilations, [1]);
    }

    #[test]
    fn same_padding_keeps_one_output_per_stride() {
        let window = Window::new([3, 2]).strides([2, 1]);
        assert_eq!(window.same_upper([5, 5]).pads, [(1, 1), (0, 1)]);
        assert_eq!(window.same_lower([5, 5]).pads, [(1, 1), (1, 0)]);
        assert_eq!(window.same_upper([4, 4]).pads, [(0, 1), (0, 1)]);
        assert_eq!(window.same_upper([4, 4]).positions([4, 4], false), [2, 4]);
    }

    #[test]
    fn same_padding_spans_dilated_kernels() {
        let window = Window::new([3]).dilations([2]).same_upper([7]);
        assert_eq!(window.pads, [(2, 2)]);
        assert_eq!(window.positions([7], false), [7]);
    }

    #[test]
    fn same_padding_keeps_axes_of_no_elements() {
        for (kernel, stride) in [(3, 1), (3, 2), (2, 3), (5, 2)] {
            let window = Window::new([kernel]).strides([stride]);
            for window in [window.same_upper([0]), window.same_lower([0])] {
                assert_eq!(window.positions([0], false), [0]);
                assert_eq!(window.positions([0], true), [0]);
            }
        }
    }

    #[test]
    fn same_padding_is_never_negative() {
        assert_eq!(Window::new([1]).strides([3]).same_lower([7]).pads, [(0, 0)]);
    }

    #[test]
    fn ceil_admits_a_window_over_the_end_but_none_that_starts_in_padding() {
        let window = Window::new([3]).strides([2]);
        assert_eq!(window.positions([4], false), [1]);
        assert_eq!(window.positions([4], true), [2]);
        let reduced = Window::new([1]).strides([2]);
        assert_eq!(reduced.positions([2], true), [1]);
        let padded = Window::new([3]).strides([3]).pads([(1, 1)]);
        assert_eq!(padded.positions([2], true), [1]);
    }

    #[test]
    fn a_kernel_larger_than_the_input_has_no_position() {
        assert_eq!(Window::new([4]).positions([3], false), [0]);
        let window = Window::new([3]).strides([2]);
        assert_eq!(window.positions([1], false), [0]);
        assert_eq!(window.positions([2], true), [1]);
        assert_eq!(window.positions([1], true), [0]);
    }
}
