"""Faults of rules that must have a counterexample: changed constants, lost terms, and conditions of functions left out.

Assumptions of laws need no entry: `prove.py` leaves out each.
"""

from dataclasses import dataclass, replace
from functools import partial

from families import casts, elementwise, integers, moves, products, structures

FAMILIES = (elementwise, products, structures, integers)
# Rules whose law cannot be stated for Z3, with the reason.
REASONS = {}


@dataclass
class Fault:
    rule: str
    text: str
    # A law, or a function that yields assumptions and goals.
    proof: object


def changed(rule, text, at=0, **fields):
    """A law of the rule with other texts or without assumptions. `at` counts its laws."""
    laws = [law for family in FAMILIES for law in family.LAWS if law.rule == rule]
    return Fault(rule, text, replace(laws[at], **fields))


WITHOUT_BIAS = {"given": {"shape": [0, 4, 2], "zero": [0, 0]}}
FAULTS = [
    changed("add zero", "the zero is +0", where={}, given={"zero": "0"}),
    changed("zero before an exponential", "1 is added", left="Exp(x + 1)"),
    changed(
        "zero before an exponential", "the function tells zeros from each other", left="Tanh(x + 0)", right="Tanh(x)"
    ),
    changed("multiply by one", "the factor is 2", right="x * 2"),
    changed("multiply by one", "the product is that of the number and itself", right="x * x"),
    changed("power of one", "the exponent is 2", left="Pow(x, 2)"),
    changed("single operand", "there are two operands", left="Sum|Mean(x, y)"),
    changed("abs of negative", "the sign remains", right="x"),
    changed("negated condition", "the operands keep their order", right="Where(c, x, y)"),
    changed(
        "reduce one element",
        "two elements are reduced",
        shapes={"x": "N2"},
        left="ReduceSum(x, axis)",
        right="ReduceMax(x, axis)",
    ),
    changed("pad of a pool", "a maximum is padded with 0", given={"pads": [0, 0, 1, 0, 0, 1], "low": "0"}),
    changed(
        "pad of a pool",
        "an average is padded with 1",
        1,
        left="AveragePool(Pad(x, pads, one))",
        given={"pads": [0, 0, 1, 0, 0, 1], "one": "1"},
    ),
    changed("gelu", "the root is 1.5", left="x * (Erf(x / 1.5) + 1) * 0.5"),
    changed("gelu", "1 is lost", left="x * Erf(x / 1.4142135623730951) * 0.5"),
    changed(
        "gelu by tanh", "the cubic term is 0.044", left="x * 0.5 * (1 + Tanh(0.7978845608028654 * (x + 0.044 * x^3)))"
    ),
    changed(
        "gelu by tanh of factors",
        "the square is a cube",
        left="x * 0.5 * (1 + Tanh(0.7978845608028654 * x * (1 + 0.044715 * x^3)))",
    ),
    changed("silu", "the sigmoid has a factor", left="x * Sigmoid(1.702 * x)"),
    changed("quick gelu", "the factor is lost", right="Swish(x)"),
    changed("hard swish", "the upper bound is 5", left="x * Clip(x + 3, 0, 5) / 6"),
    changed("hard sigmoid", "the offset is 0.4", right="HardSigmoid<alpha = 0.16666667, beta = 0.4>(x)"),
    changed("mish", "the sigmoid in place of its integral", left="x * Tanh(Sigmoid(x))"),
    changed("nested bounds", "the bounds are joined one by one", right="Min(Max(x, Max(l, a)), Min(h, b))"),
    changed(
        "already nonnegative",
        "integers, whose absolute value may wrap",
        1,
        left="Relu(Abs(x))",
        right="Abs(x)",
        over=32,
        shapes={},
    ),
    Fault("casts", "the type between has fewer digits", partial(casts.exact_values, lambda wide, narrow: True)),
    Fault("casts", "integers through floats to any integers", partial(casts.integers, lambda wide, narrow, to: True)),
    changed(
        "factor of a product", "the bias is not scaled", 1, right="MatMul(x, $w * ForWeight<kind = MatMul>($f), $b)"
    ),
    changed(
        "batch norm of a product",
        "the mean is lost",
        right=products.folded("MatMul", False).replace("$t - $m", "$t + 0 * $m"),
    ),
    changed(
        "offset before a convolution",
        "the convolution is padded",
        left="Conv<pads = 1>(x + #more, $w)",
        right="Conv<pads = 1>(x, $w, Taps($w) * #more)",
    ),
    changed(
        "pad of a convolution",
        "the padding is 1",
        left="Conv(Pad(x, pads, one), w)",
        given={"pads": [0, 0, 1, 0, 0, 1], "one": "1"},
    ),
    changed(
        "scale of a matrix product",
        "there is a bias",
        left="Linear(x, y, b) * #alpha",
        right="FusedMatMul<alpha = #alpha>(x, y) + b",
    ),
    changed(
        "product of a transpose",
        "the other operand is transposed",
        right="FusedMatMul<transposed = right>(x, y)",
        shapes={"x": "22", "y": "22"},
    ),
    changed(
        "products of sequence elements",
        "another element is taken",
        right="Gather(MatMul(x, $w), other)",
        given={"at": 1, "other": 0},
    ),
    changed(
        "rms norm", "epsilon is outside the root", left="x / (Sqrt(ReduceMean(x^2)) + #epsilon)", shapes={"x": "1"}
    ),
    changed(
        "layer norm",
        "the variance is not centered",
        left="(x - ReduceMean(x)) / Sqrt(ReduceMean(x^2) + #epsilon)",
        shapes={"x": "2"},
    ),
    changed(
        "scale of a norm", "the scale is lost", 1, right="RMSNormalization(x, 1)", shapes={"x": "11", "scale": "1"}
    ),
    changed("bias of a norm", "the bias is scaled", right="LayerNormalization(x, s, $bias * s)"),
    changed("group norm", "the bias is lost", right="GroupNormalization(x, s, zero)", **WITHOUT_BIAS),
    changed(
        "rotary embedding",
        "the halves change places without the sign",
        left="x * c + Concat<axis = -1>(Second(x), First(x)) * s",
    ),
    changed("interleaved rotary embedding", "the pairs are halves", right="JoinedRotaryEmbedding(x, c, s)"),
    changed("attention", "the mask is scaled", left="MatMul(Softmax((MatMul(q, Swap(k)) + m) * #c), v)"),
    changed(
        "attention", "the mask hides elements", 1, left="MatMul(Softmax(Where(m, #fill, MatMul(q, Swap(k)) * #c)), v)"
    ),
    changed(
        "shared heads of attention",
        "the heads are repeated in another order",
        left="JoinedAttention<scale = #c>(q, Concat<axis = 1>(k, k), Concat<axis = 1>(v, v))",
    ),
    changed("heads of a result", "the heads are not packed", right="JoinedAttention<scale = #c>(q, k, v)"),
    changed(
        "quantized matrix product",
        "the zero point of the weight is lost",
        right="QLinearMatMul(x, s, z, w, t, _, u, v)",
    ),
    changed(
        "quantized Gemm",
        "a scaled product has a bias",
        1,
        left="QuantizeLinear(Gemm<alpha = #alpha>(DequantizeLinear(x, s, z), "
        "DequantizeLinear<axis = 1>(w, t, y), Zeroless(b, t * s)), u, v)",
        right="QGemm<alpha = #alpha>(x, s, z, w, t, y, b, u, v)",
        shapes={"x": "NK", "w": "KM", "t": "M", "y": "M", "b": "M"},
    ),
    Fault("product with one-hot rows", "the index is not clamped", partial(integers.one_hot_index, False)),
    Fault(
        "transposes",
        "the permutations change places",
        partial(moves.transposes, lambda inner, outer: [outer[axis] for axis in inner]),
    ),
    Fault(
        "identity transpose",
        "the axes are reversed",
        partial(moves.identity_transpose, lambda axes: list(reversed(axes))),
    ),
    Fault(
        "transpose of joined axes",
        "axes of a run change places",
        partial(moves.joined_axes, lambda runs, axes: [axis for at in axes for axis in reversed(runs[at])]),
    ),
    Fault("reshape after a transpose", "longer axes change places", partial(moves.ones_moved, lambda axes: True)),
    Fault("slice of all", "a step is negative", partial(moves.slice_of_all, False)),
    Fault("pad of nothing", "a pad is 1", partial(moves.pad_of_nothing, 1)),
    Fault("tile of one", "a count is 2", partial(moves.tile_of_one, 2)),
    Fault("concatenation of adjacent slices", "an element lies between", partial(moves.adjacent_slices, 1)),
    Fault("slice of a concatenation", "the range ends in another input", partial(moves.slice_of_concat, False)),
    Fault("elementwise operators on slices", "another operand differs", partial(moves.elementwise_on_slices, False)),
    Fault(
        "expand before a broadcast", "a size of the result is that of no operand", partial(moves.without_expand, False)
    ),
    Fault("function of selected rows", "another operand differs for rows", partial(moves.function_of_rows, False)),
    Fault(
        "requantization",
        "the integers have 32 bits",
        partial(integers.requantization, dtypes={"int32": (-(1 << 31), (1 << 31) - 1)}),
    ),
    Fault("requantization", "the scale is 1e36", partial(integers.requantization, 1e36)),
    Fault(
        "quantized data movement", "a maximum with a negative scale", partial(integers.largest_of_dequantized, False)
    ),
    Fault("bounds before quantization", "the scale is negative", partial(integers.bounds_before_quantization, False)),
]
