"""Values, types and generators that several families of fixtures use."""

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

from case import numbers

HALF, SINGLE, DOUBLE, BRAIN = np.float16, np.float32, np.float64, ml_dtypes.bfloat16
FLOATS = {"float16": HALF, "float32": SINGLE, "float64": DOUBLE, "bfloat16": BRAIN}
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
DTYPES = [np.bool_, np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64,
          np.uint64, np.float16, np.float32, np.float64]
SHAPED = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def ints(*values):
    return np.array(values, np.int64)


def words(*texts, shape=None):
    array = np.array(texts, dtype=object)
    return array if shape is None else array.reshape(shape)


TEXTS = words("a", "b", "c", "d", "", "é", shape=(2, 3))
LETTERS = words(*"abcdef", shape=(2, 3))


def normal(name, *shape, dtype=np.float32):
    return numbers(name).normal(size=shape).astype(dtype)


def floats(name, *shape, low=-1, high=1):
    return numbers(name).uniform(low, high, shape).astype(np.float32)


def draw(name, *shapes, dtype=SINGLE, limit=1):
    """Arrays of one generator."""
    generator = numbers(name)
    return [generator.uniform(-limit, limit, shape).astype(dtype) for shape in shapes]


def codes(dtype, shape, seed):
    """Integers of the whole range of their type."""
    limits = np.iinfo(dtype)
    return numbers(seed).integers(limits.min, limits.max + 1, shape).astype(dtype)


def tensor_type(name):
    """What ONNX calls an element type."""
    if name == "bfloat16":
        return TensorProto.BFLOAT16
    return helper.np_dtype_to_tensor_dtype(np.dtype(name))


def of_each_type(make):
    """The case of `make` for each element type. Operators that only move elements do not depend on
    the type, so numpy gives the expected values."""
    for dtype in DTYPES:
        x = (np.arange(6).reshape(2, 3) % 5).astype(dtype)
        yield make(x, np.dtype(dtype).name)
    yield make(TEXTS, "string")
