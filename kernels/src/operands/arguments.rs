//! Reproducible pseudorandom operands.

use burn::tensor::{Bool, DType, Device, Element, Int, Tensor, TensorData, kind::Basic};

use crate::{dtype::stored, shape::expand::to_shape, testing::device};

/// Operands of one call.
pub struct Arguments {
    /// Shape of each operand, and the shape that it broadcasts to.
    pub shapes: Vec<[Vec<usize>; 2]>,
    /// Operands are explicitly broadcast.
    pub is_expanded: bool,
    /// Floats are f64, and all operands are on the CPU.
    pub is_double: bool,
}

impl Arguments {
    /// Returns values in [-1, 1).
    pub fn float<const D: usize>(&self, at: usize) -> Tensor<D> {
        self.floats(at, |value| value)
    }

    /// Returns values in [0.5, 1.5).
    pub fn positive<const D: usize>(&self, at: usize) -> Tensor<D> {
        self.floats(at, |value| value / 2.0 + 1.0)
    }

    fn floats<const D: usize>(&self, at: usize, change: fn(f32) -> f32) -> Tensor<D> {
        let dtype = if self.is_double { DType::F64 } else { DType::F32 };
        let values = self.noise(at).map(|value| change(value as f32 / 1024.0 - 1.0));
        self.tensor(at, values.collect::<Vec<f32>>(), dtype)
    }

    /// Returns integers from 0 to `limit`, exclusive.
    pub fn int<const D: usize>(&self, at: usize, limit: i64) -> Tensor<D, Int> {
        let values = self.noise(at).map(|value| (value % limit.max(1)) as i32);
        self.tensor(at, values.collect::<Vec<i32>>(), DType::I32)
    }

    /// Returns 8-bit integers.
    pub fn bytes<const D: usize>(&self, at: usize) -> Tensor<D, Int> {
        let values = self.noise(at).map(|value| value as u8);
        self.tensor(at, values.collect::<Vec<u8>>(), DType::U8)
    }

    pub fn bool<const D: usize>(&self, at: usize) -> Tensor<D, Bool> {
        let values: Vec<bool> = self.noise(at).map(|value| value % 3 != 0).collect();
        let data = TensorData::new(values, self.own::<D>(at));
        self.expanded(at, Tensor::from_data(data, &self.device()))
    }

    /// Returns the number of elements along an axis of an operand.
    pub fn size(&self, at: usize, axis: usize) -> usize {
        self.shapes[at][0][axis]
    }

    /// Returns pseudorandom integers from 0 to 2047, different ones for each operand.
    fn noise(&self, at: usize) -> impl Iterator<Item = i64> {
        let count = self.shapes[at][0].iter().product();
        let mut state = (at as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        (0..count).map(move |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 53) as i64
        })
    }

    /// Double precision is computed on the CPU.
    fn device(&self) -> Device {
        if self.is_double { Device::flex() } else { device() }
    }

    fn own<const D: usize>(&self, at: usize) -> [usize; D] {
        let own = &self.shapes[at][0];
        assert_eq!(own.len(), D, "rank of operand {at}");
        core::array::from_fn(|axis| own[axis])
    }

    fn tensor<const D: usize, K: Basic, E: Element>(
        &self,
        at: usize,
        values: Vec<E>,
        dtype: DType,
    ) -> Tensor<D, K> {
        let device = self.device();
        let data = TensorData::new(values, self.own::<D>(at)).convert_dtype(dtype);
        self.expanded(at, Tensor::from_data(data, (&device, stored(&device, dtype))))
    }

    fn expanded<const D: usize, K: Basic>(&self, at: usize, x: Tensor<D, K>) -> Tensor<D, K> {
        let [own, whole] = &self.shapes[at];
        if self.is_expanded && own != whole {
            let whole: [usize; D] = core::array::from_fn(|axis| whole[axis]);
            to_shape(x, whole)
        } else {
            x
        }
    }
}
