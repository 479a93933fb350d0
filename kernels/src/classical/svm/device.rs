//! Support vector machines on devices.

use alloc::vec;
use burn::tensor::{DType, Device, FloatDType, Int, Tensor, kind::Basic};

use super::{Classify, Regress, Tables, Votes};
use crate::backend::call;
use crate::classical::scores::{Transform, no_classes, no_scores, pair, transform};
use crate::reduce::arg_max::arg_max;
use crate::shape::WithShape;

impl Regress {
    /// Copies the machine to a device. `None`: the host computes it.
    pub fn tables(&self, device: &Device) -> Option<Tables> {
        let mut coefficients = self.coefficients.clone();
        coefficients.resize(self.basis.count, 0.0);
        let sizes = [self.basis.count];
        Tables::new(&self.basis, &coefficients, &sizes, &[self.rho], device)
    }

    /// [`Regress::run`] on the device of the rows. `None`: the host has to read them.
    pub fn run_on<K: Basic>(&self, tables: &Tables, rows: Tensor<2, K>) -> Option<Tensor<2>> {
        if rows.dims()[0] == 0 {
            return Some(no_scores(1, DType::F32, &rows.device()));
        }
        let sum = tables.compare(&self.basis, true, rows)?;
        let sum = sum.add(tables.rho.clone());
        Some(if self.one_class {
            let sides = sum.greater_elem(0.0).cast(FloatDType::F32);
            sides.mul_scalar(2.0).sub_scalar(1.0)
        } else {
            sum
        })
    }
}

impl Classify {
    /// Copies the machine to a device. `None`: the host computes it.
    pub fn tables(&self, device: &Device) -> Option<Tables> {
        let count = self.basis.count;
        match &self.votes {
            Votes::Linear { .. } => {
                let (ones, sizes) = (vec![1.0; count], vec![1; count]);
                Tables::new(&self.basis, &ones, &sizes, self.rho.get(..1)?, device)
            }
            Votes::Pairs { sizes, coefficients, probabilities } => {
                let pairs = self.pairs();
                let lists = probabilities.iter().flat_map(|(a, b)| [a, b]);
                if self.classes < 2 || lists.chain([&self.rho]).any(|list| list.len() < pairs) {
                    return None;
                }
                let coefficients = coefficients.get(..(self.classes - 1) * count)?;
                let rho = &self.rho[..pairs];
                let tables = Tables::new(&self.basis, coefficients, sizes, rho, device)?;
                Some(tables.with_pairs(self.classes, &self.votes, device))
            }
        }
    }

    /// [`Classify::run`] on the device of the rows. `None`: the host has to read them.
    pub fn run_on<K: Basic>(
        &self,
        tables: &Tables,
        rows: Tensor<2, K>,
    ) -> Option<(Tensor<1, Int>, Tensor<2>)> {
        let device = rows.device();
        if rows.dims()[0] == 0 {
            return Some((no_classes(&device), no_scores(self.width(), DType::F32, &device)));
        }
        match self.votes {
            Votes::Linear { positive, probable } => {
                let products = tables.compare(&self.basis, false, rows)?;
                Some(self.linear_on(products.add(tables.rho.clone()), positive, probable))
            }
            Votes::Pairs { .. } => {
                let sums = tables.compare(&self.basis, true, rows)?;
                self.paired_on(sums, tables)
            }
        }
    }

    fn linear_on(&self, scores: Tensor<2>, positive: bool, probable: bool) -> (Tensor<1, Int>, Tensor<2>) {
        let count = scores.dims()[0];
        let mut class: Tensor<1, Int> = arg_max(scores.clone(), 1, false);
        if self.classes == 2 && !probable {
            let highest = scores.clone().max_dim(1).with_shape([count]);
            let above = if positive { highest.greater_equal_elem(0.5) } else { highest.greater_elem(0.0) };
            class = class.mask_fill(above, 1);
        }
        (class, transform(scores, self.transform))
    }

    fn paired_on(&self, sums: Tensor<2>, tables: &Tables) -> Option<(Tensor<1, Int>, Tensor<2>)> {
        let (count, classes) = (sums.dims()[0], self.classes);
        let pairs = tables.pairs.as_ref()?;
        let [first, second] = pairs.sides.clone().map(|side| sums.clone().select(1, side));
        let scores = first.add(second).add(tables.rho.clone());
        let wins = scores.clone().greater_elem(0.0).int();
        let wins = wins.select(1, pairs.duels.clone());
        let wins = wins.equal(pairs.is_first.clone().int());
        let votes = wins.cast(FloatDType::F32);
        let votes = votes.with_shape([count, classes, classes - 1]).sum_dim(2);
        let class = arg_max(votes.with_shape([count, classes]), 1, false);
        let scores = match &pairs.lines {
            Some([slopes, offsets]) => {
                let lines = scores.mul(slopes.clone()).add(offsets.clone());
                let coupled = call!(couple(lines; classes)).tensor()?;
                transform(Tensor::from_dispatch(coupled), self.transform)
            }
            None if classes == 2 => {
                let other = scores.clone().neg();
                let other = match self.transform {
                    Transform::None => other,
                    _ => other.add_scalar(1.0),
                };
                pair(scores, other, self.transform)
            }
            None => transform(scores, self.transform),
        };
        Some((class, scores))
    }
}
