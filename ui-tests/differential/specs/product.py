"""Products of matrices, convolutions and pooling."""

import numpy as np

from drawing import is_float
from specs import of


def terms(d, dtype, shape):
    """Elements of a sum."""
    d.extremes = False
    return d.values(dtype, shape) if is_float(dtype) else d.plain(dtype, shape, -5, 5)


def weights(d, dtype, shape):
    """Finite elements: padding is 0, whose product with an infinite weight is NaN."""
    return d.plain(dtype, shape) if is_float(dtype) else d.plain(dtype, shape, -5, 5)


@of("MatMul")
def matmul(d):
    dtype = d.type()
    rows, inner, columns = d.size(), d.size(), d.size()
    left, right = d.both(2)
    form = d.pick(["matrices", "matrices", "row", "column", "vectors"])
    a = {"row": [inner], "vectors": [inner]}.get(form, [*left, rows, inner])
    b = {"column": [inner], "vectors": [inner]}.get(form, [*right, inner, columns])
    return [terms(d, dtype, a), terms(d, dtype, b)], {}


@of("Gemm")
def gemm(d):
    dtype = d.type()
    rows, inner, columns = d.size(), d.size(), d.size()
    numbers = [1.0, 0.5, 2.0, 0.0] if is_float(dtype) else [1.0, 2.0]
    attributes = d.some(alpha=numbers, beta=numbers, transA=[0, 1], transB=[0, 1])
    a = [inner, rows] if attributes.get("transA") else [rows, inner]
    b = [columns, inner] if attributes.get("transB") else [inner, columns]
    if d.version < 7:
        c = [rows, columns] if d.chance(0.5) else [columns]
        attributes |= {"broadcast": 1} if len(c) < 2 else {}
    else:
        c = d.broadcast([rows, columns])
        c = [size if size == full or size == 1 else 1 for size, full in zip(c, [rows, columns][-len(c):])] if c else c
    addend = None if d.version >= 11 and d.chance(0.3) else terms(d, dtype, c)
    return [terms(d, dtype, a), terms(d, dtype, b), addend], attributes


@of("MatMulInteger")
def matmul_integer(d):
    a_type, b_type = d.type(), d.type(1)
    rows, inner, columns = d.size(1), d.size(1), d.size(1)
    left, right = d.both(1)
    a, b = [*left, rows, inner], [*right, inner, columns]
    zero = d.plain(a_type, []) if d.chance(0.5) else None
    other = d.plain(b_type, d.pick([[], [1], [columns]]) if len(b) == 2 else []) if d.chance(0.5) else None
    return [d.values(a_type, a), d.values(b_type, b), zero, other], {}


@of("Einsum")
def einsum(d):
    d.extremes = False
    sizes = {letter: d.size(1) for letter in "ijkb"}
    text = d.pick(["ij,jk->ik", "ij,jk", "bij,bjk->bik", "ij->ji", "ii->i", "ij->", "i,j->ij", "ij,ij->i", "...ij,...jk->...ik",
                   "bi,bi->b", "ijk->kij", "i,i", "ij, kj -> ik", "ij,j", "...i->..."])
    dtype = d.type()
    lead = d.shape(0, 1, 1)
    shape = lambda part: [*(lead if "..." in part else []), *[sizes[letter] for letter in part.replace("...", "").strip()]]
    parts = text.split("->")[0].split(",")
    return [terms(d, dtype, shape(part)) for part in parts], {"equation": text}


