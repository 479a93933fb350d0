"""Definitions of elementwise operators, moves and reductions, from ONNX's specification, on arrays of elements."""

from itertools import product

import numpy as np

OPERATORS = {}


def operator(*names):
    def register(function):
        for name in names:
            OPERATORS[name] = function
        return function

    return register


def array(values, shape=None):
    """An array of objects, which numpy does not look into."""
    if shape is None:
        result = np.empty((), object)
        result[()] = values
        return result
    result = np.empty(len(values), object)
    for at, value in enumerate(values):
        result[at] = value
    return result.reshape(shape)


def lifted(d, x):
    """Constants as elements of the domain."""
    if not isinstance(x, np.ndarray):
        return x
    if x.dtype == object:
        return x
    return array([d.number(str(value)) for value in x.ravel()], x.shape)


def each(d, function, *operands):
    operands = [lifted(d, x) for x in operands]
    result = np.frompyfunc(function, len(operands), 1)(*operands)
    return result if isinstance(result, np.ndarray) else array(result)


def filled(shape, value):
    result = np.empty(shape, object)
    result.fill(value)
    return result


def ints(x):
    return [int(value) for value in np.asarray(x).ravel()]


# Functions of one element.


def sigmoid(d, x):
    return d.function("Sigmoid", x)


def softplus(d, x):
    return d.function("Log", d.add(d.function("Exp", x), d.number(1)))


def clamped(d, x, low=None, high=None):
    x = x if low is None else d.larger(x, low)
    return x if high is None else d.smaller(x, high)


def hard_sigmoid(d, x, alpha, beta):
    return clamped(d, d.add(d.mul(x, d.number(alpha)), d.number(beta)), d.number(0), d.number(1))


def gelu(d, x, approximate):
    half = d.mul(x, d.number("1/2"))
    if approximate == "tanh":
        cube = d.mul(d.mul(x, x), x)
        inner = d.mul(d.named("√(2/π)"), d.add(x, d.mul(d.number("0.044715"), cube)))
        return d.mul(half, d.add(d.number(1), d.function("Tanh", inner)))
    erf = d.function("Erf", d.divided(x, d.named("√2")))
    return d.mul(half, d.add(d.number(1), erf))


def elu(d, x, alpha):
    below = d.mul(d.number(alpha), d.add(d.function("Exp", x), d.number(-1)))
    return d.choose(d.less(x, d.number(0)), below, x)


# The function of each operator of one element, with its attributes and their defaults.
UNARY = {
    "Abs": (lambda d, x: d.larger(x, d.neg(x)) if not hasattr(d, "absolute") else d.absolute(x), {}),
    "Neg": (lambda d, x: d.neg(x), {}),
    "Exp": (lambda d, x: d.function("Exp", x), {}),
    "Log": (lambda d, x: d.function("Log", x), {}),
    "Erf": (lambda d, x: d.function("Erf", x), {}),
    "Tanh": (lambda d, x: d.function("Tanh", x), {}),
    "Sqrt": (lambda d, x: d.function("Sqrt", x), {}),
    "Cos": (lambda d, x: d.function("Cos", x), {}),
    "Sigmoid": (sigmoid, {}),
    "Softplus": (softplus, {}),
    "Reciprocal": (lambda d, x: d.inverse(x), {}),
    "Relu": (lambda d, x: d.larger(x, d.number(0)), {}),
    "LeakyRelu": (
        lambda d, x, alpha: d.choose(d.less(x, d.number(0)), d.mul(x, d.number(alpha)), x),
        {"alpha": "0.01"},
    ),
    "Elu": (elu, {"alpha": "1"}),
    "Gelu": (gelu, {"approximate": "none"}),
    "Swish": (lambda d, x, alpha: d.mul(x, sigmoid(d, d.mul(d.number(alpha), x))), {"alpha": "1"}),
    "HardSigmoid": (hard_sigmoid, {"alpha": "1/5", "beta": "1/2"}),
    "HardSwish": (lambda d, x: d.mul(x, hard_sigmoid(d, x, "1/6", "1/2")), {}),
    "Mish": (lambda d, x: d.mul(x, d.function("Tanh", softplus(d, x))), {}),
    "Floor": (lambda d, x: d.whole("Floor", x), {}),
    "Ceil": (lambda d, x: d.whole("Ceil", x), {}),
    "Round": (lambda d, x: d.whole("Round", x), {}),
    "Sign": (lambda d, x: d.sign(x), {}),
    "Not": (lambda d, x: ~x, {}),
    "IsNaN": (lambda d, x: d.nan(x), {}),
}
BINARY = {
    "Add": lambda d, a, b: d.add(a, b),
    "Sub": lambda d, a, b: d.add(a, d.neg(b)),
    "Mul": lambda d, a, b: d.mul(a, b),
    "Div": lambda d, a, b: d.divided(a, b),
    "And": lambda d, a, b: a & b,
    "Or": lambda d, a, b: a | b,
    "Equal": lambda d, a, b: d.equal(a, b),
    "Less": lambda d, a, b: d.less(a, b),
    "Greater": lambda d, a, b: d.less(b, a),
    "BitwiseXor": lambda d, a, b: d.bits("Xor", a, b),
}
FOLDS = {
    "Add": lambda d, a, b: d.add(a, b),
    "Sum": lambda d, a, b: d.add(a, b),
    "Mean": lambda d, a, b: d.add(a, b),
    "Max": lambda d, a, b: d.larger(a, b),
    "Min": lambda d, a, b: d.smaller(a, b),
}


