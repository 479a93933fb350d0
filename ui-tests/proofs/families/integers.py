"""Laws of quantized operators and of indices, over integers with exact rounding."""

import z3

from laws import Law
from reals import rounded

UNITS = {"uint8": (0, 255), "int8": (-128, 127), "uint16": (0, 65535), "int16": (-32768, 32767)}
# Relative error of a product or a quotient in single precision without overflow or underflow.
ULP = z3.Q(1, 1 << 24)


def requantization(largest=1e30, dtypes=UNITS):
    """((q - z)s / s) + z rounds to q: each operation in single precision has a relative error of at most 2⁻²⁴."""
    for low, high in dtypes.values():
        q, z, a, b, s = z3.Int("q"), z3.Int("z"), z3.Real("a"), z3.Real("b"), z3.Real("s")
        n = z3.ToReal(q - z)
        facts = [low <= q, q <= high, low <= z, z <= high]
        errors = [-ULP <= a, a <= ULP, -ULP <= b, b <= ULP]
        quotient = n * (1 + a) * (1 + b)
        yield facts + errors, z3.And(quotient - n < z3.Q(1, 2), n - quotient < z3.Q(1, 2))
        # A number nearer than one half rounds to the integer.
        v = z3.Real("v")
        yield facts + [v - n < z3.Q(1, 2), n - v < z3.Q(1, 2)], rounded(v) == n
        # The product is a normal number: it neither overflows nor underflows.
        most = z3.RealVal(max(high - low, 1))
        m = z3.Real("m")
        yield [1 <= m, m <= most, s > 0], z3.And(m * s >= s, m * s <= most * s)
        limits = [s >= z3.Q(1, 10**30), s <= z3.RealVal(int(largest))]
        yield limits, z3.And(most * s < z3.RealVal(2**128 - 2**103), s >= z3.Q(1, 2**126))


def clamp(v, low, high):
    v = z3.If(v < low, low, v)
    return z3.If(v > high, high, v)


def bounds_before_quantization(is_positive=True):
    """Rounding is monotonic, and so is the quantization with a positive scale; so the clamps can be exchanged."""
    a, b, s, x = z3.Reals("a b s x")
    z = z3.Int("z")
    yield [a <= b], rounded(a) <= rounded(b)
    scale = [s > 0] if is_positive else [s != 0]
    yield scale + [a <= b], a / s <= b / s
    # With q for the quantization: a <= b implies q(a) <= q(b).
    q = z3.Function("q", z3.RealSort(), z3.RealSort())
    low, high = z3.Reals("low high")
    inner = clamp(x, low, high)
    pairs = [(x, low), (x, high), (low, high)]
    monotonic = [z3.Implies(u <= v, q(u) <= q(v)) for u, v in pairs + [(v, u) for u, v in pairs]]
    yield monotonic + [low <= high], q(inner) == clamp(q(x), q(low), q(high))
    # The zero point and the range of integers keep the order, too.
    for least, most in UNITS.values():
        first, second = (clamp(value + z3.ToReal(z), z3.RealVal(least), z3.RealVal(most)) for value in (a, b))
        yield [a <= b], first <= second


def largest_of_dequantized(is_positive=True):
    """The maximum of dequantized integers is that of the integers, dequantized."""
    a, b, z, s = *z3.Ints("a b z"), z3.Real("s")
    first, second = z3.ToReal(a - z) * s, z3.ToReal(b - z) * s
    yield [s > 0] if is_positive else [s != 0], (first <= second) == (a <= b)


def one_hot_index(is_clamped=True):
    """The row of a class, or the row of zeros after the last: integers of 32 and 64 bits, which do not overflow."""
    for bits in (32, 64):
        i, first, count = (z3.BitVec(name, bits) for name in ("i", "first", "count"))
        end = first + count
        facts = [count >= 1, end > first]
        none = z3.Or(i < first, i > end)
        row = (z3.If(none, end, i) if is_clamped else i) - first
        yield facts, z3.And(row >= 0, row <= count)
        yield facts, z3.Implies(z3.And(i >= first, i < end), row == i - first)
        yield facts, (row == count) == z3.Or(i < first, i >= end)


SPECIAL = [
    (
        "requantization",
        requantization,
        "integers and reals, errors of single precision bounded",
        "the type has at most 16 bits; 1e-30 ≤ s ≤ 1e30",
    ),
    (
        "quantized data movement",
        requantization,
        "integers and reals, errors of single precision bounded",
        "the type has at most 16 bits; 1e-30 ≤ s ≤ 1e30",
    ),
    ("quantized data movement", largest_of_dequantized, "integers and reals", "the scale is positive"),
    (
        "bounds before quantization",
        bounds_before_quantization,
        "reals, rounding to even",
        "the scale is positive; no lower bound exceeds its upper bound",
    ),
    (
        "product with one-hot rows",
        one_hot_index,
        "bit vectors",
        "the classes are consecutive; the type represents their end",
    ),
]


def consecutive(d, v):
    """The classes are k, k + 1 and k + 2; the index is an integer."""
    i, k = v["i"][0, 0], v["k"]
    facts = d.finite(v["i"], k) + [z3.IsInt(i.val), z3.IsInt(k[0].val)]
    return facts + [k[at].val == k[0].val + at for at in (1, 2)]


REALS = {"over": "reals", "sizes": (1, 2), "extended": None}


def of_sums(d, v):
    """The bias has the product of both scales; the rule allows a difference of 1e-5 of it, as rounding."""
    return [own == d.mul(t, v["s"][()]) for own, t in zip(v["r"].ravel(), v["t"].ravel())]


