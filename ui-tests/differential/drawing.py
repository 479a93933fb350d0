"""Random shapes, element types, values and opsets."""

import numpy as np
import ml_dtypes
from onnx import defs

# Element types as schemas and as numpy name them.
TYPES = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(float16)": "float16",
         "tensor(bfloat16)": "bfloat16", "tensor(bool)": "bool", "tensor(string)": "object"}
TYPES |= {f"tensor({sign}int{bits})": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
SIZES = [0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 9, 17]
MOST_ELEMENTS = 2000
TEXTS = ["", "a", "b", "ab", "é", "Zürich", "a b", "0", "-1.5", "NaN"]


def numpy_type(name):
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


def is_float(dtype):
    return dtype.kind == "f" or dtype.name == "bfloat16"


class Draw:
    """The random numbers of one model, and the version of the operator that it is for."""

    def __init__(self, seed, schema):
        self.g, self.schema, self.version = np.random.default_rng(seed), schema, schema.since_version
        # Inputs whose elements may be any, by `id`.
        self.free = {}
        # Whether sizes may be open.
        self.may_open = True
        # Products and sums of extremes depend on their order.
        self.extremes = True

    def chance(self, probability):
        return self.g.random() < probability

    def int(self, low, high):
        """An integer from `low` to `high`, both included."""
        return int(self.g.integers(low, high + 1))

    def pick(self, items):
        return items[int(self.g.integers(len(items)))]

    def some(self, **attributes):
        """Each attribute of this version with probability one half, drawn by a function or from a list."""
        chosen = {}
        for name, values in attributes.items():
            if name in self.schema.attributes and (self.schema.attributes[name].required or self.chance(0.5)):
                chosen[name] = values() if callable(values) else self.pick(values)
        return chosen

    def has(self, attribute):
        return attribute in self.schema.attributes

    def types(self, formal):
        """Element types of an input of the schema that programs can be given."""
        return [numpy_type(TYPES[name]) for name in sorted(formal.types) if name in TYPES]

    def type(self, at=0, only=None):
        """The element type of an input: float32 is as likely as the others together."""
        types = self.types(self.schema.inputs[min(at, len(self.schema.inputs) - 1)])
        types = [dtype for dtype in types if only is None or only(dtype)]
        if np.dtype("float32") in types and self.chance(0.4):
            return np.dtype("float32")
        return self.pick(types)

    def size(self, low=0):
        return self.pick([size for size in SIZES if size >= low])

    def shape(self, low=0, high=5, size=0):
        """A shape with a rank from `low` to `high` and sizes of at least `size`."""
        rank = self.int(low, high)
        zero = size == 0 and self.chance(0.12)
        while True:
            shape = [self.size(max(size, 0 if zero else 1)) for _ in range(rank)]
            if np.prod(shape, dtype=int) <= MOST_ELEMENTS:
                return shape

    def axis(self, rank, negative=True):
        """An axis, from the end if the version allows it. A scalar has axis 0."""
        at = self.int(0, max(rank - 1, 0))
        return at - rank if negative and rank and self.chance(0.4) else at

    def axes(self, rank, least=0, negative=True):
        count = self.int(min(least, rank), rank)
        chosen = [int(axis) for axis in self.g.permutation(rank)[:count]]
        return [axis - rank if negative and self.chance(0.3) else axis for axis in chosen]

    def broadcast(self, shape):
        """A shape that broadcasts with `shape`, in either direction."""
        if self.chance(0.25):
            return list(shape)
        kept = list(shape[self.int(0, len(shape)):])
        kept = [1 if self.chance(0.3) else size for size in kept]
        return kept

    def both(self, high=5):
        """Two shapes that broadcast to each other."""
        whole = self.shape(0, high)
        left = [1 if self.chance(0.2) else size for size in whole]
        right = self.broadcast(whole)
        return (left, right) if self.chance(0.5) else (right, left)

    def values(self, dtype, shape):
        """Any elements, with NaN, infinities and extremes now and then."""
        array = self.plain(np.dtype(dtype), shape)
        if self.chance(0.5):
            array = self.with_specials(array)
        self.free[id(array)] = array
        return array

    def plain(self, dtype, shape, low=None, high=None):
        dtype, shape = np.dtype(dtype), tuple(int(size) for size in shape)
        if dtype == object:
            return np.array([self.pick(TEXTS) for _ in range(int(np.prod(shape, dtype=int)))], object).reshape(shape)
        if dtype == bool:
            return self.g.integers(0, 2, shape).astype(bool)
        if is_float(dtype):
            if low is not None:
                return np.asarray(self.g.uniform(low, high, shape)).astype(dtype)
            scale = self.pick([1, 1, 1, 10, 0.1])
            return np.asarray(self.g.normal(0, scale, shape)).astype(dtype)
        limits = np.iinfo(dtype)
        low = max(-9 if low is None else low, limits.min)
        high = min(9 if high is None else high, limits.max)
        return np.asarray(self.g.integers(low, high, shape, endpoint=True)).astype(dtype)

    def with_specials(self, array):
        """A copy in which about a quarter of the elements are special."""
        dtype = array.dtype
        if dtype == bool or dtype == object or array.size == 0:
            return array.copy()
        pool = specials(dtype, self.extremes)
        if is_float(dtype):
            # One NaN hides what is made of the others.
            wide = pool.astype(np.float64)
            pool = self.pick([pool, pool[~np.isnan(wide)], pool[np.isfinite(wide)]])
        copy = array.reshape(-1).copy()
        for at in range(copy.size):
            if self.chance(0.25):
                copy[at] = self.pick(pool)
        return copy.reshape(array.shape)

    def ints(self, values, dtype=np.int64):
        return np.array(values, dtype)


def specials(dtype, extremes=True):
    if is_float(dtype):
        limits = ml_dtypes.finfo(dtype) if dtype.name == "bfloat16" else np.finfo(dtype)
        pool = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5]
        if extremes:
            pool += [limits.max, limits.min, limits.tiny, -limits.tiny, limits.smallest_subnormal, 88.0, -88.0, 1e4]
    else:
        limits = np.iinfo(dtype)
        pool = [limits.min, limits.max, limits.max - 1, limits.min + 1, 0, 1, 2]
        if not extremes:
            pool = [limits.min // 4 if limits.bits < 32 else 0, limits.max // 4 if limits.bits < 32 else 100, 0, 1, 2]
    return np.array(pool, np.float64 if is_float(dtype) else object).astype(dtype)


def opset(draw, domain, schema, versions, newest):
    """An opset in which the schema is in force: the first, the last or one between."""
    first = schema.since_version
    later = [version for version in versions if version > first]
    last = min(later) - 1 if later else newest
    return draw.pick([first, last, draw.int(first, max(first, last))])


def newest_opset():
    return defs.onnx_opset_version()
