"""Reductions, sums along an axis, and choices of elements."""

import numpy as np

from specs import of

SUMS = "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMean ReduceProd ReduceSum ReduceSumSquare".split()


@of(*SUMS, "ReduceMax", "ReduceMin")
def reduction(d):
    d.extremes = d.schema.name in ("ReduceMax", "ReduceMin")
    dtype, shape = d.type(), d.shape()
    if dtype.kind in "iu" and not d.extremes:
        x = d.plain(dtype, shape, -3, 3)
    else:
        x = d.values(dtype, shape)
    attributes = d.some(keepdims=[0, 1], noop_with_empty_axes=[0, 1])
    axes = d.axes(len(shape), negative=d.version >= 11)
    if "axes" in d.schema.attributes:
        if axes:
            attributes["axes"] = axes
        return [x], attributes
    return [x, d.ints(axes) if d.chance(0.8) else None], attributes


@of("ArgMax", "ArgMin")
def arg(d):
    shape = d.shape(1, 4, 1)
    attributes = d.some(keepdims=[0, 1], select_last_index=[0, 1]) | {"axis": d.axis(len(shape), d.version >= 11)}
    # Many equal elements.
    dtype = d.type()
    return [d.plain(dtype, shape, 0, 3).round() if d.chance(0.5) else d.values(dtype, shape)], attributes


@of("CumSum", "CumProd")
def cumulative(d):
    d.extremes = False
    shape = d.shape(1, 4)
    dtype = d.type()
    x = d.values(dtype, shape) if dtype.kind not in "iu" else d.plain(dtype, shape, -2, 2)
    axis = np.array(d.axis(len(shape)), d.pick([np.int32, np.int64]))
    return [x, axis.reshape([1]) if d.chance(0.2) else axis], d.some(exclusive=[0, 1], reverse=[0, 1])


@of("TopK")
def top_k(d):
    shape = d.shape(1, 4, 1)
    axis = d.axis(len(shape), d.version >= 11)
    k = d.int(0 if d.version >= 10 and d.chance(0.1) else 1, shape[axis])
    dtype = d.type()
    x = d.plain(dtype, shape, 0, 3).round() if d.chance(0.4) else d.values(dtype, shape)
    attributes = d.some(largest=[0, 1]) | {"axis": axis}
    if d.version < 10:
        return [x], attributes | {"k": k}, 2
    return [x, d.ints([k])], attributes, 2


@of("Softmax", "LogSoftmax", "Hardmax")
def softmax(d):
    d.extremes = d.schema.name == "Hardmax"
    shape = d.shape(1, 4)
    attributes = {"axis": d.axis(len(shape), d.version >= 11)} if d.chance(0.8) or d.version < 13 and len(shape) < 2 else {}
    return [d.values(d.type(), shape)], attributes


@of("Det")
def det(d):
    size = d.int(1, 4)
    return [d.plain(d.type(), [*d.shape(0, 2), size, size], -2, 2)], {}


@of("com.microsoft:Inverse")
def inverse(d):
    size = d.int(1, 4)
    matrix = d.plain(d.type(), [*d.shape(0, 2, 1), size, size], -1, 1)
    return [(matrix + 3 * np.eye(size)).astype(matrix.dtype)], {}


@of("Unique")
def unique(d):
    shape = d.shape(1, 3, 1)
    dtype = d.type()
    x = d.plain(dtype, shape, 0, 3).round() if dtype.kind in "iuf" else d.plain(dtype, shape)
    return [x], d.some(axis=lambda: d.axis(len(shape)), sorted=[0, 1]), 4


@of("NonZero")
def non_zero(d):
    dtype = d.type()
    shape = d.shape(1, 4)
    return [d.plain(dtype, shape, 0, 1).round() if dtype.kind in "iuf" else d.plain(dtype, shape)], {}


@of("Compress")
def compress(d):
    shape = d.shape(1, 4)
    attributes = d.some(axis=lambda: d.axis(len(shape), d.version >= 11))
    length = shape[attributes["axis"]] if "axis" in attributes else int(np.prod(shape, dtype=int))
    return [d.values(d.type(), shape), d.plain(bool, [d.int(0, length)])], attributes


@of("LpNormalization")
def lp_normalization(d):
    d.extremes = False
    shape = d.shape(1, 4)
    return [d.values(d.type(), shape)], d.some(p=[1, 2], axis=lambda: d.axis(len(shape)))


@of("OneHot")
def one_hot(d):
    depth = d.int(1, 5)
    shape = d.shape(0, 3)
    indices = d.plain(d.type(only=lambda dtype: dtype.name in ("int64", "int32", "float32")), shape, 0, depth - 1).round()
    if indices.dtype.kind == "i" and d.chance(0.5):
        indices = d.plain(indices.dtype, shape, -depth - 1, depth + 1)
    dtype = d.type(2)
    number = np.array(depth, np.int64)
    return [indices, number.reshape([1]) if d.chance(0.5) else number, d.plain(dtype, [2])], d.some(
        axis=lambda: d.int(-len(shape) - 1, len(shape)))
