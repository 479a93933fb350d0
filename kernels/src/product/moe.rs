//! MoE and QMoE: products of each row with those experts that a router selects.

use alloc::vec::Vec;

use burn::tensor::{DType, FloatDType, Int, IntDType, Tensor, TensorData};

use super::{
    epilogue::{Activation, finish},
    matmul::linear,
};
use crate::{
    dtype::lowered,
    ensure,
    index::top_k::{Top, top_k_by},
    normalize::softmax::softmax,
    quantize::{Blocks, Zeros, unpacked},
    reader::{Blocking, Reader, Waiting, now},
    reduce::sum::sum_dim,
    shape::{WithShape, expand::to_shape, reshape},
    spec::{Operand, equal_axes, operand, shaped},
    widen::widened,
};

/// Attributes of MoE and QMoE.
#[derive(Clone, Copy, Debug)]
pub struct Experts {
    /// Number of experts for each row.
    pub chosen: usize,
    /// Whether the weights of the chosen experts are divided by their sum.
    pub normalize: bool,
    /// Function between the first and the second product.
    pub activation: Activation,
    /// Factor of the activation, if any.
    pub gate: Option<Gate>,
}

/// Result of a product that is multiplied with an activation.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    pub place: GatePlace,
    /// Value that is added to the factor.
    pub beta: f64,
    /// Bound of the factor's magnitude, and of the activation or its operand.
    pub limit: Option<f64>,
    /// Whether `limit` bounds the activation instead of its operand.
    pub limits_activation: bool,
}

/// Product that computes the factor of the activation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatePlace {
    /// The third.
    Third,
    /// The first, whose even outputs are operands of the activation.
    Odd,
    /// The first, whose first half contains the operands of the activation.
    SecondHalf,
}

/// Product of an expert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    First,
    Second,
    Third,
}

/// Weights of all experts, `[experts, outputs, inputs]`, with a bias for each output.
#[derive(Clone, Debug)]
pub struct Projection {
    pub weight: Tensor<3>,
    pub bias: Option<Tensor<2>>,
}

impl Projection {
    /// Decodes packed weights of all experts. `blocks` is the layout of one of them. Zero points are packed for each output,
    /// or for each expert if `whole`.
    pub fn packed(
        bytes: Tensor<1, Int>,
        scales: Tensor<1>,
        zeros: Option<Tensor<1, Int>>,
        bias: Option<Tensor<2>>,
        blocks: Blocks,
        experts: usize,
        whole: bool,
    ) -> Self {
        let Blocks { inputs, outputs, bits, .. } = blocks;
        let of_bytes = bytes.dims();
        let of_bytes = operand("tensor of bytes", &of_bytes);
        if let Some(bias) = &bias {
            shaped(operand("bias", &bias.dims()), &[experts, outputs], of_bytes);
        }
        let zeros = match zeros {
            None => Zeros::Middle,
            Some(zeros) if !whole => Zeros::Packed(zeros),
            Some(zeros) => {
                let (found, row) = (zeros.dims(), (outputs * bits).div_ceil(8));
                shaped(operand("tensor of zero points", &found), &[experts * row], of_bytes);
                let zeros = unpacked(zeros.with_shape([experts, row]), bits).narrow(1, 0, outputs);
                Zeros::Plain(zeros.cast(FloatDType::from(DType::F32)).with_shape([experts * outputs]))
            }
        };
        let all = Blocks { outputs: experts * outputs, ..blocks };
        let weight = all.matrix(bytes, scales, zeros, None).transpose();
        Self { weight: weight.with_shape([experts, outputs, inputs]), bias }
    }

