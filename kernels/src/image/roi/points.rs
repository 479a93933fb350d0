//! Sampling points of a region along an axis.
//!
//! Bilinear sampling is separable: the weight of an input element in the points of an output element is the product of its
//! weights along each axis. So no grid of points is stored, and the time is bounded by the size of the image: many points are
//! handled as arithmetic sequences, whose sums and ends are known.

use alloc::vec::Vec;
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

use super::Mode;

/// Maximum number of points of an output element along an axis that are computed one by one.
const MAX_SINGLE_POINTS: f64 = 256.0;

/// Sampling points of a region along an axis of the image.
#[derive(Clone, Copy, Debug)]
pub struct Points {
    /// Start of the region.
    pub begin: f64,
    /// Size of an output element in input elements.
    pub bin: f64,
    /// Number of points per output element, integral.
    count: f64,
    /// Size of the image along the axis, not 0.
    size: usize,
    /// Rounds to the type of the coordinates.
    round: fn(f64) -> f64,
}

/// Input element that an output element reads along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tap {
    pub index: usize,
    /// Average: weight in the mean. Max: the greatest and the least weight at a point.
    pub weights: [f64; 2],
}

/// All input elements that an output element reads along an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Taps {
    pub list: Vec<Tap>,
    /// All points are inside the image.
    pub is_inside: bool,
}

/// Points between the same two elements, in ascending order.
#[derive(Clone, Copy, Debug)]
struct PointRun {
    /// Element before the points. The next one, if any, is the element after them.
    low: usize,
    count: f64,
    /// Distances of the first and the last point from the element before.
    ends: [f64; 2],
}

impl Points {
    /// Uses `sampling` points per output element, or with 0 as many as the input elements that it spans.
    pub fn new(begin: f64, bin: f64, sampling: usize, size: usize, round: fn(f64) -> f64) -> Self {
        let count = match sampling {
            _ if !(begin.is_finite() && bin.is_finite()) => 0.0,
            0 => bin.ceil().max(0.0),
            // All points are the same.
            _ if bin == 0.0 => 1.0,
            points => points as f64,
        };
        Self { begin, bin, count, size, round }
    }

    /// Returns the input elements that the points of output element `cell` read.
    pub fn taps(&self, cell: usize, mode: Mode) -> Taps {
        let (mut inside, mut list) = (0.0, Vec::new());
        self.runs(cell, |run| {
            inside += run.count;
            let [begin, end] = run.ends;
            let rest = |ratio: f64| (self.round)(1.0 - ratio);
            let high = (run.low + 1).min(self.size - 1);
            match mode {
                Mode::Average => {
                    let ratio = (begin + end) / 2.0;
                    let share = run.count / self.count;
                    add(&mut list, run.low, rest(ratio) * share);
                    add(&mut list, high, ratio * share);
                }
                Mode::Max => {
                    reach(&mut list, run.low, [rest(begin), rest(end)]);
                    reach(&mut list, high, [end, begin]);
                }
            }
        });
        Taps { list, is_inside: inside == self.count }
    }

    /// Calls `run` on the points of an output element that are inside the image.
    fn runs(&self, cell: usize, run: impl FnMut(PointRun)) {
        if self.count <= MAX_SINGLE_POINTS {
            self.one_by_one(cell, run);
        } else {
            self.sequences(cell, run);
        }
    }

    /// Coordinates are computed as by ONNX Runtime, because rounding decides which points are outside.
    fn one_by_one(&self, cell: usize, mut run: impl FnMut(PointRun)) {
        let round = self.round;
        let begin = round(self.begin + round(cell as f64 * self.bin));
        let (size, last) = (self.size as f64, (self.size - 1) as f64);
        for at in 0..self.count as usize {
            let inside = round((at as f64 + 0.5) * self.bin);
            let point = round(begin + round(inside / self.count));
            if point < -1.0 || point > size {
                continue;
            }
            let point = point.clamp(0.0, last);
            let low = point.floor();
            run(PointRun { low: low as usize, count: 1.0, ends: [round(point - low); 2] });
        }
    }

    fn sequences(&self, cell: usize, mut run: impl FnMut(PointRun)) {
        let step = self.bin / self.count;
        let mut first = self.begin + cell as f64 * self.bin + step / 2.0;
        if step < 0.0 {
            first += (self.count - 1.0) * step;
        }
        let step = step.abs();
        let within = |count: f64| count.clamp(0.0, self.count);
        let mut begin = within(((-1.0 - first) / step).ceil());
        // From -1 to 0, between elements, and from the last element on.
        for edge in 0..=self.size {
            let end = within(((edge as f64 - first) / step).floor() + 1.0);
            if end <= begin {
                continue;
            }
            let low = edge.saturating_sub(1);
            let from = |at: f64| match edge {
                0 => 0.0,
                _ if edge == self.size => 0.0,
                _ => (first + at * step - low as f64).clamp(0.0, 1.0),
            };
            run(PointRun { low, count: end - begin, ends: [from(begin), from(end - 1.0)] });
            begin = end;
        }
    }
}

