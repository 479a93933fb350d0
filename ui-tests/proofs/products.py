"""Definitions of products, normalizations, attention and quantized operators on arrays of elements."""

from itertools import product

import numpy as np

from elements import OPERATORS, each, filled, ints, lifted, operator, reduced, reduced_once, total, unary


def run(d, name, attributes, *operands):
    """The result of an operator, or a list of its results."""
    return OPERATORS[name.removeprefix("com.microsoft.")](d, {"operator": name, **attributes}, *operands)


def activated(d, a, x):
    """The activation that an operator applies to its result: a name and numbers, or bounds."""
    found = a.get("activation")
    if not found:
        return x
    name, numbers = found["name"], found.get("parameters") or []
    if name == "Clip":
        return run(d, "Clip", {}, x, *(np.array(number, object) for number in map(d.number, numbers)))
    names = ["alpha", "beta"]
    attributes = dict(zip(names, numbers)) if name != "Gelu" else {"approximate": "tanh" if numbers else "none"}
    return each(d, lambda v: unary(name, attributes)(d, v), x)


def matrices(d, x, y):
    """The product of matrices, with batches that broadcast."""
    x, y = lifted(d, x), lifted(d, y)
    vectors = (x.ndim == 1, y.ndim == 1)
    x = x[None] if vectors[0] else x
    y = y[:, None] if vectors[1] else y
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    x, y = np.broadcast_to(x, batch + x.shape[-2:]), np.broadcast_to(y, batch + y.shape[-2:])
    result = np.empty(batch + (x.shape[-2], y.shape[-1]), object)
    for at in product(*map(range, result.shape)):
        row, column = x[at[:-2] + (at[-2],)], y[at[:-2] + (slice(None), at[-1])]
        result[at] = total(d, [d.mul(a, b) for a, b in zip(row, column)])
    result = result[..., 0, :] if vectors[0] else result
    return result[..., 0] if vectors[1] else result


def swapped(x, flag):
    return np.swapaxes(x, -1, -2) if flag else x


def scaled(d, x, factor):
    return x if factor in (None, 1, "1.0") else each(d, lambda v: d.mul(v, d.number(factor)), x)


def added(d, x, *terms):
    for term in terms:
        if term is not None:
            x = each(d, d.add, x, term)
    return x


@operator("MatMul", "FusedMatMul", "Linear", "FusedLinear")
def matmul(d, a, x, y, bias=None, addend=None):
    flags = a.get("transposed") or [False, False]
    result = scaled(d, matrices(d, swapped(x, flags[0]), swapped(y, flags[1])), a.get("alpha"))
    return activated(d, a, added(d, result, bias, addend))


@operator("Gemm", "FusedGemm")
def gemm(d, a, x, y, bias=None):
    flags = a.get("transposed") or [False, False]
    result = scaled(d, matrices(d, swapped(x, flags[0]), swapped(y, flags[1])), a.get("alpha"))
    return activated(d, a, added(d, result, None if bias is None else scaled(d, bias, a.get("beta"))))


