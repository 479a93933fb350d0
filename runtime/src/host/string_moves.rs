//! Strings that are moved as integer tensors.

use alloc::{string::String, vec::Vec};
use burn::tensor::{Device, Int, Tensor};

use super::{to_device_int, to_host, to_host_async};
use crate::Array;

/// Returns a number for each string, counted from `first` on. 0 is reserved for the empty string.
pub fn numbered<const D: usize>(x: &Array<String>, first: usize, device: &Device) -> Tensor<D, Int> {
    let last = first + x.len();
    let numbers = (first..last).map(|number| number as i64);
    to_device_int(&Array::new(x.shape(), numbers.collect()), device)
}

/// Returns the strings of numbers, which count the elements of all arrays of `x` from 1 on.
pub fn named<const D: usize>(numbers: Tensor<D, Int>, x: &[&Array<String>], rank: usize) -> Array<String> {
    strings(&to_host(numbers, rank), x)
}

/// Async version of [`named`].
pub async fn named_async<const D: usize>(
    numbers: Tensor<D, Int>,
    x: &[&Array<String>],
    rank: usize,
) -> Array<String> {
    strings(&to_host_async(numbers, rank).await, x)
}

fn strings(numbers: &Array<i64>, x: &[&Array<String>]) -> Array<String> {
    let all: Vec<&String> = x.iter().flat_map(|x| x.data()).collect();
    let string = |number: &i64| match *number {
        0 => String::new(),
        number => all[number as usize - 1].clone(),
    };
    numbers.map(string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_moved_as_their_numbers() {
        let a = Array::new([1, 2], vec!["a".to_owned(), "b".to_owned()]);
        let b = Array::new([1, 1], vec!["c".to_owned()]);
        let device = Device::flex();
        let (first, second) = (numbered::<2>(&a, 1, &device), numbered::<2>(&b, 3, &device));
        let moved = Tensor::cat(vec![second, first.flip([1])], 1);
        let moved = named(moved, &[&a, &b], 2);
        assert_eq!(moved, Array::new([1, 3], ["c", "b", "a"].map(str::to_owned).to_vec()));
        assert_eq!(named(Tensor::<1, Int>::zeros([1], &device), &[], 0).item(), "");
    }
}