OF_SUMS = {"where": {"the scale of the bias is that of the sums": of_sums}}


def dq(name, scale="s", zero="z"):
    return f"DequantizeLinear({name}, {scale}, {zero})"


def steps(step, own, inputs, quantized=None, rule="quantized operator", **other):
    """An operator of quantized values by its definition: the operators that it replaces."""
    fields = {**REALS, "note": "the definition of the quantized operator", **other}
    return Law(rule, f"QuantizeLinear({step}, u, v)", f"{own}({inputs}, u, v{quantized or ''})", **fields)


UNARY = "LeakyRelu Sigmoid Tanh Relu".split()
PRODUCT = {"x": "NK", "w": "KM", "t": "M", "y": "M"}

LAWS = [
    *(
        steps(
            f"{name}({dq('a')}, {dq('b', 't', 'w')})", f"QLinear{name}", "a, s, z, b, t, w", shapes={"a": "N", "b": "N"}
        )
        for name in ("Add", "Mul")
    ),
    *(steps(f"{name}({dq('a')})", f"QLinear{name}", "a, s, z", shapes={"a": "N"}) for name in UNARY + ["Softmax"]),
    steps(f"GlobalAveragePool({dq('a')})", "QLinearGlobalAveragePool", "a, s, z", shapes={"a": "N23"}),
    *(
        steps(
            f"{name}({dq('a')} + b)",
            f"QLinear{name}",
            "a, s, z",
            ", b",
            "quantized activation of a biased value",
            shapes={"a": "N2", "b": "2"},
        )
        for name in UNARY
    ),
    steps(f"{dq('a')} + b", "QLinearAdd", "a, s, z", ", b", "quantized bias", shapes={"a": "N2", "b": "2"}),
    steps(
        f"Where(c, {dq('a')}, {dq('b', 't', 'w')})",
        "QLinearWhere",
        "c, a, s, z, b, t, w",
        rule="quantized selection",
        shapes={"a": "N", "b": "N", "c": "N"},
        bools="c",
    ),
    Law(
        "quantized concatenation",
        f"QuantizeLinear(Concat({dq('a')}, {dq('b', 't', 'w')}), u, v)",
        "QLinearConcat<axis = 0>(u, v, a, s, z, b, t, w)",
        shapes={"a": "N", "b": "M"},
        **REALS,
    ),
    Law(
        "quantized convolution",
        f"QuantizeLinear(Conv({dq('x')}, DequantizeLinear<axis = 0>(w, t, y), Zeroless(b, r)), u, v)",
        "QLinearConv(x, s, z, w, t, y, u, v, b)",
        shapes={"x": "N13", "w": "M12", "t": "M", "y": "M", "b": "M", "r": "M"},
        **OF_SUMS,
        **REALS,
    ),
    Law(
        "quantized matrix product",
        f"QuantizeLinear(MatMul({dq('x')}, DequantizeLinear<axis = 1>(w, t, y)), u, v)",
        "QLinearMatMul(x, s, z, w, t, y, u, v)",
        shapes=PRODUCT,
        **REALS,
    ),
    Law(
        "quantized Gemm",
        f"QuantizeLinear(Gemm({dq('x')}, DequantizeLinear<axis = 1>(w, t, y), Zeroless(b, r)), u, v)",
        "QGemm(x, s, z, w, t, y, b, u, v)",
        shapes={**PRODUCT, "b": "M", "r": "M"},
        **OF_SUMS,
        **REALS,
    ),
    Law(
        "quantized Gemm",
        f"QuantizeLinear(Gemm<alpha = #alpha>({dq('x')}, DequantizeLinear<axis = 1>(w, t, y)), u, v)",
        "QGemm<alpha = #alpha>(x, s, z, w, t, y, _, u, v)",
        shapes=PRODUCT,
        note="a scaled product has no bias",
        **REALS,
    ),
    Law(
        "dequantized integer product",
        "Cast(MatMulInteger(a, b, z, y)) * scale * factor",
        "MatMulIntegerToFloat(a, b, scale, factor, z, y)",
        shapes={"a": "NK", "b": "KM", "factor": "M"},
        **REALS,
    ),
    Law(
        "bias of an integer product",
        "MatMulIntegerToFloat(a, b, s, t, z, y) + $bias",
        "MatMulIntegerToFloat(a, b, s, t, z, y, $bias)",
        shapes={"a": "NK", "b": "KM", "t": "M", "bias": "M"},
        **REALS,
    ),
    Law(
        "bias of an integer product",
        "DynamicQuantizeMatMul(x, b, t, y) + $bias",
        "DynamicQuantizeMatMul(x, b, t, y, $bias)",
        shapes={"x": "NK", "b": "KM", "t": "M", "bias": "M"},
        **REALS,
    ),
    Law(
        "dynamically quantized product",
        "MatMulIntegerToFloat(Quantized(x), b, ScaleOf(x), t, ZeroOf(x), y)",
        "DynamicQuantizeMatMul(x, b, t, y)",
        shapes={"x": "NK", "b": "KM", "t": "M"},
        **REALS,
    ),
    Law(
        "product with one-hot rows",
        "MatMul(Cast(Equal(i, k)), $w)",
        "ClassRow(i, k, $w)",
        shapes={"i": "N1", "k": "3", "w": "3M"},
        over="numbers",
        sizes=(1,),
        either_zero=True,
        where={
            "the weight is finite": lambda d, v: d.finite(v["w"]),
            "the classes are consecutive integers": consecutive,
        },
    ),
]