    /// Fails unless each expert has a weight and a bias, with as many inputs, or else outputs, as the operand has features.
    fn ensure_fits(
        &self,
        name: &str,
        scores: Operand<'_>,
        (input, last): (Operand<'_>, usize),
        inputs: bool,
    ) {
        let dims = self.weight.dims();
        let weight = operand(name, &dims);
        equal_axes(weight, 0, scores, 1);
        equal_axes(weight, if inputs { 2 } else { 1 }, input, last);
        if let Some(bias) = &self.bias {
            shaped(operand("bias", &bias.dims()), &dims[..2], weight);
        }
    }

    /// Returns the products of rows with one expert, in single precision at least.
    fn apply(&self, expert: usize, rows: Tensor<2>) -> Tensor<2> {
        let [_, outputs, inputs] = self.weight.dims();
        let weight = self.weight.clone().narrow(0, expert, 1).with_shape([outputs, inputs]);
        let bias = self.bias.as_ref().map(|bias| bias.clone().narrow(0, expert, 1).with_shape([outputs]));
        linear(widened(rows), widened(weight).transpose(), bias.map(widened))
    }
}

/// MoE: for each row of the last axis of `x`, the sum of the results of the chosen experts, each times its weight.
///
/// `router` has a score of each expert for each row. The weights are its softmax, or the elements of `mixing`. The host reads
/// which experts are chosen.
pub fn moe<const D: usize>(
    x: Tensor<D>,
    router: Tensor<2>,
    mixing: Option<Tensor<2>>,
    projections: [Projection; 2],
    third: Option<Projection>,
    experts: Experts,
) -> Tensor<D> {
    now(moe_of(x, router, mixing, projections, third, experts, Blocking))
}

/// Async version of [`moe`].
pub async fn moe_async<const D: usize>(
    x: Tensor<D>,
    router: Tensor<2>,
    mixing: Option<Tensor<2>>,
    projections: [Projection; 2],
    third: Option<Projection>,
    experts: Experts,
) -> Tensor<D> {
    moe_of(x, router, mixing, projections, third, experts, Waiting).await
}

async fn moe_of<const D: usize>(
    x: Tensor<D>,
    router: Tensor<2>,
    mixing: Option<Tensor<2>>,
    [first, second]: [Projection; 2],
    third: Option<Projection>,
    experts: Experts,
    reader: impl Reader,
) -> Tensor<D> {
    let (dims, scores) = (x.dims(), router.dims());
    let (input, scores) = (operand("input", &dims), operand("scores", &scores));
    first.ensure_fits("first weight", scores, (input, D - 1), true);
    second.ensure_fits("second weight", scores, (input, D - 1), false);
    let (of_first, of_second) = (first.weight.dims(), second.weight.dims());
    let (of_first, of_second) = (operand("first weight", &of_first), operand("second weight", &of_second));
    let parts = if experts.gate.is_some_and(|gate| gate.place != GatePlace::Third) { 2 } else { 1 };
    ensure!(
        of_second.size(2).checked_mul(parts) == Some(of_first.size(1)),
        "expected {of_first} to have {parts} outputs for each input of {of_second}"
    );
    if let Some(third) = &third {
        third.ensure_fits("third weight", scores, (input, D - 1), true);
        equal_axes(operand("third weight", &third.weight.dims()), 1, of_second, 2);
    }
    let product = |layer: Layer, expert: usize, rows: Tensor<2>| match (layer, &third) {
        (Layer::First, _) => first.apply(expert, rows),
        (Layer::Second, _) => second.apply(expert, rows),
        (Layer::Third, Some(third)) => third.apply(expert, rows),
        (Layer::Third, None) => rows,
    };
    moe_by(x, router, mixing, experts, product, reader).await
}

/// [`moe`] with a function that computes the products of rows with an expert.
pub async fn moe_by<const D: usize>(
    x: Tensor<D>,
    router: Tensor<2>,
    mixing: Option<Tensor<2>>,
    experts: Experts,
    product: impl Fn(Layer, usize, Tensor<2>) -> Tensor<2>,
    reader: impl Reader,
) -> Tensor<D> {
    let (dims, dtype, device) = (x.dims(), FloatDType::from(x.dtype()), x.device());
    let (hidden, count) = (dims[D - 1], dims[..D - 1].iter().product::<usize>());
    let scores = router.dims();
    ensure!(
        scores[0] == count,
        "expected scores of {count} rows of {}, found shape {scores:?}",
        operand("input", &dims)
    );
    if let Some(mixing) = &mixing {
        shaped(operand("router weights", &mixing.dims()), &scores, operand("scores", &scores));
    }
    if dims.contains(&0) {
        return x;
    }
    let chosen = experts.chosen;
    let probabilities = softmax(widened(router), 1);
    let (weights, indices) = top_k_by(probabilities, Top { k: chosen, axis: 1, largest: true }, reader).await;
    let weights = match mixing {
        None => weights,
        Some(mixing) => widened(mixing).gather(1, indices.clone()),
    };
    let weights = match experts.normalize {
        true => weights.clone().div(to_shape(sum_dim(weights, 1), [count, chosen])),
        false => weights,
    };
    let found: Vec<usize> = reader.read(indices).await.iter::<i64>().map(|index| index as usize).collect();
    // Rows in the order of their experts, and the place of each in that order.
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|&at| found[at]);
    let mut place = alloc::vec![0i64; found.len()];
    order.iter().enumerate().for_each(|(to, &at)| place[at] = to as i64);
    let index: IntDType = lowered(&device, DType::I64).into();
    let list = |values: Vec<i64>| {
        let length = values.len();
        Tensor::from_data(TensorData::new(values, [length]), (&device, DType::from(index)))
    };
    let rows = reshape(widened(x), [count, hidden]);
    let of_one = |group: &[usize]| {
        let of_rows = group.iter().map(|&at| (at / chosen) as i64).collect();
        one(experts, found[group[0]], rows.clone().select(0, list(of_rows)), &product)
    };
    let results: Vec<Tensor<2>> =
        order.chunk_by(|&one, &other| found[one] == found[other]).map(of_one).collect();
    let results = Tensor::cat(results, 0);
    let outputs = results.dims()[1];
    let results = reshape(results.select(0, list(place)), [count, chosen, outputs]);
    let results = sum_dim(results.mul(weights.with_shape([count, chosen, 1])), 1);
    ensure!(outputs == hidden, "expected experts with {hidden} outputs, found {outputs}");
    reshape(results, dims).cast(dtype)
}

