//! Einsum of floats: sums of products, described by an equation of axes.
//!
//! Burn's own `einsum` multiplies by its matrix product, which is neither the fastest one nor deterministic. It computes integers.

use alloc::{collections::BTreeMap, vec, vec::Vec};
use core::iter;

use burn::backend::{Dispatch, DispatchTensor, TensorMetadata, ops::FloatTensorOps};
use burn::tensor::{Shape, Slice, Tensor};

use crate::{ensure, product::matmul::product, reduce::sum::sum_dim};

/// An operand of any rank.
pub struct EinsumOperand(DispatchTensor);

impl<const D: usize> From<Tensor<D>> for EinsumOperand {
    fn from(x: Tensor<D>) -> Self {
        Self(x.into_dispatch())
    }
}

/// Returns the sums of the products of the operands, as an equation with an arrow describes them. A scalar has one axis.
///
/// # Panics
/// If a letter has different sizes other than 1, or at two axes of one operand any different sizes; or if the equation has other
/// numbers of operands or axes.
#[inline(never)]
pub fn einsum<const D: usize>(
    equation: &str,
    operands: impl IntoIterator<Item = EinsumOperand>,
) -> Tensor<D> {
    let (inputs, output) = equation.split_once("->").unwrap_or((equation, ""));
    let output = labels(output, D);
    let inputs = inputs.split(',');
    let operands: Vec<DispatchTensor> = operands.into_iter().map(|operand| operand.0).collect();
    let inputs: Vec<Vec<Label>> =
        inputs.zip(&operands).map(|(text, x)| labels(text, x.shape().num_dims())).collect();
    let mut sizes = BTreeMap::new();
    for (labels, x) in inputs.iter().zip(&operands) {
        note_sizes(labels, x, &mut sizes);
    }
    let shape = output.iter().map(|label| sizes.get(label).copied().unwrap_or(1));
    let shape = Shape::from(shape.chain(iter::repeat_n(1, D - output.len())).collect::<Vec<_>>());
    if operands.iter().any(|x| x.shape().contains(&0)) {
        // Sums of no products.
        let (device, dtype) = (operands[0].device(), operands[0].dtype());
        return Tensor::from_dispatch(Dispatch::float_zeros(shape, &device, dtype.into()));
    }
    let mut terms = operands.into_iter().zip(&inputs).map(|(x, labels)| Term::new(x, labels));
    let mut result = terms.next().expect("an equation has operands");
    for (at, term) in terms.enumerate() {
        // Axes of later operands and of the result.
        let later = inputs[at + 2..].iter().flatten().chain(&output);
        let kept: Vec<Label> = later.copied().collect();
        result = result.times(term, &kept, &output);
    }
    let result = result.only(|label| output.contains(&label)).permuted(&output);
    Tensor::from_dispatch(Dispatch::float_reshape(result.tensor, shape))
}

/// A letter of the equation, or an axis of the ellipsis by its distance from the last one.
type Label = u32;

/// Returns the labels of the axes of an operand or of a result, without those of a scalar.
fn labels(text: &str, rank: usize) -> Vec<Label> {
    let letters = |text: &str| -> Vec<Label> {
        text.chars().filter(char::is_ascii_alphabetic).map(Label::from).collect()
    };
    let Some((before, after)) = text.split_once("...") else {
        let labels = letters(text);
        ensure!(labels.len().max(1) == rank, "expected {} axes of an operand, found {rank}", labels.len());
        return labels;
    };
    let (before, after) = (letters(before), letters(after));
    let named = before.len() + after.len();
    ensure!(named <= rank, "expected at least {named} axes of an operand, found {rank}");
    let axes = (0..(rank - named) as Label).rev();
    before.into_iter().chain(axes).chain(after).collect()
}

/// Adds the sizes of the axes of an operand.
fn note_sizes(labels: &[Label], x: &DispatchTensor, sizes: &mut BTreeMap<Label, usize>) {
    let shape = x.shape();
    for (at, (label, size)) in labels.iter().zip(shape.iter()).enumerate() {
        let first = labels.iter().position(|other| other == label).unwrap_or(at);
        ensure!(
            shape[first] == *size,
            "expected a diagonal of axes of one size, found shape {:?}",
            &shape[..]
        );
        let known = sizes.entry(*label).or_insert(*size);
        ensure!(
            known == size || *known == 1 || *size == 1,
            "expected operands whose sizes agree, found {known} and {size} along one axis"
        );
        if *known == 1 {
            *known = *size;
        }
    }
}

/// A tensor whose axes have these labels, each once, and sizes above 1. Without labels it has one element.
struct Term {
    tensor: DispatchTensor,
    labels: Vec<Label>,
}

