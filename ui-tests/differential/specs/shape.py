"""Operators that move elements or make them from sizes."""

import numpy as np

from specs import of


@of("Reshape")
def reshape(d):
    shape = d.shape()
    x = d.values(d.type(), shape)
    count = int(np.prod(shape, dtype=int))
    target = factors(d, count)
    attributes = {}
    if d.chance(0.5) and target and count:
        target[d.int(0, len(target) - 1)] = -1
    elif d.chance(0.3) and target and count:
        same = [at for at in range(min(len(shape), len(target))) if shape[at] == target[at]]
        for at in same:
            target[at] = 0
    if d.has("allowzero") and 0 in target and count == 0:
        attributes["allowzero"] = 1
    elif count == 0:
        # Without `allowzero` a 0 takes the size of the input.
        target = [0] * len(shape) if d.chance(0.5) else [0 if size == 0 else size for size in shape]
    if d.version < 5:
        return [x], {"shape": target}
    return [x, d.ints(target)], attributes


def factors(d, count):
    """Sizes with a product."""
    if count == 0:
        return [0, *d.shape(0, 2, 1)]
    sizes = []
    while count > 1 and len(sizes) < 4:
        divisor = d.pick([number for number in range(1, count + 1) if count % number == 0])
        sizes.append(divisor)
        count //= divisor
    return [*sizes, count] if count > 1 or not sizes and d.chance(0.5) else sizes


@of("Flatten")
def flatten(d):
    shape = d.shape(0 if d.version >= 9 else 1)
    low = -len(shape) if d.version >= 11 else 0
    return [d.values(d.type(), shape)], {"axis": d.int(low, len(shape))} if d.chance(0.8) or not shape else {}


@of("Squeeze")
def squeeze(d):
    shape = [1 if d.chance(0.5) else size for size in d.shape()]
    ones = [at for at, size in enumerate(shape) if size == 1]
    axes = [at - len(shape) if d.version >= 11 and d.chance(0.3) else at for at in ones if d.chance(0.7)]
    x = d.values(d.type(), shape)
    # Without axes the rank of the result depends on the sizes.
    d.may_open = bool(axes)
    if d.version < 13:
        return [x], {"axes": axes} if axes else {}
    return [x, d.ints(axes) if axes else None], {}


@of("Unsqueeze")
def unsqueeze(d):
    shape = d.shape(0, 4)
    rank = len(shape) + d.int(1, 2)
    axes = [int(axis) for axis in d.g.permutation(rank)[:rank - len(shape)]]
    if d.version < 11:
        axes.sort()
    axes = [axis - rank if d.version >= 11 and d.chance(0.3) else axis for axis in axes]
    x = d.values(d.type(), shape)
    return ([x], {"axes": axes}) if d.version < 13 else ([x, d.ints(axes)], {})


@of("Transpose")
def transpose(d):
    shape = d.shape()
    order = lambda: [int(axis) for axis in d.g.permutation(len(shape))]
    return [d.values(d.type(), shape)], d.some(perm=order) if shape else {}


@of("Shape", "Size")
def size(d):
    return [d.values(d.type(), d.shape())], d.some(start=lambda: d.int(-6, 6), end=lambda: d.int(-6, 6))


@of("Expand")
def expand(d):
    shape = d.shape(0, 4)
    target = [*d.shape(0, 2), *shape][-d.int(1, 6):]
    target = [1 if d.chance(0.2) else size for size in target]
    return [d.values(d.type(), [1 if d.chance(0.3) else size for size in shape]), d.ints(target)], {}


@of("Tile")
def tile(d):
    shape = d.shape(1, 4)
    dtype = d.type()
    if d.version < 6:
        return [d.values(dtype, shape), np.array(d.int(1, 3), dtype).astype(dtype), np.array(
            d.int(0, len(shape) - 1)).astype(dtype)], {}
    return [d.values(dtype, shape), d.ints([d.pick([0, 1, 1, 2, 3]) for _ in shape])], {}


@of("Concat")
def concat(d):
    shape = d.shape(1, 4)
    axis = d.axis(len(shape), d.version >= 11)
    dtype = d.type()
    inputs = []
    for _ in range(d.int(1, 4)):
        part = list(shape)
        part[axis] = d.size()
        inputs.append(d.values(dtype, part))
    return inputs, {"axis": axis}


