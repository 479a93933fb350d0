"""Moves of elements for the texts of laws, where a rule reshapes by sizes that its function computes."""

import numpy as np

from elements import OPERATORS, each, lifted, operator, reduced


@operator("Along")
def along(d, a, x):
    """A value of each channel in the shape that broadcasts to the result of a product."""
    return x.reshape(-1, 1) if a["kind"].startswith("Conv") else x


@operator("ForWeight")
def for_weight(d, a, x):
    """A value of each channel in the shape that broadcasts to the weight of a product."""
    return {"Conv": x.reshape(-1, 1, 1), "ConvTranspose": x.reshape(1, -1, 1)}.get(a["kind"], x.reshape(1, -1))


@operator("Taps")
def taps(d, a, w):
    """The sum of a filter."""
    return reduced(d, "Sum", w, range(1, w.ndim), False)


@operator("Flat")
def flat(d, a, x):
    """Rows of a matrix, of all outer axes."""
    return x.reshape(-1, x.shape[-1])


@operator("Rows")
def rows(d, a, x):
    """Rows of a sequence of three elements."""
    return x.reshape(3, -1, x.shape[-1])


@operator("Middle")
def middle(d, a, x):
    return lifted(d, x)[:, None]


@operator("Swap")
def swap(d, a, x):
    return np.swapaxes(x, -1, -2)


@operator("Halves")
def halves(d, a, x):
    """(-b, a), where a and b are the halves of x."""
    first, second = np.split(x, 2, -1)
    return np.concatenate([np.frompyfunc(d.neg, 1, 1)(second), first], -1)


@operator("Pairs")
def pairs(d, a, x):
    """(-b, a) interleaved, where a and b are the even and odd elements of x."""
    result = x.copy()
    result[..., 0::2] = np.frompyfunc(d.neg, 1, 1)(x[..., 1::2])
    result[..., 1::2] = x[..., 0::2]
    return result


@operator("First")
def first(d, a, x):
    return x[..., 0::2] if a.get("pairs") else x[..., : x.shape[-1] // 2]


@operator("Second")
def second(d, a, x):
    return x[..., 1::2] if a.get("pairs") else x[..., x.shape[-1] // 2 :]


@operator("Interleave")
def interleave(d, a, x, y):
    return np.stack([x, y], -1).reshape(x.shape[:-1] + (-1,))


@operator("Heads")
def heads(d, a, x):
    """[batch, length, heads * size] as [batch, heads, length, size]."""
    return np.transpose(x.reshape(x.shape[:2] + (a["count"], -1)), (0, 2, 1, 3))


@operator("Packed")
def packed(d, a, x):
    """[batch, heads, length, size] as [batch, length, heads * size]."""
    x = np.transpose(x, (0, 2, 1, 3))
    return x.reshape(x.shape[:2] + (-1,))


@operator("Merged")
def merged(d, a, x):
    """[batch, heads, length, size] as [batch * heads, 1, length, size]."""
    return x.reshape((-1, 1) + x.shape[2:])


@operator("Unmerged")
def unmerged(d, a, x):
    return x.reshape((-1, a["count"]) + x.shape[2:])


@operator("Repeated")
def repeated(d, a, x):
    """Each head so many times."""
    return np.repeat(x, a["count"], 1)


@operator("SequenceFirst")
def sequence_first(d, a, x):
    """[length, batch, heads * size] as [batch * heads, 1, length, size], as exporters reshape it."""
    split = x.reshape(x.shape[0], x.shape[1] * a["count"], -1)
    return np.transpose(split, (1, 0, 2))[:, None]


@operator("FromSequenceFirst")
def from_sequence_first(d, a, x):
    """[batch * heads, 1, length, size] as [length, batch, heads * size]."""
    x = np.transpose(x[:, 0], (1, 0, 2))
    return x.reshape(x.shape[0], x.shape[1] // a["count"], -1)


@operator("BatchFirst")
def batch_first(d, a, x):
    return np.transpose(x, (1, 0, 2))


@operator("Groups")
def groups(d, a, x):
    """Two groups of channels."""
    return x.reshape(x.shape[0], 2, -1)


@operator("Zeroless")
def zeroless(d, a, x, scale):
    """Integers that are dequantized without a zero point."""
    return each(d, d.mul, x, scale)


@operator("Quantized")
def quantized_part(d, a, x):
    return OPERATORS["DynamicQuantizeLinear"](d, {}, x)[0]


@operator("ScaleOf")
def scale_part(d, a, x):
    return OPERATORS["DynamicQuantizeLinear"](d, {}, x)[1]


@operator("ZeroOf")
def zero_part(d, a, x):
    return OPERATORS["DynamicQuantizeLinear"](d, {}, x)[2]


@operator("ClassRow")
def class_row(d, a, i, k, w):
    """The row of the class that each integer equals, or zeros."""
    result, k = np.empty((i.shape[0], w.shape[1]), object), lifted(d, k)
    for row in range(i.shape[0]):
        for column in range(w.shape[1]):
            value = d.number(0)
            for label in reversed(range(len(k))):
                value = d.choose(d.equal(i[row, 0], k[label]), w[label, column], value)
            result[row, column] = value
    return result
