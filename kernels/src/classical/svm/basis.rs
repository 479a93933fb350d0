//! Kernel functions of rows and support vectors.

use alloc::{vec, vec::Vec};
#[cfg(not(feature = "std"))]
use num_traits::Float as _;

use crate::{
    classical::rows::{Work, vectorized},
    ensure,
};

/// Kernel function of a row and a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernel {
    #[default]
    Linear,
    Poly,
    Rbf,
    Sigmoid,
}

/// The support vectors, and the kernel function that compares rows with them.
#[derive(Clone, Debug)]
pub struct Basis {
    pub kernel: Kernel,
    pub gamma: f64,
    pub coef0: f64,
    pub degree: f64,
    pub vectors: Vectors,
}

/// Support vectors, the same feature of several vectors side by side.
#[derive(Clone, Debug)]
pub struct Vectors {
    blocks: Vec<[f64; LANES]>,
    /// Number of vectors, and of their features.
    count: usize,
    features: usize,
    /// Number of elements of all vectors.
    elements: usize,
}

/// Number of vectors that are compared with a row at once.
const LANES: usize = 8;
/// Number of rows that are compared with the vectors of a block before the next, so that a block stays in the cache.
const ROWS: usize = 8;

impl Vectors {
    /// Arranges `count` vectors that follow each other.
    pub fn new(elements: &[f64], count: usize) -> Self {
        let features = elements.len().checked_div(count).unwrap_or(0);
        let mut blocks = vec![[0.0; LANES]; count.div_ceil(LANES) * features];
        for (at, vector) in elements.chunks_exact(features.max(1)).take(count).enumerate() {
            let first = at / LANES * features;
            let block = blocks[first..first + features].iter_mut();
            block.zip(vector).for_each(|(lanes, element)| lanes[at % LANES] = *element);
        }
        Self { blocks, count, features, elements: elements.len() }
    }
}

impl Basis {
    /// Returns the work for some rows.
    pub fn work(&self, rows: usize) -> Work {
        // The kernel function takes about as long as 16 features.
        let features = self.vectors.features.saturating_add(16);
        Work::Multiplications(rows.saturating_mul(self.vectors.count).saturating_mul(features))
    }

    /// Checks the number of features of a row.
    pub fn check(&self, features: usize) {
        let Vectors { count, elements, .. } = self.vectors;
        ensure!(
            Some(elements) == count.checked_mul(features),
            "expected {count} support vectors of {features} features, found {elements} values"
        );
    }

    /// Calls `visit` with each row and its kernel function of each vector.
    pub fn each_row(&self, rows: &[f64], count: usize, mut visit: impl FnMut(usize, &[f64])) {
        let (features, vectors) = (self.vectors.features, self.vectors.count);
        let mut products = vec![0.0; vectors * ROWS.min(count)];
        for first in (0..count).step_by(ROWS) {
            let here = ROWS.min(count - first);
            let products = &mut products[..vectors * here];
            let rows = &rows[first * features..(first + here) * features];
            vectorized(
                #[inline(always)]
                || self.compare(rows, here, products),
            );
            for row in 0..here {
                let products = &mut products[row * vectors..(row + 1) * vectors];
                self.apply(products);
                visit(first + row, products);
            }
        }
    }

    /// Computes dot products of rows and vectors, or their squared distances.
    #[inline(always)]
    fn compare(&self, rows: &[f64], count: usize, products: &mut [f64]) {
        let (features, vectors) = (self.vectors.features, self.vectors.count);
        for first in (0..vectors).step_by(LANES) {
            let block = &self.vectors.blocks[first / LANES * features..][..features];
            for row in 0..count {
                let features = rows[row * features..(row + 1) * features].iter().zip(block);
                let mut sums = [0.0; LANES];
                if self.kernel == Kernel::Rbf {
                    for (x, lanes) in features {
                        for (sum, lane) in sums.iter_mut().zip(lanes) {
                            *sum += (x - lane) * (x - lane);
                        }
                    }
                } else {
                    for (x, lanes) in features {
                        for (sum, lane) in sums.iter_mut().zip(lanes) {
                            *sum += x * lane;
                        }
                    }
                }
                let start = row * vectors + first;
                let end = start + LANES.min(vectors - first);
                products[start..end].copy_from_slice(&sums[..end - start]);
            }
        }
    }

    /// Applies the kernel function to dot products or squared distances.
    fn apply(&self, products: &mut [f64]) {
        let Self { gamma, coef0, degree, .. } = *self;
        match self.kernel {
            Kernel::Linear => {}
            Kernel::Poly => products.iter_mut().for_each(|x| *x = (gamma * *x + coef0).powf(degree)),
            Kernel::Rbf => products.iter_mut().for_each(|x| *x = (-gamma * *x).exp()),
            Kernel::Sigmoid => products.iter_mut().for_each(|x| *x = (gamma * *x + coef0).tanh()),
        }
    }
}
