"""Laws of identities, activations and bounds, for each element alone."""

import z3

from laws import Law


def at(values, name):
    return values[name][()]


def no_zero_but_negative(d, v):
    zero = at(v, "zero")
    return [zero.zero, zero.neg]


def whole(d, v):
    r = at(v, "r")
    return [r.val == z3.ToReal(z3.Int("k"))]


# Operators whose row has the fact.
NONNEGATIVE = "Sigmoid Exp Abs Softplus Softmax ReduceL1 ReduceL2".split()

LAWS = [
    Law("add zero", "x + #zero", "x", where={"the added zero is -0": no_zero_but_negative}),
    Law("add zero", "x + #zero", "x", over=32, where={"the added integer is 0": lambda d, v: [at(v, "zero") == 0]}),
    *(Law("zero before an exponential", f"{name}(x + 0)", f"{name}(x)") for name in ("Exp", "Sigmoid", "Cos")),
    *(
        Law("zero before an exponential", f"{name}(x + 0)", f"{name}(x)", shapes={"x": "N"}, sizes=(1, 2))
        for name in ("Softmax", "LogSoftmax")
    ),
    Law("multiply by one"),
    Law("multiply by one", over=32),
    Law("multiply by one", "Div(x, 1)", over=32),
    Law("power of one"),
    Law("power of one", over=32),
    Law("and true", bools="x", over="reals", extended=None),
    Law("or false", bools="x", over="reals", extended=None),
    Law("equal operands", "Max|Min(x, x)"),
    Law("equal operands", "Max|Min(x, x)", over=32),
    Law("equal operands", "And|Or(x, x)", bools="x", over="reals", extended=None),
    Law("single operand", "Max|Min|Sum|Mean(x)"),
    Law("single operand", "Max|Min(x)", over=32),
    Law("single operand", "Concat(x)", shapes={"x": "NM"}),
    Law("cast to own type", note="a cast to the own type is the identity by definition"),
    Law("negative of negative"),
    Law("negative of negative", over=32),
    Law("not of not", bools="x", over="reals", extended=None),
    Law("abs of negative"),
    Law("abs of negative", over=32),
    Law("sign twice"),
    Law("sign twice", over=32),
    Law("already rounded", "Floor|Ceil|Round(r)", "r", where={"r is the result of Floor, Ceil or Round": whole}),
    Law("negated condition", bools="c"),
    Law("constant condition", "Where(c, x, y)", "x", bools="c", where={"c is true": lambda d, v: [at(v, "c")]}),
    Law(
        "constant condition", "Where(c, x, y)", "y", bools="c", where={"c is false": lambda d, v: [z3.Not(at(v, "c"))]}
    ),
    Law("constant condition", "Where(c, x, x)", "x", bools="c"),
    Law("sum of several operands", "Sum(x, y, z)", "(x + y) + z"),
    Law("gelu"),
    Law("gelu by tanh"),
    Law("gelu by tanh of factors"),
    Law("gelu by tanh of products"),
    Law("silu"),
    Law("quick gelu"),
    Law("hard swish", either_zero=True),
    Law("hard sigmoid", either_zero=True),
    Law("hard swish of hard sigmoid", "x * HardSigmoid<alpha = 0.16666667, beta = 0.5>(x)", either_zero=True),
    Law("mish"),
    Law("mish of logarithms"),
    Law(
        "nested bounds",
        "Min(Max(Min(Max(x, l), h), a), b)",
        "Min(Max(x, Min(Max(l, a), b)), Min(Max(h, a), b))",
        either_zero=True,
        note="even if a lower bound exceeds its upper bound",
    ),
    *(
        Law(
            "nested bounds",
            "Min(Max(Min(Max(x, l), h), a), b)",
            "Min(Max(x, Min(Max(l, a), b)), Min(Max(h, a), b))",
            over=over,
        )
        for over in (32, ("unsigned", 8))
    ),
    Law(
        "already nonnegative",
        "Relu|Abs(p)",
        "p",
        either_zero=True,
        where={"p is the result of an operator that is never negative": lambda d, v: not_negative(at(v, "p"))},
    ),
    *(
        Law(
            "already nonnegative",
            f"Relu|Abs({name}(x))",
            f"{name}(x)",
            either_zero=True,
            shapes={"x": "N"},
            sizes=(1, 2),
        )
        for name in NONNEGATIVE
    ),
    Law(
        "reduce one element",
        "ReduceSum|ReduceMean|ReduceMax|ReduceMin|ReduceProd(x, axis)",
        "x",
        shapes={"x": "N1"},
        given={"axis": [1]},
    ),
    Law("dropout at inference", "Dropout(x)", "x", note="outside training Dropout is the identity by definition"),
    Law(
        "pad of a pool",
        "MaxPool(Pad(x, pads, low))",
        "MaxPool<pads = 1>(x)",
        shapes={"x": "N13"},
        sizes=(1,),
        given={"pads": [0, 0, 1, 0, 0, 1], "low": "-inf"},
        settings={"MaxPool": {"kernel": [2]}},
        either_zero=True,
    ),
    Law(
        "pad of a pool",
        "AveragePool(Pad(x, pads))",
        "AveragePool<pads = 1>(x)",
        shapes={"x": "N13"},
        sizes=(1,),
        given={"pads": [0, 0, 1, 0, 0, 1]},
        settings={"AveragePool": {"kernel": [2]}},
        note="padding is counted",
    ),
]


def not_negative(p):
    return [z3.Or(p.nan, z3.Not(p.neg))]