def windows(shape, kernel, a, value, x):
    """For each output position, the slice of the padded input."""
    spatial = len(kernel)
    strides, dilations = a.get("strides") or [1] * spatial, a.get("dilations") or [1] * spatial
    pads = a.get("pads") or [0] * 2 * spatial
    pads = [pads] * 2 * spatial if isinstance(pads, int) else pads
    width = list(zip(pads[:spatial], pads[spatial:]))
    padded = filled(x.shape[:2] + tuple(size + sum(ends) for size, ends in zip(shape, width)), value)
    inner = tuple(slice(before, before + size) for size, (before, _) in zip(shape, width))
    padded[(slice(None), slice(None)) + inner] = x
    reach = [dilation * (size - 1) + 1 for size, dilation in zip(kernel, dilations)]
    counts = [(size - far) // stride + 1 for size, far, stride in zip(padded.shape[2:], reach, strides)]
    for at in product(*map(range, counts)):
        starts = [index * stride for index, stride in zip(at, strides)]
        parts = [slice(s, s + far, dilation) for s, far, dilation in zip(starts, reach, dilations)]
        yield tuple(counts), at, padded[(slice(None), slice(None), *parts)]


@operator("Conv", "FusedConv")
def conv(d, a, x, w, bias=None, addend=None):
    x, w, groups, result = lifted(d, x), lifted(d, w), a.get("groups") or 1, None
    own, out = w.shape[1], w.shape[0] // groups
    for counts, at, part in windows(x.shape[2:], w.shape[2:], a, d.number(0), x):
        result = np.empty((x.shape[0], w.shape[0]) + counts, object) if result is None else result
        for row, channel in product(range(x.shape[0]), range(w.shape[0])):
            first = channel // out * own
            taps = zip(part[row, first : first + own].ravel(), w[channel].ravel())
            result[(row, channel) + at] = total(d, [d.mul(v, tap) for v, tap in taps])
    if bias is not None:
        result = added(d, result, lifted(d, bias).reshape((-1,) + (1,) * (x.ndim - 2)))
    return activated(d, a, added(d, result, addend))


@operator("ConvTranspose")
def conv_transpose(d, a, x, w, bias=None):
    x, w = lifted(d, x), lifted(d, w)
    spatial = tuple(size + taps - 1 for size, taps in zip(x.shape[2:], w.shape[2:]))
    result = filled((x.shape[0], w.shape[1]) + spatial, d.number(0))
    for row, channel, out in product(range(x.shape[0]), range(x.shape[1]), range(w.shape[1])):
        for at in product(*map(range, x.shape[2:])):
            for tap in product(*map(range, w.shape[2:])):
                to = (row, out) + tuple(i + j for i, j in zip(at, tap))
                result[to] = d.add(result[to], d.mul(x[(row, channel) + at], w[(channel, out) + tap]))
    return result if bias is None else added(d, result, lifted(d, bias).reshape((-1,) + (1,) * (x.ndim - 2)))


@operator("MaxPool", "AveragePool")
def pool(d, a, x):
    x, result = lifted(d, x), None
    name = "Max" if a["operator"] == "MaxPool" else "Mean"
    outside = d.lowest() if name == "Max" else d.number(0)
    for counts, at, part in windows(x.shape[2:], a["kernel"], a, outside, x):
        result = np.empty(x.shape[:2] + counts, object) if result is None else result
        for row, channel in product(*map(range, x.shape[:2])):
            result[(row, channel) + at] = reduced_once(d, name, list(part[row, channel].ravel()))
    return result


# Normalizations.


def of_channels(d, x, values):
    return lifted(d, values).reshape((-1,) + (1,) * (x.ndim - 2))


@operator("BatchNormalization")
def batch_norm(d, a, x, scale, shift, mean, variance):
    scale, shift, mean, variance = (of_channels(d, x, values) for values in (scale, shift, mean, variance))
    root = each(d, lambda v: d.function("Sqrt", d.add(v, d.number(a["epsilon"]))), variance)
    factor = each(d, d.divided, scale, root)
    return added(d, each(d, d.mul, each(d, lambda v, m: d.add(v, d.neg(m)), x, mean), factor), shift)


def normalized(d, x, axes, epsilon, centered=True):
    mean = reduced(d, "Mean", x, axes, True)
    rest = each(d, lambda v, m: d.add(v, d.neg(m)), x, mean) if centered else lifted(d, x)
    variance = reduced(d, "Mean", each(d, d.mul, rest, rest), axes, True)
    root = each(d, lambda v: d.function("Sqrt", d.add(v, d.number(epsilon))), variance)
    return each(d, d.divided, rest, root)


@operator("LayerNormalization", "RMSNormalization")
def layer_norm(d, a, x, scale, bias=None):
    axes = range(a.get("axis", -1) % x.ndim, x.ndim)
    result = normalized(d, x, axes, a["epsilon"], a["operator"] == "LayerNormalization")
    return added(d, each(d, d.mul, result, scale), bias)


@operator("InstanceNormalization", "GroupNormalization")
def group_norm(d, a, x, scale, bias):
    groups = a.get("count") or x.shape[1]
    rows = x.reshape(x.shape[0], groups, -1)
    result = normalized(d, rows, [2], a["epsilon"]).reshape(x.shape)
    # Factors are for channels, or for groups in opset 18.
    scale, bias = (np.repeat(lifted(d, values), x.shape[1] // len(values)) for values in (scale, bias))
    return added(d, each(d, d.mul, result, of_channels(d, x, scale)), of_channels(d, x, bias))


@operator("ScaleChannels")
def scale_channels(d, a, x, factor, offset):
    product_ = each(d, d.mul, x, of_channels(d, x, factor))
    return activated(d, a, added(d, product_, of_channels(d, x, offset)))


@operator("DividedDistances")
def distances(d, a, x, centers, divisors):
    rest = each(d, lambda v, c: d.add(v, d.neg(c)), x[:, None], lifted(d, centers)[None])
    quotients = each(d, d.divided, each(d, d.mul, rest, rest), lifted(d, divisors)[None])
    return reduced(d, "Sum", quotients, [2], False)


# Attention.


@operator("Softmax", "LogSoftmax")
def softmax(d, a, x):
    powers = each(d, lambda v: d.function("Exp", v), x)
    result = each(d, d.divided, powers, reduced(d, "Sum", powers, [a.get("axis", -1)], True))
    return result if a["operator"] == "Softmax" else each(d, lambda v: d.function("Log", v), result)


@operator("Einsum")
def einsum(d, a, x, y):
    left, right = a["equation"].replace(" ", "").split("->")
    first, second = left.split(",")
    sizes = dict(zip(first + second, x.shape + y.shape))
    inner = [label for label in sizes if label not in right]
    result = np.empty([sizes[label] for label in right], object)
    for at in product(*map(range, result.shape)):
        terms = []
        for more in product(*(range(sizes[label]) for label in inner)):
            index = dict(zip(list(right) + inner, at + more))
            terms.append(d.mul(x[tuple(index[l] for l in first)], y[tuple(index[l] for l in second)]))
        result[at] = total(d, terms)
    return result


def with_heads(x, count):
    """[batch, heads, length, size], also of heads that are packed in the last axis."""
    if x.ndim == 4:
        return x
    return np.transpose(x.reshape(x.shape[0], x.shape[1], count, -1), (0, 2, 1, 3))


@operator("JoinedAttention", "Attention")
def attention(d, a, query, key, value, *masks):
    query = with_heads(query, a.get("query_heads"))
    key, value = with_heads(key, a.get("key_heads")), with_heads(value, a.get("key_heads"))
    times = query.shape[1] // key.shape[1]
    key, value = np.repeat(key, times, 1), np.repeat(value, times, 1)
    scores = matrices(d, query, np.swapaxes(key, -1, -2))
    scores = each(d, lambda v: d.mul(v, d.number(a["scale"])), scores)
    for mask, fill in zip(masks, a.get("fills") or []):
        if fill is None:
            scores = added(d, scores, mask)
        else:
            scores = each(d, lambda c, v: d.choose(c, v, d.number(fill)), mask, scores)
    if a.get("is_causal"):
        for at in product(*map(range, scores.shape)):
            scores[at] = scores[at] if at[3] <= at[2] else d.lowest()
    weights = run(d, "Softmax", {"axis": -1}, scores)
    if a.get("undefined_as_zero"):
        weights = each(d, lambda v: d.choose(d.nan(v), d.number(0), v), weights)
    result = matrices(d, weights, value)
    if not a.get("packed"):
        return result
    result = np.transpose(result, (0, 2, 1, 3))
    return result.reshape(result.shape[:2] + (-1,))


@operator("JoinedRotaryEmbedding")
def rotary(d, a, x, cosine, sine):
    size = x.shape[-1]
    half = size // 2
    result = np.empty(x.shape, object)
    angles = [np.broadcast_to(angle, x.shape[:-1] + angle.shape[-1:]) for angle in (cosine, sine)]
    for at in product(*map(range, x.shape)):
        last = at[-1]
        other = last ^ 1 if a.get("interleaved") else (last + half) % size
        second = last % 2 if a.get("interleaved") else last >= half
        pair = last // 2 if a.get("interleaved") else last % half
        cos, sin = (angle[at[:-1] + (last if angle.shape[-1] == size else pair,)] for angle in angles)
        turned = x[at[:-1] + (other,)] if second else d.neg(x[at[:-1] + (other,)])
        result[at] = d.add(d.mul(x[at], cos), d.mul(turned, sin))
    return result