fn add(list: &mut Vec<Tap>, index: usize, share: f64) {
    weights(list, index, [0.0; 2])[0] += share;
}

fn reach(list: &mut Vec<Tap>, index: usize, [greatest, least]: [f64; 2]) {
    let [high, low] = weights(list, index, [greatest, least]);
    (*high, *low) = (high.max(greatest), low.min(least));
}

/// Returns the weights of an element, initially `first`. Points are in order, so the element is among the
/// last ones if it is in the list.
fn weights(list: &mut Vec<Tap>, index: usize, first: [f64; 2]) -> &mut [f64; 2] {
    let last = list.len().saturating_sub(3);
    let found = list[last..].iter().position(|tap| tap.index == index);
    let at = found.map_or(list.len(), |at| last + at);
    if at == list.len() {
        let weights = first;
        list.push(Tap { index, weights });
    }
    &mut list[at].weights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(begin: f64, bin: f64, sampling: usize, size: usize) -> Points {
        Points::new(begin, bin, sampling, size, |value| value)
    }

    /// Checks that sequences have the same weights as points one by one.
    fn agree(points: Points, cell: usize) {
        for mode in [Mode::Average, Mode::Max] {
            let mut found = Vec::new();
            for few in [true, false] {
                let mut weights = vec![[0.0, f64::from(mode == Mode::Max)]; points.size];
                let mut inside = 0.0;
                let run = |run: PointRun| {
                    inside += run.count;
                    let high = (run.low + 1).min(points.size - 1);
                    for (index, ends) in [(run.low, run.ends.map(|end| 1.0 - end)), (high, run.ends)] {
                        let [sum, least] = &mut weights[index];
                        match mode {
                            Mode::Average => *sum += run.count * (ends[0] + ends[1]) / 2.0,
                            Mode::Max => {
                                *sum = sum.max(ends[0]).max(ends[1]);
                                *least = least.min(ends[0]).min(ends[1]);
                            }
                        }
                    }
                };
                match few {
                    true => points.one_by_one(cell, run),
                    false => points.sequences(cell, run),
                }
                found.push((weights, inside));
            }
            let [(expected, inside), (weights, count)] = &found[..] else { unreachable!() };
            assert_eq!(count, inside, "{points:?}");
            for (weight, expected) in weights.concat().iter().zip(expected.concat()) {
                assert!((weight - expected).abs() < 1e-9 * points.count, "{points:?}");
            }
        }
    }

    #[test]
    fn sequences_are_points_one_by_one() {
        for (begin, bin) in [(0.3, 9.1), (-3.7, 30.2), (5.1, -7.3), (-20.4, 900.7), (2.2, 0.4)] {
            for sampling in [0, 1, 2, 7, 300] {
                for size in [1, 2, 9] {
                    for cell in [0, 1] {
                        let points = points(begin, bin, sampling, size);
                        if points.count > 0.0 {
                            agree(points, cell);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn weights_are_shares_of_the_mean() {
        let shares = |points: Points| -> Vec<(usize, f64)> {
            let taps = points.taps(0, Mode::Average);
            taps.list.iter().map(|tap| (tap.index, tap.weights[0])).collect()
        };
        assert_eq!(shares(points(0.0, 2.0, 2, 4)), [(0, 0.25), (1, 0.5), (2, 0.25)]);
        let third = 1.0 / 3.0;
        assert_eq!(shares(points(-3.0, 3.0, 3, 4)), [(0, third), (1, 0.0)]);
        assert!(!points(-3.0, 3.0, 3, 4).taps(0, Mode::Max).is_inside);
        // Between the points are elements that none of them reads.
        assert_eq!(shares(points(0.0, 8.0, 2, 9)), [(2, 0.5), (3, 0.0), (6, 0.5), (7, 0.0)]);
        assert_eq!(shares(points(8.0, -8.0, 2, 9)), [(6, 0.5), (7, 0.0), (2, 0.5), (3, 0.0)]);
    }

    #[test]
    fn any_number_of_points() {
        for bin in [1e12, 1e30, 1e300, -1e300, f64::INFINITY, f64::NAN, f64::MIN_POSITIVE, 0.0] {
            for begin in [0.0, -1e12, -5e29, -1e300, f64::NAN, f64::NEG_INFINITY] {
                for sampling in [0, 1, (1 << 15) - 1] {
                    for mode in [Mode::Average, Mode::Max] {
                        let taps = points(begin, bin, sampling, 8).taps(0, mode);
                        for tap in taps.list {
                            assert!(tap.index < 8);
                            assert!(tap.weights.iter().all(|weight| (0.0..=1.0).contains(weight)));
                        }
                    }
                }
            }
        }
    }
}
