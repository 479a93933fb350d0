"""Elementwise operators."""

import numpy as np

from drawing import is_float, numpy_type
from specs import of

UNARY = """Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid
    HardSwish Identity IsInf IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh
    Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu""".split()


@of(*UNARY)
def unary(d):
    number = lambda low, high: (lambda: round(float(d.g.uniform(low, high)), 3))
    attributes = d.some(alpha=number(0.05, 2), beta=number(0, 1), gamma=number(0.5, 2), bias=number(-1, 1),
                        lambd=number(0, 2), detect_negative=[0, 1], detect_positive=[0, 1],
                        approximate=["none", "tanh"])
    return [d.values(d.type(), d.shape())], attributes


def shapes(d):
    """Shapes of two operands, and the attributes for them in opsets that have `broadcast`."""
    if not d.has("broadcast"):
        return *d.both(), {}
    shape = d.shape(1, 4)
    if d.chance(0.4):
        return shape, shape, {}
    if d.chance(0.2):
        return shape, [1], {"broadcast": 1}
    first = d.int(0, len(shape) - 1)
    last = d.int(first + 1, len(shape))
    attributes = {"broadcast": 1} if last == len(shape) and d.chance(0.5) else {"broadcast": 1, "axis": first}
    return shape, shape[first:last], attributes


@of("Add", "Sub", "Mul", "And", "Or", "Xor", "Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "BitwiseAnd",
    "BitwiseOr", "BitwiseXor")
def binary(d):
    left, right, attributes = shapes(d)
    dtype = d.type()
    return [d.values(dtype, left), d.values(dtype, right)], attributes


def divisor(d, dtype, shape):
    """Any floats, or integers but 0 and -1: the quotients by these are undefined or exceed the type."""
    if is_float(dtype):
        return d.values(dtype, shape)
    array = d.plain(dtype, shape, 1, 9)
    return np.where(d.g.integers(0, 2, shape), array, array + 1).astype(dtype) if dtype.kind == "u" else np.where(
        d.g.integers(0, 2, shape), array, -array - 1).astype(dtype)


@of("Div")
def div(d):
    left, right, attributes = shapes(d)
    dtype = d.type()
    return [d.values(dtype, left), divisor(d, dtype, right)], attributes


@of("Mod")
def mod(d):
    left, right = d.both()
    dtype = d.type()
    fmod = 1 if is_float(dtype) else d.pick([0, 1])
    return [d.values(dtype, left), divisor(d, dtype, right)], {"fmod": fmod}


@of("Pow")
def power(d):
    left, right, attributes = shapes(d)
    dtype = d.type()
    other = d.type(1) if d.version >= 12 else dtype
    if is_float(dtype) and is_float(other):
        return [d.values(dtype, left), d.values(other, right)], attributes
    # The results of integers are in their range.
    return [d.plain(dtype, left, 0, 5), d.plain(other, right, 0, 2).round()], attributes


@of("BitShift")
def shift(d):
    left, right = d.both()
    dtype = d.type()
    bits = np.iinfo(dtype).bits
    return [d.values(dtype, left), d.plain(dtype, right, 0, bits - 1)], {"direction": d.pick(["LEFT", "RIGHT"])}


@of("PRelu")
def prelu(d):
    dtype = d.type()
    shape = d.shape(1, 4, 1)
    if d.version < 7:
        slope = d.pick([[1], shape[1:2] or [1]])
    else:
        slope = d.broadcast(shape)
    return [d.values(dtype, shape), d.values(dtype, slope)], {}


@of("Max", "Min", "Sum", "Mean")
def variadic(d):
    dtype, count = d.type(), d.int(1, 4)
    whole = d.shape()
    shape = lambda: whole if d.version < 8 else d.broadcast(whole)
    return [d.values(dtype, shape()) for _ in range(count)], {}


@of("Clip")
def clip(d):
    dtype = d.type()
    x = d.values(dtype, d.shape())
    bounds = [d.plain(dtype, []) if d.chance(0.7) else None for _ in range(2)]
    if d.version < 11:
        return [x], {name: float(bound) for name, bound in zip(("min", "max"), bounds) if bound is not None}
    if d.version < 12 and None not in bounds:
        # The order of bounds matters from opset 12 on.
        bounds.sort()
    return [x, *bounds], {}


@of("Where")
def where(d):
    whole = d.shape()
    dtype = d.type(1)
    return [d.values(bool, d.broadcast(whole)), d.values(dtype, d.broadcast(whole)), d.values(dtype, d.broadcast(whole))], {}


@of("Cast", "CastLike")
def cast(d):
    from onnx import helper
    like = d.schema.name == "CastLike"
    source = d.type()
    names = [name for name in d.types(d.schema.inputs[1] if like else d.schema.outputs[0])]
    target = d.pick(names)
    x = castable(d, source, d.shape(), target)
    # Strings of numbers of 16 bits have no agreed number of digits.
    if like:
        return [x, d.plain(target, d.shape(0, 2))], {}
    if d.version < 6:
        return [x], {"to": {"object": "STRING", "float32": "FLOAT", "float64": "DOUBLE"}.get(target.name, target.name.upper())}
    return [x], {"to": int(helper.np_dtype_to_tensor_dtype(target))}


def castable(d, source, shape, target):
    """Elements that the target type has."""
    if source == object:
        texts = ["1", "0", "-3", "12"] if target.kind == "i" else ["1", "0", "12"] if target.kind in "ub" else [
            "1", "-2.5", "1e3", "NaN", "INF", "-INF", "0.25"]
        return np.array([d.pick(texts) for _ in range(int(np.prod(shape, dtype=int)))], object).reshape(shape)
    if target == object:
        return d.plain(source, shape) if not is_float(source) else d.plain(source, shape).round().astype(source)
    if is_float(source) and not is_float(target) and target != bool:
        low = 0 if target.kind == "u" else -100
        return d.plain(source, shape, low, 100)
    return d.values(source, shape)


@of("com.microsoft:BiasGelu")
def bias_gelu(d):
    dtype, shape = d.type(), d.shape(1, 4, 1)
    return [d.values(dtype, shape), d.values(dtype, shape[-1:])], {}


@of("com.microsoft:Gelu", "com.microsoft:QuickGelu")
def gelu(d):
    return [d.values(d.type(), d.shape())], d.some(alpha=[1.0, 1.702, 0.5])


@of("com.microsoft:FastGelu")
def fast_gelu(d):
    dtype, shape = d.type(), d.shape(1, 4, 1)
    return [d.values(dtype, shape), d.values(dtype, shape[-1:]) if d.chance(0.5) else None], {}


@of("SwiGLU")
def swiglu(d):
    dtype, shape = d.type(), d.shape(1, 4)
    return [d.values(dtype, shape), d.values(dtype, shape)], d.some(alpha=[1.0, 1.702, 0.5])


@of("BitCast")
def bit_cast(d):
    from onnx import helper
    source = d.type(only=lambda dtype: dtype not in (np.dtype(bool), np.dtype(object)))
    same = [name for name in ("int8", "uint8", "int16", "uint16", "float16", "bfloat16", "int32", "uint32", "float32", "int64",
                              "uint64", "float64") if numpy_type(name).itemsize == source.itemsize]
    return [d.values(source, d.shape())], {"to": int(helper.np_dtype_to_tensor_dtype(numpy_type(d.pick(same))))}
