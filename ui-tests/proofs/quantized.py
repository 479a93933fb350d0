"""Definitions of quantized operators: integers are reals that rounding returns."""

import numpy as np

from elements import OPERATORS, each, filled, lifted, operator, reduced
from products import activated, added, matrices, run, swapped

RANGES = {"uint8": (0, 255), "int8": (-128, 127), "uint16": (0, 65535), "int16": (-32768, 32767)}


def along(x, values, axis):
    """Scales of an axis in the shape in which they broadcast."""
    if values is None or values.size == 1 or values.ndim != 1:
        return values if values is None or values.ndim != 1 or values.size > 1 else values.reshape(())
    shape = [1] * x.ndim
    shape[axis] = -1
    return values.reshape(shape)


def dtype_of(a):
    """The type of the result, that of most quantized models in texts of laws."""
    return a.get("dtype", "uint8")


def quantize(d, x, scale, zero, dtype, axis=1):
    low, high = map(d.number, RANGES[dtype])
    quotient = each(d, lambda v, s: d.function("Round", d.divided(v, s)), x, along(x, scale, axis))
    shifted = added(d, quotient, along(x, zero, axis))
    return each(d, lambda v: d.smaller(d.larger(v, low), high), shifted)


def dequantize(d, x, scale, zero, axis=1):
    zero = along(x, zero, axis)
    difference = lifted(d, x) if zero is None else each(d, lambda v, z: d.add(v, d.neg(z)), x, zero)
    return each(d, d.mul, difference, along(x, scale, axis))


@operator("QuantizeLinear")
def quantize_linear(d, a, x, scale, zero=None):
    return quantize(d, x, scale, zero, dtype_of(a), a.get("axis", 1))


@operator("DequantizeLinear")
def dequantize_linear(d, a, x, scale, zero=None):
    return dequantize(d, x, scale, zero, a.get("axis", 1))


def of_two(d, a, x, s, z, y, t, w, u, v):
    """An operator of two operands, each with scale and zero point, and those of the result."""
    left, right = dequantize(d, x, s, z), dequantize(d, y, t, w)
    return quantize(d, run(d, a["function"], {}, left, right), u, v, dtype_of(a))


def of_one(d, a, x, s, z, u, v, bias=None):
    value = added(d, dequantize(d, x, s, z), bias)
    name = a["function"]
    value = value if name == "Add" else run(d, name, {}, value)
    return quantize(d, value, u, v, dtype_of(a))


for NAME in ("Add", "Mul"):
    operator(f"QLinear{NAME}")(
        lambda d, a, *x, name=NAME: (of_one if len(x) < 8 else of_two)(d, {**a, "function": name}, *x)
    )
for NAME in "LeakyRelu Sigmoid Tanh Relu Softmax GlobalAveragePool Gelu HardSwish HardSigmoid".split():
    operator(f"QLinear{NAME}")(lambda d, a, *x, name=NAME: of_one(d, {**a, "function": name}, *x))


@operator("QLinearConcat")
def concat(d, a, scale, zero, *parts):
    parts = [dequantize(d, *parts[at : at + 3]) for at in range(0, len(parts), 3)]
    return quantize(d, np.concatenate(parts, a["axis"]), scale, zero, dtype_of(a))


@operator("QLinearWhere")
def where(d, a, condition, x, s, z, y, t, w, u, v):
    chosen = run(d, "Where", {}, condition, dequantize(d, x, s, z), dequantize(d, y, t, w))
    return quantize(d, chosen, u, v, dtype_of(a))


def differences(d, x, zero, axis):
    return x if zero is None else each(d, lambda v, z: d.add(v, d.neg(z)), x, along(x, zero, axis))


def requantized(d, a, sums, factors, scale, zero):
    """Integer sums times the scales of both operands, quantized."""
    value = sums
    for factor in factors:
        value = each(d, d.mul, value, factor)
    return quantize(d, value, scale, zero, dtype_of(a))


@operator("QLinearConv")
def conv(d, a, x, s, z, w, t, wz, u, v, bias=None):
    sums = run(d, "Conv", {**a, "activation": None}, differences(d, x, z, 1), differences(d, w, wz, 0), bias)
    return requantized(d, a, sums, [along(sums, s, 1), along(sums, t, 1)], u, v)


@operator("QLinearMatMul")
def matmul(d, a, x, s, z, y, t, w, u, v):
    sums = matrices(d, differences(d, x, z, -2), differences(d, y, w, y.ndim - 1))
    return requantized(d, a, sums, [along(sums, s, -2), along(sums, t, -1)], u, v)


@operator("QGemm")
def gemm(d, a, x, s, z, y, t, w, bias=None, u=None, v=None):
    flags = a.get("transposed") or [False, False]
    axis = 0 if flags[1] else 1
    left, right = swapped(differences(d, x, z, 0), flags[0]), swapped(differences(d, y, w, axis), flags[1])
    sums = added(d, matrices(d, left, right), bias)
    sums = each(d, lambda value: d.mul(value, d.number(a.get("alpha", 1))), sums)
    return requantized(d, a, sums, [s, along(sums, t, -1)], u, v)


@operator("MatMulInteger")
def integer(d, a, x, y, z=None, w=None):
    return matrices(d, differences(d, x, z, -2), differences(d, y, w, -1))


@operator("MatMulIntegerToFloat")
def to_float(d, a, x, y, s, t, z=None, w=None, bias=None):
    sums = integer(d, a, x, y, z, w)
    scaled = each(d, d.mul, each(d, d.mul, sums, along(sums, s, -2)), along(sums, t, -1))
    return added(d, scaled, bias)


@operator("DynamicQuantizeLinear")
def dynamic(d, a, x):
    """Integers, scale and zero point by the range of the values, which includes 0."""
    low = d.smaller(reduced(d, "Min", x, range(x.ndim), False)[()], d.number(0))
    high = d.larger(reduced(d, "Max", x, range(x.ndim), False)[()], d.number(0))
    scale = d.divided(d.add(high, d.neg(low)), d.number(255))
    zero = d.function("Round", d.divided(d.neg(low), scale))
    zero = d.smaller(d.larger(zero, d.number(0)), d.number(255))
    scale, zero = filled((), scale), filled((), zero)
    return [quantize(d, x, scale, zero, "uint8"), scale, zero]


@operator("DynamicQuantizeMatMul")
def dynamic_product(d, a, x, y, t, w=None, bias=None):
    quantized, scale, zero = OPERATORS["DynamicQuantizeLinear"](d, {}, x)
    return to_float(d, a, quantized, y, scale, t, zero, w, bias)
