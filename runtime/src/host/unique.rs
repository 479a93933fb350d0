//! ONNX's `Unique` operator for strings.

use alloc::collections::BTreeMap;
use alloc::{string::String, vec, vec::Vec};

use crate::Array;

/// Returns the unique slices along `axis`, or the unique elements if it is `None`, sorted or in the order of first
/// occurrence.
///
/// The other results are the index of the first occurrence of each, the index of the unique slice for each slice of
/// `x`, and the number of occurrences of each.
pub fn unique(
    x: &Array<String>,
    axis: Option<usize>,
    sorted: bool,
) -> (Array<String>, Array<i64>, Array<i64>, Array<i64>) {
    let count = axis.map_or(x.len(), |axis| x.shape()[axis]);
    let mut slices: Vec<Vec<&String>> = vec![Vec::new(); count];
    Array::from_fn(x.shape(), |index| {
        let at = index_of(index, axis, x.shape());
        slices[at].push(&x[index]);
    });
    let mut seen: BTreeMap<&[&String], (usize, i64)> = BTreeMap::new();
    for (at, slice) in slices.iter().enumerate() {
        seen.entry(slice).or_insert((at, 0)).1 += 1;
    }
    let mut found: Vec<(&[&String], usize, i64)> =
        seen.into_iter().map(|(slice, (first, count))| (slice, first, count)).collect();
    if !sorted {
        found.sort_by_key(|&(_, first, _)| first);
    }
    let number: BTreeMap<&[&String], i64> = found.iter().zip(0..).map(|(found, at)| (found.0, at)).collect();
    let inverse: Vec<i64> = slices.iter().map(|slice| number[slice.as_slice()]).collect();
    let values = match axis {
        None => Array::vector(found.iter().map(|(slice, ..)| slice[0].clone()).collect::<Vec<_>>()),
        Some(axis) => {
            let mut shape = x.shape().to_vec();
            shape[axis] = found.len();
            Array::from_fn(shape, |index| {
                let mut index = index.to_vec();
                index[axis] = found[index[axis]].1;
                x[index.as_slice()].clone()
            })
        }
    };
    let first: Vec<i64> = found.iter().map(|&(_, first, _)| first as i64).collect();
    let counts: Vec<i64> = found.iter().map(|&(.., count)| count).collect();
    (values, Array::vector(first), Array::vector(inverse), Array::vector(counts))
}

/// Returns the index of the slice that contains an element.
fn index_of(index: &[usize], axis: Option<usize>, shape: &[usize]) -> usize {
    match axis {
        Some(axis) => index[axis],
        None => index.iter().zip(shape).fold(0, |at, (i, size)| at * size + i),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
        words.map(str::to_owned).to_vec()
    }

    #[test]
    fn elements_stand_once_in_either_order() {
        let x = Array::new([2, 2], words(["b", "a", "b", "c"]));
        let (values, first, inverse, counts) = unique(&x, None, true);
        assert_eq!(values.data(), ["a", "b", "c"]);
        assert_eq!((first.data(), inverse.data()), (&[1, 0, 3][..], &[1, 0, 1, 2][..]));
        assert_eq!(counts.data(), [1, 2, 1]);
        assert_eq!(unique(&x, None, false).0.data(), ["b", "a", "c"]);
    }

    #[test]
    fn slices_stand_once() {
        let x = Array::new([3, 2], words(["b", "a", "a", "z", "b", "a"]));
        let (values, first, inverse, counts) = unique(&x, Some(0), true);
        assert_eq!(values, Array::new([2, 2], words(["a", "z", "b", "a"])));
        assert_eq!((first.data(), inverse.data()), (&[1, 0][..], &[1, 0, 1][..]));
        assert_eq!(counts.data(), [1, 2]);
    }

    #[test]
    fn nothing_is_unique() {
        let (values, _, inverse, _) = unique(&Array::vector([]), None, true);
        assert!(values.is_empty() && inverse.is_empty());
    }
}
