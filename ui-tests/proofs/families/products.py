"""Laws of products and of what is folded into them, over reals: sums and products are exact."""

import z3

from laws import Law

# The shapes of the input and the weight of each kind of product. Other operands are vectors of channels.
KINDS = {
    "MatMul": {"x": "NK", "w": "KM"},
    "Gemm": {"x": "NK", "w": "KM"},
    "Conv": {"x": "N23", "w": "M22"},
    "ConvTranspose": {"x": "N23", "w": "2M2"},
}
EPSILON = "1/100000"


def of_kinds(rule, left, right, kinds=KINDS, **other):
    """A law for each kind of product, with and without bias."""
    laws = []
    for kind in kinds:
        shapes = {**dict.fromkeys("bfcstmv", "M"), **KINDS[kind]}
        for biased in (False, True):
            settings = {"BatchNormalization": {"epsilon": EPSILON}}
            texts = [text(kind, biased) for text in (left, right)]
            # A convolution adds several products for each element at size 1, too.
            size = 1 if kind.startswith("Conv") else 2
            sizes = {"sizes": (1, 2), "extended_size": size}
            laws.append(Law(rule, *texts, shapes=shapes, over="reals", settings=settings, **sizes, **other))
    return laws


def product(kind, weight, *bias, x="x"):
    """A product, whose bias is left out if it is empty."""
    return f"{kind}({', '.join([x, weight, *filter(None, bias)])})"


def norm(kind, biased):
    return f"BatchNormalization({product(kind, '$w', '$b' * biased)}, $s, $t, $m, $v)"


FACTOR = "$s / Sqrt($v + #epsilon)"


def folded(kind, biased):
    shift = f"($b - $m) * ({FACTOR}) + $t" if biased else f"$t - $m * ({FACTOR})"
    return product(kind, f"$w * ForWeight<kind = {kind}>({FACTOR})", f"({shift})")


def finite(*names):
    return lambda d, v: d.finite(*(v[name] for name in names))


def positive(d, v):
    """NaN is no problem: both sides are NaN then."""
    return [z3.Or(x.nan, x.inf, x.val + z3.Q(1, 100000) > 0) for x in v["v"].ravel()]


SCALED = {"x": "NC2", **dict.fromkeys("stmvfo", "C")}
POSITIVE = {"the variance plus epsilon is positive": positive}
NORM_IS_FINITE = {"the scale is finite": finite("s"), **POSITIVE}
SHIFT = f"$t - $m * ({FACTOR})"
NORM = "BatchNormalization(x, $s, $t, $m, $v)"
CHANNELS = {
    "over": "reals",
    "shapes": SCALED,
    "given": {"epsilon": EPSILON},
    "sizes": (1, 2),
    "settings": {"BatchNormalization": {"epsilon": EPSILON}},
}