def unary(name, attributes):
    """The function of an operator with attributes, for one element."""
    function, defaults = UNARY[name]
    settings = {key: attributes.get(key, default) for key, default in defaults.items()}
    return lambda d, x: function(d, x, **settings)


for NAME in UNARY:
    operator(NAME)(lambda d, a, x, name=NAME: each(d, lambda v: unary(name, a)(d, v), x))
for NAME in BINARY:
    operator(NAME)(lambda d, a, x, y, name=NAME: each(d, lambda v, w: BINARY[name](d, v, w), x, y))


@operator("Max", "Min", "Sum", "Mean")
def folded(d, a, *operands):
    name = a["operator"]
    result = lifted(d, operands[0])
    for operand in operands[1:]:
        result = each(d, lambda v, w: FOLDS[name](d, v, w), result, operand)
    if name == "Mean":
        result = each(d, lambda v: d.divided(v, d.number(len(operands))), result)
    return result


@operator("Clip")
def clip(d, a, x, low=None, high=None):
    bounds = [None if bound is None else lifted(d, bound)[()] for bound in (low, high)]
    return each(d, lambda v: clamped(d, v, *bounds), x)


@operator("Pow")
def power(d, a, x, exponent):
    known = d.known(lifted(d, exponent).ravel()[0])
    factors = {"1": 1, "2": 2, "3": 3}
    if str(known) == "1/2":
        return each(d, lambda v: d.function("Sqrt", v), x)
    result = x = lifted(d, x)
    for _ in range(factors[str(known)] - 1):
        result = each(d, d.mul, result, x)
    return result


@operator("Where")
def where(d, a, condition, x, y):
    return each(d, lambda c, v, w: d.choose(c, v, w), condition, x, y)


@operator("Cast")
def cast(d, a, x):
    return each(d, lambda v: d.cast(v, a.get("to")), x) if x.dtype == object else x


@operator("Identity", "Dropout")
def same(d, a, x, *rest):
    return x


# Moves of elements.


@operator("Shape")
def shape_of(d, a, x):
    return np.array(x.shape[a.get("start") or 0 : a.get("end")], int)


@operator("Reshape")
def reshape(d, a, x, sizes):
    sizes = ints(sizes)
    if not a.get("allowzero"):
        sizes = [x.shape[at] if size == 0 else size for at, size in enumerate(sizes)]
    return x.reshape(sizes)


@operator("Flatten")
def flatten(d, a, x):
    axis = a.get("axis", 1)
    return x.reshape(int(np.prod(x.shape[:axis])), -1)


@operator("Squeeze")
def squeeze(d, a, x, axes=None):
    return np.squeeze(x, None if axes is None else tuple(ints(axes)))


@operator("Unsqueeze")
def unsqueeze(d, a, x, axes):
    return np.expand_dims(x, tuple(ints(axes)))


@operator("Transpose")
def transpose(d, a, x):
    return np.transpose(x, a.get("perm") or None)


@operator("Expand")
def expand(d, a, x, sizes):
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(ints(sizes))))


@operator("Tile")
def tile(d, a, x, counts):
    return np.tile(x, ints(counts))


@operator("Slice")
def cut(d, a, x, starts, ends, axes=None, steps=None):
    axes = range(len(ints(starts))) if axes is None else ints(axes)
    steps = [1] * len(ints(starts)) if steps is None else ints(steps)
    parts = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, ints(starts), ints(ends), steps):
        parts[axis] = slice(start, end, step)
    return x[tuple(parts)]


