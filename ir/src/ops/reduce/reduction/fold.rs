//! Functions that reduce groups of elements.

use crate::attributes::attributes;
use crate::dim::Dim;
use crate::infer::LARGEST_KNOWN;
use crate::ops::broadcast;
use crate::ops::elementwise::cast::stays;
use crate::types::{Known, TensorType};

/// Function that reduces a group of elements.
#[derive(Debug)]
pub struct Fold {
    /// Name of the kernels' function, and of the run-time crate's `host` if `host` is set.
    pub name: &'static str,
    pub host: bool,
    /// Whether intermediate results are fractions, so that integers are computed as floats.
    pub fractions: bool,
    ints: fn(&[&Dim]) -> Option<Dim>,
    floats: fn(&[f64]) -> Option<f64>,
}

attributes!(struct Fold { name, host, fractions; ints, floats });

const fn on_device(name: &'static str, fractions: bool) -> Fold {
    Fold { name, host: false, fractions, ints: |_| None, floats: |_| None }
}

const fn anywhere(
    name: &'static str,
    ints: fn(&[&Dim]) -> Option<Dim>,
    floats: fn(&[f64]) -> Option<f64>,
) -> Fold {
    Fold { name, host: true, fractions: false, ints, floats }
}

pub const SUM: Fold = anywhere("reduce_sum", sum, |floats| whole(floats, floats.iter().sum()));
pub const PROD: Fold = anywhere("reduce_prod", product, |floats| whole(floats, floats.iter().product()));
pub const MEAN: Fold = anywhere("reduce_mean", mean, |floats| match floats {
    [only] => Some(*only),
    _ => None,
});
pub const MAX: Fold =
    anywhere("reduce_max", |ints| extreme(ints, Dim::larger), |floats| bound(floats, f64::max));
pub const MIN: Fold =
    anywhere("reduce_min", |ints| extreme(ints, Dim::smaller), |floats| bound(floats, f64::min));
pub const L1: Fold = on_device("reduce_l1", false);
pub const SUM_SQUARE: Fold = on_device("reduce_sum_square", false);
pub const L2: Fold = on_device("reduce_l2", true);
pub const LOG_SUM: Fold = on_device("reduce_log_sum", true);
pub const LOG_SUM_EXP: Fold = on_device("reduce_log_sum_exp", true);

impl Fold {
    /// Returns the known elements of the result.
    pub fn known(&self, known: &Known, x: &TensorType, axes: &[usize]) -> Option<Known> {
        let groups = groups(&broadcast::fixed(&x.shape)?, axes)?;
        let groups = groups.iter();
        match known {
            Known::Ints(dims) => {
                let ints = groups.map(|group| {
                    let group: Option<Vec<&Dim>> = group.iter().map(|&at| dims.get(at)).collect();
                    let folded = (self.ints)(&group?)?;
                    stays(&folded, x.dtype).then_some(folded)
                });
                ints.collect::<Option<_>>().map(Known::Ints)
            }
            Known::Floats(values) => {
                let floats = groups.map(|group| {
                    let group = group.iter().map(|&at| values.get(at).copied());
                    (self.floats)(&group.collect::<Option<Vec<f64>>>()?)
                });
                floats.collect::<Option<_>>().map(Known::Floats)
            }
            Known::Bools(values) => {
                let any = self.name == "reduce_max";
                let bools = groups.map(|group| {
                    let group = group.iter().map(|&at| values.get(at).copied());
                    let group: Vec<bool> = group.collect::<Option<_>>()?;
                    Some(if any { group.contains(&true) } else { !group.contains(&false) })
                });
                bools.collect::<Option<_>>().map(Known::Bools)
            }
            Known::Strings(_) => None,
        }
    }
}

/// Returns, for each element of the result, the indices of the elements from which it is computed.
fn groups(sizes: &[usize], axes: &[usize]) -> Option<Vec<Vec<usize>>> {
    let kept = |at: &usize| !axes.contains(at);
    let all = sizes.iter().enumerate();
    let count = all
        .filter(|(at, _)| kept(at))
        .try_fold(1usize, |count, (_, &size)| count.checked_mul(size))
        .filter(|&count| count <= LARGEST_KNOWN)?;
    let mut groups = vec![Vec::new(); count];
    for position in 0..sizes.iter().product::<usize>() {
        let (mut rest, mut group, mut stride) = (position, 0usize, 1usize);
        for (at, &size) in sizes.iter().enumerate().rev() {
            let index = rest.checked_rem(size).unwrap_or(0);
            rest = rest.checked_div(size).unwrap_or(0);
            if kept(&at) {
                group += index * stride;
                stride *= size;
            }
        }
        if let Some(group) = groups.get_mut(group) {
            group.push(position);
        }
    }
    Some(groups)
}

fn sum(ints: &[&Dim]) -> Option<Dim> {
    ints.iter().try_fold(Dim::from(0), |sum, dim| sum.add(dim))
}

fn product(ints: &[&Dim]) -> Option<Dim> {
    Dim::product(ints.iter().copied())
}

/// Returns the mean of integers, truncated toward zero.
fn mean(ints: &[&Dim]) -> Option<Dim> {
    let (sum, count) = (sum(ints)?, i64::try_from(ints.len()).ok()?);
    match sum.number() {
        Some(sum) => sum.checked_div(count).map(Dim::from),
        None => sum.div_exact(&count.into()),
    }
}

fn extreme(ints: &[&Dim], pick: fn(&Dim, &Dim) -> Option<Dim>) -> Option<Dim> {
    let (first, rest) = ints.split_first()?;
    rest.iter().try_fold((*first).clone(), |best, dim| pick(&best, dim))
}

fn bound(floats: &[f64], pick: fn(f64, f64) -> f64) -> Option<f64> {
    if floats.iter().any(|value| value.is_nan()) {
        Some(f64::NAN)
    } else {
        floats.iter().copied().reduce(pick)
    }
}

/// Returns the result, if it is the same for all float types and orders of evaluation.
fn whole(floats: &[f64], result: f64) -> Option<f64> {
    let exact = |value: f64| value.fract() == 0.0 && value.abs() <= 256.0;
    (floats.iter().all(|&value| exact(value)) && exact(result)).then_some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sizes: &[usize], axes: &[usize], expected: &[&[usize]]) {
        let groups = groups(sizes, axes).unwrap();
        assert_eq!(groups, expected);
    }

    #[test]
    fn elements_are_grouped_by_the_axes_that_stay() {
        check(&[2, 3], &[0], &[&[0, 3], &[1, 4], &[2, 5]]);
        check(&[2, 3], &[0, 1], &[&[0, 1, 2, 3, 4, 5]]);
        check(&[2], &[], &[&[0], &[1]]);
        check(&[], &[], &[&[0]]);
    }
}