impl Term {
    /// Takes diagonals, and drops axes of size 1.
    fn new(mut tensor: DispatchTensor, labels: &[Label]) -> Self {
        let mut labels = labels.to_vec();
        while let Some(second) = (1..labels.len()).find(|&at| labels[..at].contains(&labels[at])) {
            let label = labels.remove(second);
            let first = labels.iter().position(|other| *other == label).unwrap_or(0);
            tensor = diagonal(tensor, first, second);
        }
        let shape = tensor.shape();
        let sized = labels.iter().zip(shape.iter()).filter(|(_, size)| **size != 1);
        let (labels, sizes): (Vec<Label>, Vec<usize>) = sized.map(|(label, size)| (*label, *size)).unzip();
        Self { tensor: reshaped(tensor, sizes), labels }
    }

    /// The product with another term, summed over the axes that are not kept. Its axes are nearly in the order of `output`.
    fn times(self, other: Self, kept: &[Label], output: &[Label]) -> Self {
        let a = self.only(|label| kept.contains(&label) || other.labels.contains(&label));
        let b = other.only(|label| kept.contains(&label) || a.labels.contains(&label));
        let only = |one: &Self, two: &Self| one.without(&two.labels);
        let position = |labels: &[Label]| output.iter().position(|label| labels.first() == Some(label));
        let (a, b) = match [position(&only(&a, &b)), position(&only(&b, &a))] {
            [Some(of_a), Some(of_b)] if of_b < of_a => (b, a),
            _ => (a, b),
        };
        let (left, right) = (only(&a, &b), only(&b, &a));
        let both = a.without(&left);
        let (shared, inner): (Vec<Label>, Vec<Label>) =
            both.into_iter().partition(|label| kept.contains(label));
        let labels = [&shared[..], &left, &right].concat();
        let sizes: Vec<usize> =
            labels.iter().map(|label| a.size(*label).or(b.size(*label)).unwrap_or(1)).collect();
        let a = a.grouped([&shared, &left, &inner]);
        let b = b.grouped([&shared, &inner, &right]);
        let y = if inner.is_empty() { a.mul(b) } else { product(a, b) };
        Self { tensor: reshaped(y.into_dispatch(), sizes), labels }
    }

    /// Sums over the other axes.
    fn only(mut self, is_kept: impl Fn(Label) -> bool) -> Self {
        while let Some(axis) = self.labels.iter().position(|label| !is_kept(*label)) {
            let shape = self.tensor.shape();
            let [before, after] = [&shape[..axis], &shape[axis + 1..]].map(|sizes| sizes.iter().product());
            let rows = reshaped(self.tensor, vec![before, shape[axis], after]);
            let sums = sum_dim(Tensor::<3>::from_dispatch(rows), 1).into_dispatch();
            self.labels.remove(axis);
            self.tensor = reshaped(sums, [&shape[..axis], &shape[axis + 1..]].concat());
        }
        self
    }

    fn without(&self, labels: &[Label]) -> Vec<Label> {
        self.labels.iter().filter(|label| !labels.contains(label)).copied().collect()
    }

    fn size(&self, label: Label) -> Option<usize> {
        let axis = self.labels.iter().position(|other| *other == label)?;
        Some(self.tensor.shape()[axis])
    }

    /// The axes in this order. Labels that are no axes are left out.
    fn permuted(self, order: &[Label]) -> Self {
        let labels: Vec<Label> = order.iter().filter(|label| self.labels.contains(label)).copied().collect();
        if labels == self.labels {
            return self;
        }
        let axes = labels.iter().filter_map(|label| self.labels.iter().position(|other| other == label));
        let axes: Vec<usize> = axes.collect();
        Self { tensor: Dispatch::float_permute(self.tensor, &axes), labels }
    }

    /// Groups of axes as three axes.
    fn grouped(self, groups: [&[Label]; 3]) -> Tensor<3> {
        let count = |labels: &[Label]| labels.iter().filter_map(|label| self.size(*label)).product();
        let sizes = groups.map(count);
        Tensor::from_dispatch(reshaped(self.permuted(&groups.concat()).tensor, sizes.to_vec()))
    }
}

/// Another shape with as many elements. Without axes it has one of size 1.
fn reshaped(x: DispatchTensor, sizes: Vec<usize>) -> DispatchTensor {
    let shape = Shape::from(if sizes.is_empty() { vec![1] } else { sizes });
    if x.shape() == shape { x } else { Dispatch::float_reshape(x, shape) }
}

/// The elements whose index along the axes `first` and `second`, which comes after it, is the same. The axis `first` stays.
fn diagonal(x: DispatchTensor, first: usize, second: usize) -> DispatchTensor {
    let shape = x.shape();
    let size = shape[first];
    let others = (0..shape.num_dims()).filter(|axis| *axis != first && *axis != second);
    let order: Vec<usize> = others.clone().chain([first, second]).collect();
    let sizes: Vec<usize> = others.map(|axis| shape[axis]).collect();
    let count = sizes.iter().product();
    let rows = reshaped(Dispatch::float_permute(x, &order), vec![count, size * size]);
    let step = Slice::new(0, None, size as isize + 1);
    let y = reshaped(Dispatch::float_slice(rows, &[Slice::full(), step]), [&sizes[..], &[size]].concat());
    // The last axis, moved to its place.
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.insert(first, sizes.len());
    Dispatch::float_permute(y, &order)
}