def window(d, spatial, kernel, padded=True):
    """Strides, dilations and pads with which the kernel fits into the input."""
    attributes = d.some(strides=lambda: [d.int(1, 3) for _ in spatial])
    if d.has("dilations") and d.chance(0.4):
        attributes["dilations"] = [d.int(1, 2) for _ in spatial]
    if d.chance(0.3):
        attributes["auto_pad"] = d.pick(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif padded and d.chance(0.6):
        attributes["pads"] = [d.int(0, size - 1) for size in 2 * kernel]
    return attributes


def spatial(d):
    rank = d.pick([1, 2, 2, 2, 3])
    kernel = [d.int(1, 3) for _ in range(rank)]
    return [2 * (size - 1) + d.int(1, 5) for size in kernel], kernel


@of("Conv")
def conv(d):
    sizes, kernel = spatial(d)
    dtype, group = d.type(), d.pick([1, 1, 2, 3])
    channels, filters = group * d.int(1, 3), group * d.int(1, 3)
    attributes = window(d, sizes, kernel) | ({"group": group} if group > 1 else {})
    if d.chance(0.5):
        attributes["kernel_shape"] = kernel
    batch = 0 if d.chance(0.05) else d.int(1, 2)
    return [terms(d, dtype, [batch, channels, *sizes]), weights(d, dtype, [filters, channels // group, *kernel]),
            terms(d, dtype, [filters]) if d.chance(0.5) else None], attributes


@of("ConvInteger")
def conv_integer(d):
    sizes, kernel = spatial(d)
    sizes, kernel = sizes[:2], kernel[:2]
    x_type, w_type = d.type(), d.type(1)
    group = d.pick([1, 1, 2])
    channels, filters = group * d.int(1, 3), group * d.int(1, 3)
    attributes = window(d, sizes, kernel) | ({"group": group} if group > 1 else {})
    return [d.values(x_type, [d.int(1, 2), channels, *sizes]), d.values(w_type, [filters, channels // group, *kernel]),
            d.plain(x_type, []) if d.chance(0.5) else None, d.plain(w_type, []) if d.chance(0.3) else None], attributes


@of("ConvTranspose")
def conv_transpose(d):
    sizes, kernel = spatial(d)
    dtype, group = d.type(), d.pick([1, 1, 2, 3])
    channels, filters = group * d.int(1, 3), d.int(1, 3)
    attributes = {"strides": [d.int(1, 3) for _ in kernel]} | ({"group": group} if group > 1 else {})
    if d.chance(0.3):
        attributes["dilations"] = [d.int(1, 2) for _ in kernel]
    way = d.pick(["", "pads", "auto", "output_padding"])
    if way == "pads":
        attributes["pads"] = [d.int(0, (size - 1) // 2) for size in 2 * kernel]
    elif way == "auto":
        attributes["auto_pad"] = d.pick(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif way == "output_padding":
        attributes["output_padding"] = [d.int(0, stride - 1) for stride in attributes["strides"]]
    return [terms(d, dtype, [d.int(1, 2), channels, *sizes]), weights(d, dtype, [channels, filters, *kernel]),
            terms(d, dtype, [group * filters]) if d.chance(0.5) else None], attributes


@of("MaxPool", "AveragePool", "LpPool")
def pool(d):
    sizes, kernel = spatial(d)
    d.extremes = d.schema.name == "MaxPool"
    attributes = window(d, sizes, kernel) | {"kernel_shape": kernel}
    attributes |= d.some(ceil_mode=[0, 1], count_include_pad=[0, 1], storage_order=[0, 1])
    if d.schema.name == "LpPool":
        attributes["p"] = d.pick([1, 2, 3] if d.version > 1 else [2.0])
    outputs = 2 if d.schema.name == "MaxPool" and d.version >= 8 and d.chance(0.3) else 1
    return [d.values(d.type(), [d.int(0 if d.chance(0.1) else 1, 2), d.int(1, 3), *sizes])], attributes, outputs


@of("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(d):
    d.extremes = False
    shape = [d.int(1, 2), d.int(1, 3), *d.shape(1, 3, 1)]
    return [d.values(d.type(), shape)], d.some(p=[1, 2, 3]) if d.version > 1 else {}


@of("Col2Im")
def col2im(d):
    rank = d.pick([1, 2, 2, 3])
    block = [d.int(1, 3) for _ in range(rank)]
    image = [2 * (size - 1) + d.int(1, 4) for size in block]
    attributes = d.some(strides=lambda: [d.int(1, 2) for _ in block], dilations=lambda: [d.int(1, 2) for _ in block],
                        pads=lambda: [d.int(0, 1) for _ in 2 * block])
    pads, ones = attributes.get("pads", [0] * 2 * rank), [1] * rank
    strides, dilations = attributes.get("strides", ones), attributes.get("dilations", ones)
    count = 1
    for at in range(rank):
        reach = dilations[at] * (block[at] - 1) + 1
        count *= (image[at] + pads[at] + pads[at + rank] - reach) // strides[at] + 1
    dtype = d.type(only=lambda dtype: dtype not in (np.dtype(bool), np.dtype(object)))
    x = terms(d, dtype, [d.int(1, 2), d.int(1, 2) * int(np.prod(block)), count])
    return [x, d.ints(image), d.ints(block)], attributes


@of("com.microsoft:FusedMatMul", "com.microsoft:TransposeMatMul")
def fused_matmul(d):
    attributes = d.some(transA=[0, 1], transB=[0, 1], alpha=[1.0, 0.5, -2.0])
    rows, inner, columns = d.size(1), d.size(1), d.size(1)
    lead = d.shape(0, 2, 1)
    a = [inner, rows] if attributes.get("transA") else [rows, inner]
    b = [columns, inner] if attributes.get("transB") else [inner, columns]
    dtype = d.type()
    return [terms(d, dtype, [*lead, *a]), terms(d, dtype, [*lead, *b])], attributes
