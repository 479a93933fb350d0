//! Inputs with the channels as second or last axis.

use proc_macro2::Literal;

use crate::rust::{Code, code};
use crate::types::Shape;

/// Moves the channels of a shape to the second axis, if they are last.
pub fn first(shape: &Shape, last: bool) -> Shape {
    permuted_shape(shape, last, order(shape.len()))
}

/// Reverses [`first`].
pub fn back(shape: &Shape, last: bool) -> Shape {
    permuted_shape(shape, last, order_back(shape.len()))
}

/// Moves the channels of a tensor to the second axis, if they are last.
pub fn transposed_first(x: Code, rank: usize, last: bool) -> Code {
    permuted(x, last, order(rank))
}

/// Reverses [`transposed_first`].
pub fn transposed_back(x: Code, rank: usize, last: bool) -> Code {
    permuted(x, last, order_back(rank))
}

/// Returns `[0, 3, 1, 2]` for rank 4.
fn order(rank: usize) -> Vec<usize> {
    let last = rank.saturating_sub(1);
    [0, last].into_iter().chain(1..last).take(rank).collect()
}

/// Returns `[0, 2, 3, 1]` for rank 4.
fn order_back(rank: usize) -> Vec<usize> {
    let spatial = 2..rank;
    [0].into_iter().chain(spatial).chain([1]).take(rank).collect()
}

fn permuted_shape(shape: &Shape, last: bool, order: Vec<usize>) -> Shape {
    if last { order.iter().filter_map(|&at| shape.get(at).cloned()).collect() } else { shape.clone() }
}

fn permuted(x: Code, last: bool, order: Vec<usize>) -> Code {
    let order = order.into_iter().map(Literal::usize_unsuffixed);
    if last { code!(#x.permute([#(#order),*])) } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_is_where_it_began() {
        assert_eq!(order(4), [0, 3, 1, 2]);
        assert_eq!(order_back(4), [0, 2, 3, 1]);
        assert_eq!(order(5), [0, 4, 1, 2, 3]);
        assert_eq!(order_back(3), [0, 2, 1]);
    }
}
