//! Forests on a device that walks their trees.

use alloc::vec::Vec;
use burn::module::Module;
use burn::tensor::{DType, Device, Int, Tensor, TensorData, kind::Basic};

use super::{Aggregate, Forest, Mode, Number};
use crate::backend::{Any, Operand, Walk, call, runs_cubes};
use crate::spec::trees::{ALWAYS, Election, FEATURE, MISSING, NEVER};
use crate::{dtype::lowered, ensure, shape::lift};

/// The parameters of a forest as tensors. Their indices were checked when the forest was built.
#[derive(Module, Debug)]
pub struct Tables {
    /// `test`, `yes` and `no` of each node of the forest.
    nodes: Tensor<1, Int>,
    values: Tensor<1>,
    roots: Tensor<1, Int>,
    /// Offset of the weights of each leaf, which are in the order of their targets.
    starts: Tensor<1, Int>,
    targets: Tensor<1, Int>,
    weights: Tensor<1>,
    base: Option<Tensor<1>>,
    features: usize,
    #[module(skip)]
    mode: Option<Mode>,
}

impl Tables {
    /// Copies a forest to a device. `None`: the host walks its trees.
    pub(super) fn new<T: Number>(forest: &Forest<T>, base: &[T], device: &Device) -> Option<Self> {
        if !runs_cubes(device) || forest.roots.is_empty() {
            return None;
        }
        let floats = |values: Vec<f64>| {
            let dtype = lowered(device, T::DTYPE);
            let data = TensorData::new(filled(values.clone()), [values.len().max(1)]);
            device.memory_persistent_allocations(data.convert_dtype(dtype), |data| {
                Tensor::<1>::from_data(data, (device, dtype))
            })
        };
        let ints = |values: Vec<u32>| {
            let length = values.len().max(1);
            let data = TensorData::new(filled(values), [length]);
            device.memory_persistent_allocations(data, |data| {
                Tensor::<1, Int>::from_data(data, (device, DType::U32))
            })
        };
        let tests = forest.nodes.iter();
        let nodes = tests.flat_map(|node| [decided(node.test, node.value), node.yes, node.no]);
        let values = forest.nodes.iter().map(|node| node.value.into_f64());
        let mut weights = Vec::with_capacity(forest.weights.len());
        for leaf in forest.starts.windows(2) {
            let start = weights.len();
            weights.extend_from_slice(&forest.weights[leaf[0] as usize..leaf[1] as usize]);
            // A stable sort keeps the order of the weights of one target.
            weights[start..].sort_by_key(|&(target, _)| target);
        }
        Some(Self {
            nodes: ints(nodes.collect()),
            values: floats(values.collect()),
            roots: ints(forest.roots.clone()),
            starts: ints(forest.starts.clone()),
            targets: ints(weights.iter().map(|&(target, _)| target).collect()),
            weights: floats(weights.iter().map(|weight| weight.1.into_f64()).collect()),
            base: (!base.is_empty()).then(|| floats(base.iter().map(|base| base.into_f64()).collect())),
            features: forest.features,
            mode: forest.mode,
        })
    }

    /// Returns the aggregated weights for each row and target, 0 without a leaf that has one, and the number
    /// of such leaves.
    ///
    /// `None`: the device does not walk trees, or differs from that of the rows.
    pub(super) fn votes<K: Basic>(
        &self,
        rows: Tensor<2, K>,
        targets: usize,
        aggregate: Aggregate,
    ) -> Option<(Tensor<2>, Tensor<2, Int>)> {
        let width = rows.dims()[1];
        ensure!(
            width >= self.features,
            "the trees look at {} features, the input has {width}",
            self.features
        );
        if rows.device() != self.values.device() {
            return None;
        }
        let walk = Walk {
            rows: Any::of(rows),
            nodes: self.nodes.clone().into_primitive(),
            values: self.values.clone().into_primitive(),
            roots: self.roots.clone().into_primitive(),
            starts: self.starts.clone().into_primitive(),
            targets: self.targets.clone().into_primitive(),
            weights: self.weights.clone().into_primitive(),
        };
        let election = Election { targets, aggregate, mode: self.mode };
        let (scores, votes) = call!(tree_votes(walk; election));
        let scores = Tensor::from_dispatch(scores.tensor()?);
        Some((scores, Tensor::from_dispatch(votes.tensor()?)))
    }

    /// Returns the base values, if any, as a row.
    pub(super) fn base(&self) -> Option<Tensor<2>> {
        self.base.clone().map(lift)
    }

    pub(super) fn dtype(&self) -> DType {
        self.values.dtype()
    }
}

/// Returns at least one element: tensors of devices are not empty.
fn filled<E: Default>(mut values: Vec<E>) -> Vec<E> {
    if values.is_empty() {
        values.push(E::default());
    }
    values
}

/// Returns the test of a node with the result of a comparison with NaN encoded in its mode.
fn decided<T: Number>(test: u32, value: T) -> u32 {
    let feature = test & (MISSING | FEATURE);
    match (value.partial_cmp(&value), (test >> 28) & 7) {
        (Some(_), _) => test,
        (None, mode) if mode == Mode::NotEqual as u32 => feature | ALWAYS << 28,
        (None, _) => feature | NEVER << 28,
    }
}
