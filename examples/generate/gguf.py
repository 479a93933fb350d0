"""Reads files in the format GGUF: metadata, and tensors with their values or with their blocks of 4 and 8 bits.

https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import math
import struct
from dataclasses import dataclass

import numpy as np

BLOCK = 32
# The types of numbers in metadata, by their codes; 8 and 9 are a string and an array.
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
# Codes of tensor types: floats, and blocks of codes that are multiplied by `scale`. Those of 4 bits are unsigned, and
# `minimum` is added to the product.
F32, F16, Q4_1, Q8_0 = 0, 1, 3, 8
FLOATS = {F32: np.dtype("<f4"), F16: np.dtype("<f2")}
BLOCKS = {
    Q4_1: np.dtype([("scale", "<f2"), ("minimum", "<f2"), ("codes", "u1", BLOCK // 2)]),
    Q8_0: np.dtype([("scale", "<f2"), ("codes", "i1", BLOCK)]),
}


@dataclass
class Tensor:
    kind: int
    # The last axis is contiguous, as in NumPy and ONNX.
    shape: tuple
    # Floats in `shape`, or blocks whose last axis is that of `shape` divided by 32.
    data: np.ndarray


def read(content):
    """Returns the metadata and the tensors, both by name."""
    cursor = Cursor(content)
    if cursor.take(4) != b"GGUF":
        raise ValueError("the file is not in the format GGUF")
    version = cursor.number("I")
    if version not in (2, 3):
        raise ValueError(f"version {version} of GGUF is not supported")
    tensors, entries = cursor.number("Q"), cursor.number("Q")
    metadata = {}
    for _ in range(entries):
        name = cursor.string()
        metadata[name] = cursor.value(cursor.number("I"))
    places = [cursor.place() for _ in range(tensors)]
    alignment = metadata.get("general.alignment", 32)
    start = -(-cursor.at // alignment) * alignment
    return metadata, {name: tensor(content, start + offset, kind, shape) for name, kind, shape, offset in places}


def tensor(content, at, kind, shape):
    if kind in FLOATS:
        dtype, stored = FLOATS[kind], shape
    elif kind in BLOCKS and shape[-1] % BLOCK == 0:
        dtype, stored = BLOCKS[kind], (*shape[:-1], shape[-1] // BLOCK)
    else:
        raise ValueError(f"tensors of type {kind} and shape {shape} are not supported")
    data = np.frombuffer(content, dtype, math.prod(stored), at).reshape(stored)
    return Tensor(kind, shape, data)


class Cursor:
    def __init__(self, content):
        self.content, self.at = content, 0

    def take(self, size):
        part = self.content[self.at : self.at + size]
        if len(part) != size:
            raise ValueError("the file ends too early")
        self.at += size
        return part

    def number(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]

    def string(self):
        return self.take(self.number("Q")).decode()

    def value(self, kind):
        if kind == 8:
            return self.string()
        if kind == 9:
            kind, count = self.number("I"), self.number("Q")
            return [self.value(kind) for _ in range(count)]
        return self.number(NUMBERS[kind])

    def place(self):
        """Returns the name, type, shape and offset of a tensor. The file has the contiguous axis first."""
        name, axes = self.string(), self.number("I")
        shape = tuple(self.number("Q") for _ in range(axes))[::-1]
        return name, self.number("I"), shape, self.number("Q")
