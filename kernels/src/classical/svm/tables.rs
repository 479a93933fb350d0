//! Support vector machines on a device, in single precision.

use alloc::vec::Vec;
use burn::module::Module;
use burn::tensor::{Bool, DType, Device, Int, Tensor, TensorData, kind::Basic};

use super::{Basis, Votes, pairs};
use crate::backend::{Any, Machine, Operand, call, runs_cubes};
use crate::dtype::lowered;
use crate::spec::svm::Comparison;

/// The parameters of a machine as tensors.
#[derive(Module, Debug)]
pub struct Tables {
    /// `[features, vectors]`.
    vectors: Tensor<2>,
    /// Weights of each sum, `[sums, vectors]`.
    coefficients: Tensor<2>,
    /// Offset of the vectors of each class, and the number of all vectors.
    starts: Tensor<1, Int>,
    pub(super) rho: Tensor<2>,
    pub(super) pairs: Option<Pairs>,
}

/// The pairs of classes.
#[derive(Module, Debug)]
pub(super) struct Pairs {
    /// Index of the sum of the first and of the second class of each pair among the sums of a row.
    pub sides: [Tensor<1, Int>; 2],
    /// For each class and each other one the index of their pair, and whether the class is the pair's first.
    pub duels: Tensor<1, Int>,
    pub is_first: Tensor<2, Bool>,
    /// Slope and offset of the probability of each pair.
    pub lines: Option<[Tensor<2>; 2]>,
}

impl Tables {
    /// Copies a machine to a device: coefficients for a number of sums, over the vectors of classes of these
    /// sizes. `None`: the host computes it.
    pub(super) fn new(
        basis: &Basis,
        coefficients: &[f64],
        sizes: &[usize],
        rho: &[f64],
        device: &Device,
    ) -> Option<Self> {
        let count = basis.count;
        if !runs_cubes(device) || count == 0 || basis.vectors.is_empty() || coefficients.is_empty() {
            return None;
        }
        let features = basis.vectors.len() / count;
        let transposed = (0..features)
            .flat_map(|feature| (0..count).map(move |at| basis.vectors[at * features + feature]));
        let starts = sizes.iter().scan(0u32, |end, &size| {
            *end += size as u32;
            Some(*end)
        });
        let starts: Vec<u32> = core::iter::once(0).chain(starts).collect();
        let length = starts.len();
        let sums = coefficients.len() / count;
        Some(Self {
            vectors: floats(transposed.collect(), [features, count], device),
            coefficients: floats(coefficients[..sums * count].to_vec(), [sums, count], device),
            starts: Tensor::from_data(TensorData::new(starts, [length]), (device, DType::U32)),
            rho: floats(rho.to_vec(), [1, rho.len()], device),
            pairs: None,
        })
    }

    /// Adds the pairs of `classes` and their probabilities.
    pub(super) fn with_pairs(mut self, classes: usize, votes: &Votes, device: &Device) -> Self {
        let Votes::Pairs { probabilities, .. } = votes else {
            return self;
        };
        let all: Vec<(usize, usize)> = pairs(classes).collect();
        let side = |of: fn((usize, usize)) -> (usize, usize)| {
            let indices = all.iter().map(|&pair| {
                let (sum, class) = of(pair);
                (sum * classes + class) as i64
            });
            ints(indices.collect(), device)
        };
        let (mut duels, mut is_first) = (Vec::new(), Vec::new());
        for class in 0..classes {
            for (at, &(first, second)) in all.iter().enumerate() {
                if class == first || class == second {
                    duels.push(at as i64);
                    is_first.push(class == first);
                }
            }
        }
        let line = |list: &[f64]| floats(list[..all.len()].to_vec(), [1, all.len()], device);
        let shape = [1, is_first.len()];
        self.pairs = Some(Pairs {
            sides: [side(|(first, second)| (second - 1, first)), side(|(first, second)| (first, second))],
            duels: ints(duels, device),
            is_first: Tensor::from_data(TensorData::new(is_first, shape), device),
            lines: probabilities.as_ref().map(|(slopes, offsets)| [line(slopes), line(offsets)]),
        });
        self
    }

    /// Returns the products of rows and vectors, or with `sums` their sums over the vectors of each class,
    /// weighted by the coefficients.
    ///
    /// `None`: the device has no kernel, or differs from that of the rows.
    pub(super) fn compare<K: Basic>(
        &self,
        basis: &Basis,
        sums: bool,
        rows: Tensor<2, K>,
    ) -> Option<Tensor<2>> {
        basis.check(rows.dims()[1]);
        if rows.device() != self.vectors.device() {
            return None;
        }
        let comparison = Comparison {
            kernel: basis.kernel,
            gamma: basis.gamma as f32,
            coef0: basis.coef0 as f32,
            degree: basis.degree as f32,
            sums: sums.then(|| self.coefficients.dims()[0]),
            classes: self.starts.dims()[0] - 1,
        };
        let machine = Machine {
            rows: Any::of(rows),
            vectors: self.vectors.clone().into_primitive(),
            coefficients: self.coefficients.clone().into_primitive(),
            starts: self.starts.clone().into_primitive(),
        };
        let sums = call!(machine_sums(machine; comparison)).tensor()?;
        Some(Tensor::from_dispatch(sums))
    }
}

fn floats<const D: usize>(values: Vec<f64>, shape: [usize; D], device: &Device) -> Tensor<D> {
    let data = TensorData::new(values, shape).convert_dtype(DType::F32);
    device.memory_persistent_allocations(data, |data| Tensor::from_data(data, (device, DType::F32)))
}

fn ints(values: Vec<i64>, device: &Device) -> Tensor<1, Int> {
    let dtype = lowered(device, DType::I64);
    let length = values.len();
    let data = TensorData::new(values, [length]).convert_dtype(dtype);
    Tensor::from_data(data, (device, dtype))
}