/// Returns the results of one expert.
fn one(
    experts: Experts,
    expert: usize,
    rows: Tensor<2>,
    product: &impl Fn(Layer, usize, Tensor<2>) -> Tensor<2>,
) -> Tensor<2> {
    let first = product(Layer::First, expert, rows.clone());
    let Some(gate) = experts.gate else {
        return product(Layer::Second, expert, finish(first, None, experts.activation));
    };
    let [count, outputs] = first.dims();
    let half = outputs / 2;
    ensure!(
        gate.place == GatePlace::Third || half > 0 && outputs == half * 2,
        "expected a positive even number of outputs of the first product, found {outputs}"
    );
    let (operand, factor) = match gate.place {
        GatePlace::Third => (first, product(Layer::Third, expert, rows)),
        GatePlace::SecondHalf => (first.clone().narrow(1, 0, half), first.narrow(1, half, half)),
        GatePlace::Odd => {
            let pairs = first.with_shape([count, half, 2]);
            let part = |at: usize| pairs.clone().narrow(2, at, 1).with_shape([count, half]);
            (part(0), part(1))
        }
    };
    let at_most = |x: Tensor<2>, bounds: bool| match gate.limit.filter(|_| bounds) {
        Some(limit) => x.clamp_max(limit),
        None => x,
    };
    let operand = at_most(operand, !gate.limits_activation);
    let value = at_most(finish(operand, None, experts.activation), gate.limits_activation);
    let factor = match gate.limit {
        Some(limit) => factor.clamp(-limit, limit),
        None => factor,
    };
    product(Layer::Second, expert, value.mul(factor.add_scalar(gate.beta)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{float, int, near, noise, same, with_reads};

    const TWO: Experts = Experts { chosen: 2, normalize: true, activation: Activation::Silu, gate: None };

    /// Returns the result of one expert for all rows.
    fn plain(x: Tensor<2>, [first, second]: &[Projection; 2], expert: usize) -> Tensor<2> {
        second.apply(expert, finish(first.apply(expert, x), None, Activation::Silu))
    }

    fn projections() -> [Projection; 2] {
        [
            Projection { weight: noise([3, 5, 4], 1), bias: Some(noise([3, 5], 2)) },
            Projection { weight: noise([3, 4, 5], 3), bias: None },
        ]
    }

    #[test]
    fn all_experts_together_are_a_weighted_sum() {
        let (x, scores, both) = (noise::<2>([6, 4], 4), noise::<2>([6, 3], 5), projections());
        let all = Experts { chosen: 3, normalize: false, ..TWO };
        let weights = softmax(scores.clone(), 1);
        let expected =
            (0..3).map(|expert| plain(x.clone(), &both, expert).mul(weights.clone().narrow(1, expert, 1)));
        let expected = expected.reduce(|sum, part| sum + part).expect("there are three");
        near(moe(x, scores, None, both, None, all), expected.into_data(), 1e-5);
    }

    #[test]
    fn rows_do_not_depend_on_each_other() {
        let (x, scores) = (noise::<2>([7, 4], 6), noise::<2>([7, 3], 7));
        let all = moe(x.clone(), scores.clone(), None, projections(), None, TWO);
        for row in 0..7 {
            let own = (x.clone().narrow(0, row, 1), scores.clone().narrow(0, row, 1));
            let y = moe(own.0, own.1, None, projections(), None, TWO);
            near(y, all.clone().narrow(0, row, 1).into_data(), 1e-5);
        }
    }

    #[test]
    fn halves_of_the_first_product_are_a_third_one() {
        let (x, scores) = (noise::<3>([2, 3, 4], 8), noise::<2>([6, 3], 9));
        let (gates, factors) = (noise::<3>([3, 5, 4], 10), noise::<3>([3, 5, 4], 11));
        let second = Projection { weight: noise([3, 4, 5], 12), bias: None };
        let of = |place, first: Tensor<3>, third: Option<Tensor<3>>| {
            let limit = Some(0.3);
            let gate = Gate { place, beta: 1.0, limit, limits_activation: false };
            let experts = Experts { activation: Activation::Swish(1.7), gate: Some(gate), ..TWO };
            let projection = |weight| Projection { weight, bias: None };
            let both = [projection(first), second.clone()];
            moe(x.clone(), scores.clone(), None, both, third.map(projection), experts)
        };
        let expected = of(GatePlace::Third, gates.clone(), Some(factors.clone())).into_data();
        let halves = Tensor::cat(alloc::vec![gates.clone(), factors.clone()], 1);
        near(of(GatePlace::SecondHalf, halves, None), expected.clone(), 1e-5);
        let pairs = Tensor::stack::<4>(alloc::vec![gates, factors], 2).with_shape([3, 10, 4]);
        near(of(GatePlace::Odd, pairs, None), expected, 1e-5);
    }

    #[test]
    fn zero_points_of_whole_outputs_are_packed_by_expert() {
        let blocks = Blocks { inputs: 2, outputs: 3, bits: 4, size: 2 };
        let bytes = int([0x21u8, 0x43, 0x65, 0x87, 0xa9, 0xcb]);
        let scales = float([1f32, 2.0, 1.0, 0.5, 1.0, 1.0]);
        let zeros = Some(int([0x10u8, 0x02, 0x43, 0x05]));
        let all = Projection::packed(bytes, scales, zeros, None, blocks, 2, true);
        let expected = [[[1f32, 2.0], [4.0, 6.0], [3.0, 4.0]], [[2.0, 2.5], [5.0, 6.0], [6.0, 7.0]]];
        same(all.weight, expected);
    }

    #[test]
    fn nothing_is_read_without_rows() {
        let (x, scores) = (noise::<2>([0, 4], 4), noise::<2>([0, 3], 5));
        assert_eq!(with_reads(0, || moe(x, scores, None, projections(), None, TWO)).dims(), [0, 4]);
    }
}