LAWS = [
    Law(
        "factor and offset of channels",
        "x * Along<kind = Conv>($f) + Along<kind = Conv>($o)",
        "ScaleChannels(x, $f, $o)",
        **CHANNELS,
    ),
    Law(
        "batch norm of scaled channels",
        either_zero=True,
        left=f"ScaleChannels({NORM}, $f, $o)",
        right=f"ScaleChannels(x, ({FACTOR}) * $f, ({SHIFT}) * $f + $o)",
        **CHANNELS,
        extended={**POSITIVE, "all constants are finite": finite(*"stmvfo")},
    ),
    *(
        Law(
            "activation of a batch norm",
            f"{name}({NORM})",
            f"ScaleChannels<activation = {word}>(x, {FACTOR}, {SHIFT})",
            **CHANNELS,
            either_zero=True,
            extended=NORM_IS_FINITE,
        )
        for name, word in (("Relu", "Relu"), ("Tanh", "Tanh"))
    ),
    *(
        Law(
            "activation of scaled channels",
            f"{name}(ScaleChannels(x, $f, $o))",
            f"ScaleChannels<activation = {word}>(x, $f, $o)",
            **CHANNELS,
        )
        for name, word in (("Relu", "Relu"), ("Tanh", "Tanh"))
    ),
    *(
        Law(
            "activation of a product",
            f"{name}({kind}(x, $w, $b))",
            f"Fused{kind}<activation = {word}>(x, $w, $b)",
            over="reals",
            shapes={**KINDS["Conv" if kind == "Conv" else "MatMul"], "b": "M"},
            sizes=(1, 2),
        )
        for name, word in (("Relu", "Relu"), ("Tanh", "Tanh"), ("LeakyRelu<alpha = 0.2>", "LeakyRelu"))
        for kind in ("Conv", "Linear", "Gemm")
    ),
    *(
        Law(
            "bounds of a product",
            f"Clip({kind}(x, $w, $b), 0, 6)",
            f"Fused{kind}<activation = Clip>(x, $w, $b)",
            over="reals",
            shapes={**KINDS["Conv" if kind == "Conv" else "MatMul"], "b": "M"},
            sizes=(1, 2),
        )
        for kind in ("Conv", "Linear", "Gemm")
    ),
    *of_kinds(
        "factor of a product",
        lambda kind, biased: f"{product(kind, '$w', '$b' * biased)} * Along<kind = {kind}>($f)",
        lambda kind, biased: product(kind, f"$w * ForWeight<kind = {kind}>($f)", "$b * $f" * biased),
        either_zero=True,
        extended={"the factor is finite": finite("f")},
    ),
    *of_kinds(
        "bias of a product",
        lambda kind, biased: f"{product(kind, '$w', '$b' * biased)} + Along<kind = {kind}>($c)",
        lambda kind, biased: product(kind, "$w", "$b + $c" if biased else "$c"),
    ),
    *of_kinds(
        "batch norm of a product", norm, folded, given={"epsilon": EPSILON}, either_zero=True, extended=NORM_IS_FINITE
    ),
    *of_kinds(
        "factor before a product",
        lambda kind, biased: product(kind, "$w", "$b" * biased, x="x * #factor"),
        lambda kind, biased: product(kind, "$w * #factor", "$b" * biased),
        kinds=("MatMul", "Conv"),
    ),
    *of_kinds(
        "offset before a convolution",
        lambda kind, biased: product(kind, "$w", "$b" * biased, x="x + #more"),
        lambda kind, biased: product(kind, "$w", "$b + " * biased + "Taps($w) * #more"),
        kinds=("Conv",),
        either_zero=True,
        extended={"the weight is finite": finite("w"), "the offset is finite": finite("more")},
    ),
    Law(
        "pad of a convolution",
        "Conv(Pad(x, pads), w)",
        "Conv<pads = 1>(x, w)",
        over="reals",
        shapes={"x": "N23", "w": "M22"},
        given={"pads": [0, 0, 1, 0, 0, 1]},
        sizes=(1, 2),
    ),
    Law(
        "scale of a matrix product",
        "MatMul(x, y) * #alpha",
        "FusedMatMul<alpha = #alpha>(x, y)",
        over="reals",
        shapes={"x": "NK", "y": "KM"},
    ),
    Law(
        "addend of a product",
        "Linear(x, $w, $b) + z",
        "FusedLinear(x, $w, $b, z)",
        over="reals",
        shapes={"x": "NK", "w": "KM", "b": "M", "z": "NM"},
        note="FusedLinear adds its addend by definition",
    ),
    Law(
        "addend of a product",
        "Conv(x, w, b) + z",
        "FusedConv(x, w, b, z)",
        over="reals",
        shapes={"x": "N23", "w": "M22", "b": "M", "z": "NM2"},
        sizes=(1, 2),
    ),
    Law(
        "product of a transpose",
        "MatMul(Transpose(x), y)",
        "FusedMatMul<transposed = left>(x, y)",
        over="reals",
        shapes={"x": "KN", "y": "KM"},
    ),
    Law(
        "product of a transpose",
        "MatMul(x, Transpose(y))",
        "FusedMatMul<transposed = right>(x, y)",
        over="reals",
        shapes={"x": "NK", "y": "MK"},
    ),
    Law(
        "product of a transpose",
        "MatMul(Swap(x), Swap(y))",
        "FusedMatMul<transposed = both>(x, y)",
        over="reals",
        shapes={"x": "2KN", "y": "2MK"},
        sizes=(1, 2),
    ),
    Law(
        "Gemm of a transpose",
        "Gemm(Transpose(x), Transpose(y), b)",
        "Gemm<transposed = both>(x, y, b)",
        over="reals",
        shapes={"x": "KN", "y": "MK", "b": "M"},
    ),
    Law(
        "products of sequence elements",
        "MatMul(Gather(x, at), $w)",
        "Gather(MatMul(x, $w), at)",
        over="reals",
        shapes={"x": "3NK", "w": "KM"},
        given={"at": 1},
        sizes=(1, 2),
    ),
    Law(
        "products of sequence elements",
        "Linear(Gather<axis = 1>(x, at), $w, $b)",
        "Gather<axis = 1>(Linear(x, $w, $b), at)",
        over="reals",
        shapes={"x": "N3K", "w": "KM", "b": "M"},
        given={"at": 2},
        sizes=(1, 2),
    ),
    Law(
        "layers of sequence elements",
        "Gemm(Gather(x, at), $w, $b)",
        "Gather(Rows(Gemm(Flat(x), $w, $b)), at)",
        over="reals",
        shapes={"x": "3NK", "w": "KM", "b": "M"},
        given={"at": 1},
        sizes=(1, 2),
    ),
    Law(
        "distances from centers",
        "ReduceSum<keepdims = 0>((Middle(x) - $c)^2 / $d, axis)",
        "DividedDistances(x, $c, $d)",
        over="reals",
        shapes={"x": "NK", "c": "MK", "d": "MK"},
        given={"axis": [2]},
        sizes=(1, 2),
    ),
]
