//! Specifications of the operations.
//!
//! They consist of the options of each operation, and of checks of its operands' shapes. This is the lowest layer of the crate:
//! it runs no operation of Burn, and the kernels of all devices depend on it. A failed check fails the running node with both
//! shapes, before a kernel reads the operands. Kernels rely on that.

use core::fmt;

use crate::ensure;

pub mod arithmetic;
pub mod attention;
pub mod bits;
pub mod boxes;
pub mod convolution;
pub mod dft;
pub mod epilogue;
pub mod function;
pub mod geometry;
pub mod indices;
pub mod integer;
pub mod join;
pub mod normalize;
pub mod packed;
pub mod pool;
pub mod product;
pub mod quantize;
pub mod ranking;
pub mod recurrent;
pub mod regions;
pub mod scan;
pub mod scores;
pub mod small;
pub mod stored;
pub mod types;
pub mod window;

/// An operand as displayed in errors: `the bias [4]`.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    name: &'a str,
    shape: &'a [usize],
}

/// Returns an operand of this name and shape.
pub fn operand<'a>(name: &'a str, shape: &'a [usize]) -> Operand<'a> {
    Operand { name, shape }
}

impl Operand<'_> {
    /// Number of elements along an axis.
    pub fn size(&self, axis: usize) -> usize {
        self.shape[axis]
    }
}

/// Fails unless an axis of one operand has the same size as an axis of another.
#[inline(never)]
pub fn equal_axes(one: Operand<'_>, axis: usize, other: Operand<'_>, other_axis: usize) {
    ensure!(
        one.shape[axis] == other.shape[other_axis],
        "expected axis {axis} of {one} to equal axis {other_axis} of {other}"
    );
}

/// Fails unless both operands have the same shape.
#[inline(never)]
pub fn equal_shapes(one: Operand<'_>, other: Operand<'_>) {
    ensure!(one.shape == other.shape, "expected {one} and {other} to have the same shape");
}

/// Fails unless an operand has the shape that another one requires.
#[inline(never)]
pub fn shaped(one: Operand<'_>, shape: &[usize], other: Operand<'_>) {
    ensure!(one.shape == shape, "expected {one} to have shape {shape:?} for {other}");
}

/// Fails unless an operand is a vector of this length, or has one element.
#[inline(never)]
pub fn row_or_scalar(one: Operand<'_>, length: usize, other: Operand<'_>) {
    ensure!(
        one.shape == [1] || one.shape == [length],
        "expected {one} to have 1 or {length} elements for {other}"
    );
}

/// Fails unless an operand broadcasts to the shape of another one, which does not broadcast itself.
#[inline(never)]
pub fn broadcasts_to(one: Operand<'_>, other: Operand<'_>) {
    let mut pairs = one.shape.iter().rev().zip(other.shape.iter().rev());
    ensure!(
        one.shape.len() <= other.shape.len() && pairs.all(|(own, size)| *own == 1 || own == size),
        "{one} does not broadcast to {other}"
    );
}

/// Fails unless operands of any ranks broadcast to a common shape.
#[inline(never)]
pub fn broadcast(one: Operand<'_>, other: Operand<'_>) {
    let mut pairs = one.shape.iter().rev().zip(other.shape.iter().rev());
    ensure!(pairs.all(|(a, b)| a == b || *a == 1 || *b == 1), "{one} and {other} do not broadcast");
}

/// Fails unless the size of an axis is a multiple of that of another operand's axis.
#[inline(never)]
pub fn multiple(one: Operand<'_>, axis: usize, other: Operand<'_>, other_axis: usize) {
    ensure!(
        one.shape[axis].is_multiple_of(other.shape[other_axis]),
        "expected axis {axis} of {one} to be a multiple of axis {other_axis} of {other}"
    );
}

/// Fails unless an axis of an operand is divisible by `count`.
#[inline(never)]
pub fn divisible(one: Operand<'_>, axis: usize, count: usize, parts: &str) {
    ensure!(
        count > 0 && one.shape[axis].is_multiple_of(count),
        "expected axis {axis} of {one} to divide into {count} {parts}"
    );
}

impl fmt::Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} {:?}", self.name, self.shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attempt::attempt;

    fn check(run: impl FnOnce(), expected: &str) {
        let reason = attempt(run).map_or_else(|fault| fault.reason, |()| "fine".to_owned());
        assert_eq!(reason, expected);
    }

    #[test]
    fn disagreements_show_both_shapes() {
        let (input, bias) = (operand("input", &[2, 6]), operand("bias", &[4]));
        check(
            || equal_axes(bias, 0, input, 1),
            "expected axis 0 of the bias [4] to equal axis 1 of the input [2, 6]",
        );
        check(|| equal_axes(bias, 0, operand("row", &[4, 1]), 0), "fine");
        check(
            || equal_shapes(input, bias),
            "expected the input [2, 6] and the bias [4] to have the same shape",
        );
        check(|| shaped(bias, &[6], input), "expected the bias [4] to have shape [6] for the input [2, 6]");
        check(
            || row_or_scalar(bias, 6, input),
            "expected the bias [4] to have 1 or 6 elements for the input [2, 6]",
        );
        check(|| row_or_scalar(operand("bias", &[1]), 6, input), "fine");
    }

    #[test]
    fn axes_broadcast_from_the_last_one() {
        let (input, row) = (operand("input", &[2, 6]), operand("row", &[1, 6]));
        check(|| broadcasts_to(row, input), "fine");
        check(|| broadcasts_to(input, row), "the input [2, 6] does not broadcast to the row [1, 6]");
        check(|| broadcast(input, row), "fine");
        check(|| broadcast(input, operand("column", &[5, 2, 1])), "fine");
        check(
            || broadcast(input, operand("rows", &[3, 1])),
            "the input [2, 6] and the rows [3, 1] do not broadcast",
        );
    }

    #[test]
    fn nothing_is_a_multiple_of_nothing_alone() {
        let (six, four, none) = (operand("a", &[6]), operand("b", &[4]), operand("c", &[0]));
        check(|| multiple(six, 0, operand("b", &[3]), 0), "fine");
        check(|| multiple(none, 0, four, 0), "fine");
        check(|| multiple(none, 0, none, 0), "fine");
        check(
            || multiple(six, 0, four, 0),
            "expected axis 0 of the a [6] to be a multiple of axis 0 of the b [4]",
        );
        check(
            || multiple(six, 0, none, 0),
            "expected axis 0 of the a [6] to be a multiple of axis 0 of the c [0]",
        );
        check(|| divisible(six, 0, 0, "heads"), "expected axis 0 of the a [6] to divide into 0 heads");
    }
}