@of("Split")
def split(d):
    shape = d.shape(1, 4, 1)
    axis = d.axis(len(shape), d.version >= 11)
    x, attributes = d.values(d.type(), shape), {"axis": axis}
    count = d.int(1, 3)
    if d.version >= 18 and d.chance(0.5):
        count = min(count, shape[axis])
        each = -(-shape[axis] // count)
        if (count - 1) * each < shape[axis]:
            return [x], attributes | {"num_outputs": count}, count
    cuts = sorted(d.int(0, shape[axis]) for _ in range(count - 1))
    sizes = [int(size) for size in np.diff([0, *cuts, shape[axis]])]
    if d.version == 1:
        return [x], attributes | {"split": sizes}, count
    return ([x], attributes | {"split": sizes}, count) if d.version < 13 else ([x, d.ints(sizes)], attributes, count)


@of("Slice")
def cut(d):
    shape = d.shape(1, 5)
    x = d.values(d.type(), shape)
    axes = d.axes(len(shape), 1, d.version >= 10)
    far = lambda: d.pick([2**63 - 1, -(2**63) + 1, 2**31 - 1, -(2**31), 1000])
    end = lambda: far() if d.chance(0.15) else d.int(-10, 10)
    starts, ends = [end() for _ in axes], [end() for _ in axes]
    if d.version < 10:
        sorted_axes = sorted(axes)
        return [x], {"starts": starts, "ends": ends, "axes": sorted_axes}
    steps = [d.pick([1, 1, 2, 3, -1, -1, -2, 7]) for _ in axes]
    kind = np.int64
    if max(map(abs, [*starts, *ends])) < 2**31 and d.chance(0.3):
        kind = np.int32
    if d.chance(0.2) and [axis % len(shape) for axis in axes] == list(range(len(axes))):
        return [x, d.ints(starts, kind), d.ints(ends, kind)], {}
    return [x, d.ints(starts, kind), d.ints(ends, kind), d.ints(axes, kind), d.ints(steps, kind) if d.chance(0.8) else None], {}


@of("Pad")
def pad(d):
    mode = d.pick(["constant", "reflect", "edge"] + (["wrap"] if d.version >= 19 else []))
    shape = d.shape(1, 4, 0 if mode == "constant" else 2)
    if mode == "constant":
        amounts = [d.pick([0, 0, 1, 2, 3, -1]) for _ in range(2 * len(shape))]
    else:
        amounts = [d.int(0, size - 1 if mode == "reflect" else size) for size in 2 * shape]
    amounts = [max(amount, -(shape[at % len(shape)] // 2)) for at, amount in enumerate(amounts)]
    dtype = d.type()
    x = d.values(dtype, shape)
    attributes = {"mode": mode} if mode != "constant" or d.chance(0.5) else {}
    if d.version < 11:
        value = {"value": round(float(d.g.normal()), 2)} if d.chance(0.5) else {}
        return [x], attributes | value | {"pads" if d.version > 1 else "paddings": amounts}
    value = d.plain(dtype, []) if d.chance(0.6) and mode == "constant" else None
    if d.version < 18 or d.chance(0.5):
        return [x, d.ints(amounts), value], attributes
    axes = d.axes(len(shape), 1)
    chosen = [amounts[axis % len(shape)] for axis in axes] + [amounts[len(shape) + axis % len(shape)] for axis in axes]
    return [x, d.ints(chosen), value, d.ints(axes, d.pick([np.int32, np.int64]))], attributes


@of("DepthToSpace", "SpaceToDepth")
def blocks(d):
    block = d.int(1, 3)
    n, c, h, w = d.int(0 if d.chance(0.1) else 1, 2), d.int(1, 3), d.int(1, 3), d.int(1, 4)
    shape = [n, c * block * block, h, w] if d.schema.name == "DepthToSpace" else [n, c, h * block, w * block]
    return [d.values(d.type(), shape)], d.some(mode=["DCR", "CRD"]) | {"blocksize": block}


@of("Trilu", "com.microsoft:Trilu")
def trilu(d):
    shape = d.shape(2, 4)
    k = np.array(d.int(-6, 6), np.int64) if d.chance(0.7) else None
    return [d.values(d.type(), shape), k], d.some(upper=[0, 1])


@of("CenterCropPad")
def crop(d):
    shape = d.shape(1, 4, 1)
    axes = d.axes(len(shape), 1) if d.chance(0.5) else None
    count = len(axes) if axes else len(shape)
    sizes = d.ints([d.size(1) for _ in range(count)], d.pick([np.int32, np.int64]))
    return [d.values(d.type(), shape), sizes], {"axes": axes} if axes else {}


@of("Range")
def span(d):
    dtype = d.type()
    start, step = d.int(-5, 5), d.pick([1, 2, 3, -1, -2] if dtype.kind != "f" else [1, 0.5, -0.25, 3])
    limit = start + step * d.int(-1, 9) + d.pick([0, 0, 1, -1])
    return [np.array(value).astype(dtype) for value in (start, limit, step)], {}


@of("EyeLike")
def eye(d):
    from onnx import TensorProto
    kinds = [TensorProto.FLOAT, TensorProto.INT64, TensorProto.DOUBLE, TensorProto.INT32]
    return [d.values(d.type(), d.shape(2, 2))], d.some(k=lambda: d.int(-6, 6), dtype=kinds)


@of("ConstantOfShape")
def filled(d):
    from onnx import numpy_helper
    kinds = ["float32", "int64", "bool", "float64", "uint8", "int32", "float16", "int8", "uint64"]
    value = numpy_helper.from_array(d.plain(np.dtype(d.pick(kinds)), [1]))
    return [d.ints(d.shape(0, 4))], {"value": value} if d.chance(0.7) else {}


@of("ReverseSequence")
def reverse(d):
    shape = d.shape(2, 4, 1)
    batch = d.int(0, 1)
    lengths = d.ints([d.int(0, shape[1 - batch]) for _ in range(shape[batch])])
    return [d.values(d.type(), shape), lengths], {"batch_axis": batch, "time_axis": 1 - batch}