@operator("Split")
def split(d, a, x, sizes=None):
    axis = a.get("axis", 0)
    count = a["results"]
    if sizes is None:
        part = -(-x.shape[axis] // count)
        ends = [min(part * (at + 1), x.shape[axis]) for at in range(count - 1)]
    else:
        ends = list(np.cumsum(ints(sizes)))[:-1]
    return np.split(x, ends, axis)


@operator("Concat")
def concat(d, a, *parts):
    if any(part.dtype == object for part in parts):
        parts = [lifted(d, part) for part in parts]
    return np.concatenate(parts, a.get("axis", 0))


@operator("Gather")
def gather(d, a, x, indices):
    axis = a.get("axis", 0)
    if indices.dtype != object:
        return np.take(x, indices, axis)
    # An index of the domain selects by comparison with each position.
    rows = np.moveaxis(lifted(d, x), axis, 0)
    flat = [selected(d, rows, index) for index in indices.ravel()]
    picked = np.stack(flat).reshape(indices.shape + rows.shape[1:])
    order = list(range(indices.ndim, indices.ndim + axis)) + list(range(indices.ndim))
    return np.transpose(picked, order + list(range(indices.ndim + axis, picked.ndim)))


def selected(d, rows, index):
    result = rows[-1]
    for at in reversed(range(len(rows) - 1)):
        chosen = d.equal(index, d.number(at))
        result = each(d, lambda v, w: d.choose(chosen, v, w), rows[at], result)
    return result


@operator("Pad")
def pad(d, a, x, pads, value=None, axes=None):
    sizes, x = ints(pads), lifted(d, x)
    axes = range(x.ndim) if axes is None else ints(axes)
    width = [(0, 0)] * x.ndim
    for at, axis in enumerate(axes):
        width[axis] = (sizes[at], sizes[at + len(sizes) // 2])
    value = d.number(0) if value is None else lifted(d, value).ravel()[0]
    result = filled([size + sum(ends) for size, ends in zip(x.shape, width)], value)
    result[tuple(slice(before, before + size) for size, (before, _) in zip(x.shape, width))] = x
    return result


@operator("ConstantOfShape")
def constant_of_shape(d, a, sizes):
    return filled(ints(sizes), d.number(a.get("value", 0)))


# Reductions.

REDUCTIONS = "Sum Mean Max Min Prod L1 L2 SumSquare LogSum LogSumExp".split()


def total(d, values):
    result = None
    for value in values:
        result = value if result is None else d.add(result, value)
    return d.number(0) if result is None else result


def reduced_once(d, name, values):
    if name in ("Max", "Min", "Prod"):
        result, fold = values[0], {"Max": d.larger, "Min": d.smaller, "Prod": d.mul}[name]
        for value in values[1:]:
            result = fold(result, value)
        return result
    before = {"L1": "Abs", "LogSumExp": "Exp"}.get(name)
    if before:
        values = [unary(before, {})(d, value) for value in values]
    if name in ("L2", "SumSquare"):
        values = [d.mul(value, value) for value in values]
    result = total(d, values)
    if name == "Mean":
        return d.divided(result, d.number(len(values)))
    after = {"L2": "Sqrt", "LogSum": "Log", "LogSumExp": "Log"}.get(name)
    return unary(after, {})(d, result) if after else result


def reduced(d, name, x, axes, keep):
    x = lifted(d, x)
    axes = sorted(axis % x.ndim for axis in axes)
    kept = [1 if axis in axes else size for axis, size in enumerate(x.shape)]
    result = np.empty(kept, object)
    for at in product(*map(range, kept)):
        part = x[tuple(slice(None) if axis in axes else slice(index, index + 1) for axis, index in enumerate(at))]
        result[at] = reduced_once(d, name, list(part.ravel()))
    return result if keep else result.reshape([size for axis, size in enumerate(kept) if axis not in axes])


def reduction(name):
    def run(d, a, x, axes=None):
        axes = ints(axes) if axes is not None else a.get("axes") or range(x.ndim)
        return reduced(d, name, x, axes, a.get("keepdims", 1))

    return run


for NAME in REDUCTIONS:
    OPERATORS[f"Reduce{NAME}"] = reduction(NAME)
for NAME, FOLD in (("GlobalAveragePool", "Mean"), ("GlobalMaxPool", "Max")):
    operator(NAME)(lambda d, a, x, fold=FOLD: reduced(d, fold, x, range(2, x.ndim), True))
