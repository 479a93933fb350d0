"""Quantized tensors."""

import numpy as np

from specs import of


def scale_of(d, shape, dtype=np.float32):
    if np.dtype(dtype).kind == "i":
        return d.plain(np.dtype(dtype), shape, 1, 5)
    return d.plain(np.dtype(dtype), shape, 0.01, 0.5)


def granularity(d, shape):
    """The shape of the scale, and the attributes that say so."""
    ways = ["tensor"] + ["axis"] * d.has("axis") + ["block"] * d.has("block_size")
    way = d.pick(ways)
    if way == "tensor" or not shape:
        return [], {}
    axis = d.axis(len(shape))
    if way == "axis":
        return shape[axis:][:1], {"axis": axis}
    block = d.int(1, max(shape[axis], 1))
    scale = list(shape)
    scale[axis] = -(-shape[axis] // block)
    return scale, {"axis": axis, "block_size": block}


@of("QuantizeLinear", "com.microsoft:QuantizeLinear")
def quantize(d):
    d.extremes = False
    shape = d.shape(1 if d.version < 13 else 0, 4, 1)
    scale, attributes = granularity(d, shape)
    x_type = d.type()
    # Versions before 23 have one type for both.
    scale_type = x_type if d.version >= 19 or d.schema.domain else np.dtype(np.float32)
    zero_type = d.type(2)
    zero = d.plain(zero_type, scale) if d.chance(0.7) else None
    attributes |= d.some(saturate=[1])
    return [d.values(x_type, shape), scale_of(d, scale, scale_type), zero], attributes


@of("DequantizeLinear", "com.microsoft:DequantizeLinear")
def dequantize(d):
    shape = d.shape(1 if d.version < 13 else 0, 4, 1)
    scale, attributes = granularity(d, shape)
    dtype = d.type()
    scale_type = d.type(1)
    zero = d.plain(dtype, scale) if d.chance(0.7) and dtype != np.int32 else None
    d.extremes = True
    return [d.values(dtype, shape), scale_of(d, scale, scale_type), zero], attributes


@of("DynamicQuantizeLinear")
def dynamic(d):
    return [d.plain(np.dtype(np.float32), d.shape(0, 4, 1))], {}, 3


def zero_of(d, dtype):
    return d.plain(dtype, [], *((0, 200) if dtype.kind == "u" else (-60, 60)))


@of("QLinearMatMul")
def qlinear_matmul(d):
    a_type, b_type, y_type = d.type(0), d.type(3), d.type(7)
    rows, inner, columns = d.size(1), d.size(1), d.size(1)
    left, right = d.both(1)
    scale_type = d.type(1) if d.version >= 21 else np.dtype(np.float32)
    per_column = [] if d.chance(0.6) or right else [columns]
    zero = zero_of(d, b_type)
    return [d.values(a_type, [*left, rows, inner]), scale_of(d, [], scale_type), zero_of(d, a_type),
            d.values(b_type, [*right, inner, columns]), scale_of(d, per_column, scale_type),
            np.broadcast_to(zero, per_column).copy(), scale_of(d, [], scale_type) * 20, zero_of(d, y_type)], {}


@of("QLinearConv")
def qlinear_conv(d):
    from specs.product import window
    kernel = [d.int(1, 3) for _ in range(d.pick([1, 2, 2]))]
    sizes = [2 * (size - 1) + d.int(1, 5) for size in kernel]
    group = d.pick([1, 1, 2])
    channels, filters = group * d.int(1, 3), group * d.int(1, 3)
    x_type, w_type, y_type = d.type(0), d.type(3), d.type(7)
    per_filter = d.pick([[], [filters]])
    attributes = window(d, sizes, kernel) | ({"group": group} if group > 1 else {})
    bias = d.plain(np.dtype(np.int32), [filters], -1000, 1000) if d.chance(0.5) else None
    zero = np.zeros((), w_type) if d.chance(0.5) else zero_of(d, w_type)
    return [d.values(x_type, [d.int(1, 2), channels, *sizes]), scale_of(d, []), zero_of(d, x_type),
            d.values(w_type, [filters, channels // group, *kernel]), scale_of(d, per_filter),
            np.broadcast_to(zero, per_filter).copy(), scale_of(d, []) * 20, zero_of(d, y_type), bias], attributes


@of("com.microsoft:QLinearAdd", "com.microsoft:QLinearMul")
def qlinear_pair(d):
    left, right = d.both(3)
    dtype = d.type()
    return [d.values(dtype, left), scale_of(d, []), zero_of(d, dtype), d.values(dtype, right), scale_of(d, []),
            zero_of(d, dtype), scale_of(d, []), zero_of(d, dtype)], {}


@of("com.microsoft:QLinearSigmoid", "com.microsoft:QLinearLeakyRelu")
def qlinear_unary(d):
    dtype = d.type()
    return [d.values(dtype, d.shape(1, 3, 1)), scale_of(d, []), zero_of(d, dtype), scale_of(d, []),
            zero_of(d, dtype)], d.some(alpha=[0.01, 0.3])
