"""Cases of com.microsoft."""

import numpy as np

from case import node

MICROSOFT = "com.microsoft"


def microsoft(op, inputs, **options):
    return node(op, 1, inputs, domain=MICROSOFT, **options)


def embedded(op, inputs, what, constant=None, **options):
    """A case whose inputs are constants but the first, or those of `constant`."""
    if constant is None:
        constant = [name for name, value in list(inputs.items())[1:] if value is not None]
    return microsoft(op, inputs, what=what, constant=constant, **options)


def every_code(dtype):
    limits = np.iinfo(dtype)
    return np.arange(limits.min, limits.max + 1).astype(dtype)


def affine(prefix, scale, zero, dtype):
    """A scale and a zero point as inputs."""
    zero = None if zero is None else dtype(zero)
    return {f"{prefix}_scale": np.float32(scale), f"{prefix}_zero": zero}


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def attention(query, key, value, scale=None):
    """Attention of [batch, heads, length, size] without masks."""
    scores = query @ key.swapaxes(2, 3) * (scale or 1 / np.sqrt(query.shape[-1]))
    y = (softmax(scores) @ value).swapaxes(1, 2)
    return y.reshape(*y.shape[:2], -1).astype(query.dtype)


def heads(x, count):
    return x.reshape(*x.shape[:2], count, -1).swapaxes(1, 2)