#[cfg(test)]
mod tests {
    use burn::tensor::{TensorData, kind::Float};

    use super::*;
    use crate::attempt::attempt;
    use crate::testing::{float, near, noise, on_each, same};

    fn compare<const D: usize>(
        equation: &str,
        run: impl Fn() -> Vec<EinsumOperand>,
        burns: impl Fn() -> Vec<Operand>,
    ) {
        let expected = Tensor::<D>::einsum(equation, burns());
        near(einsum::<D>(equation, run()), expected.into_data(), 1e-5);
    }

    type Operand = burn::tensor::EinsumOperand<Float>;

    macro_rules! check {
        ($rank:literal $equation:literal $($x:ident),*) => {
            compare::<$rank>($equation, || vec![$($x().into()),*], || vec![$($x().into()),*])
        };
    }

    #[test]
    fn sums_are_those_of_burn() {
        on_each(|| {
            let vector = || noise::<1>([4], 1);
            let one = || noise::<1>([1], 2);
            let a = || noise::<2>([3, 4], 3);
            let b = || noise::<2>([4, 5], 4);
            let square = || noise::<2>([4, 4], 5);
            let row = || noise::<2>([1, 4], 6);
            let batch = || noise::<3>([2, 3, 4], 7);
            let batches = || noise::<3>([2, 4, 5], 8);
            let deep = || noise::<4>([2, 4, 3, 4], 9);
            check!(2 "ij,jk->ik" a, b);
            check!(2 "ij,jk->ki" a, b);
            check!(1 "ij,jk->" a, b);
            check!(1 "ij,jk->k" a, b);
            check!(3 "ij,jk->jik" a, b);
            check!(4 "ij,kl->likj" a, b);
            check!(3 "bij,bjk->bik" batch, batches);
            check!(3 "bij,bjk->kbi" batch, batches);
            check!(2 "bij,bij->bi" batch, batch);
            check!(3 "bij,bij->jib" batch, batch);
            check!(2 "ij->ji" a);
            check!(1 "ij->" a);
            check!(1 "i,i->" vector, vector);
            check!(2 "i,j->ji" vector, vector);
            check!(1 "ii->i" square);
            check!(1 "ii->" square);
            check!(2 "bibj->ij" deep_square);
            check!(2 "aibi->ba" deep);
            check!(1 ",i->i" one, vector);
            check!(1 "->" one);
            check!(3 "...ij,jk->...ik" batch, b);
            check!(2 "...i->..." batch);
            check!(3 "...i,i->...i" batch, vector);
            check!(3 "b...,...b->...b" batches_of_four, batch);
            check!(2 "ij,ij->ij" row, a);
            check!(1 "ij,ij->j" row, a);
            check!(2 "ij,jk,j->ik" a, b, vector);
            check!(1 "ij,jk,kl,l->i" a, b, narrow, vector);
        });

        fn deep_square() -> Tensor<4> {
            noise([2, 3, 2, 4], 10)
        }

        fn batches_of_four() -> Tensor<3> {
            noise([4, 2, 3], 11)
        }

        fn narrow() -> Tensor<2> {
            noise([5, 4], 12)
        }
    }

    #[test]
    fn products_are_our_own() {
        let (a, b) = (noise::<3>([2, 7, 1030], 1), noise::<3>([2, 1030, 33], 2));
        let y = einsum::<3>("bij,bjk->bik", [a.clone().into(), b.clone().into()]);
        same(y, product(a, b).into_data());
    }

    #[test]
    fn sums_of_nothing_are_zero() {
        let empty = || float::<2>(TensorData::new(Vec::<f32>::new(), [3, 0]));
        same(einsum::<2>("ij,kj->ik", [empty().into(), empty().into()]), [[0f32; 3]; 3]);
        same(einsum::<1>("ij->i", [empty().into()]), [0f32; 3]);
        same(einsum::<2>("ij->ji", [empty().into()]), TensorData::new(Vec::<f32>::new(), [0, 3]));
    }

    #[test]
    fn sizes_agree() {
        let run = |equation: &str, sizes: [[usize; 2]; 2]| {
            let operands = sizes.map(|sizes| noise::<2>(sizes, 1).into());
            attempt(|| einsum::<2>(equation, operands)).unwrap_err().reason
        };
        assert_eq!(
            run("ij,jk->ik", [[2, 3], [4, 5]]),
            "expected operands whose sizes agree, found 3 and 4 along one axis"
        );
        assert_eq!(
            run("ij,kk->ik", [[2, 3], [4, 1]]),
            "expected a diagonal of axes of one size, found shape [4, 1]"
        );
    }
}
