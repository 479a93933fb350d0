"""Gathering and scattering."""

import numpy as np

from specs import of


def indices(d, shape, size, dtype=np.int64, negative=True):
    low = -size if negative and d.chance(0.5) else 0
    return d.plain(np.dtype(dtype), shape, low, size - 1)


@of("Gather")
def gather(d):
    shape = d.shape(1, 4, 1)
    axis = d.axis(len(shape), d.version >= 11)
    at = indices(d, d.shape(0, 3), shape[axis], d.pick([np.int32, np.int64]), d.version >= 11)
    return [d.values(d.type(), shape), at], {"axis": axis} if axis or d.chance(0.5) else {}


@of("GatherElements")
def gather_elements(d):
    shape = d.shape(1, 4, 1)
    axis = d.axis(len(shape))
    other = [d.int(0, size) if d.chance(0.3) else size for size in shape]
    other[axis] = d.size()
    return [d.values(d.type(), shape), indices(d, other, shape[axis], d.pick([np.int32, np.int64]))], {"axis": axis}


@of("GatherND")
def gather_nd(d):
    shape = d.shape(1, 4, 1)
    batch = d.int(0, len(shape) - 1) if d.has("batch_dims") and d.chance(0.5) else 0
    depth = d.int(1, len(shape) - batch)
    lead = [*shape[:batch], *d.shape(0 if batch else 0, 2)]
    parts = [indices(d, lead, size) for size in shape[batch:batch + depth]]
    at = np.stack(parts, -1) if parts else np.zeros([*lead, 0], np.int64)
    return [d.values(d.type(), shape), at], {"batch_dims": batch} if batch else {}


@of("Scatter", "ScatterElements")
def scatter_elements(d):
    shape = d.shape(1, 4, 1)
    axis = d.axis(len(shape), d.version >= 11)
    attributes = {"axis": axis} | (d.some(reduction=["none", "add", "mul"] + ["max", "min"] * (d.version >= 18)))
    other = [d.int(0 if d.chance(0.1) else 1, size) for size in shape]
    is_unique = attributes.get("reduction", "none") == "none"
    if not is_unique:
        other[axis] = d.int(1, 2 * shape[axis])
    d.extremes = False
    # Without a reduction no index occurs twice.
    at = np.zeros(other, np.int64)
    rows = np.moveaxis(at, axis, -1)
    for place in np.ndindex(rows.shape[:-1]):
        count = rows.shape[-1]
        rows[place] = d.g.permutation(shape[axis])[:count] if is_unique else d.g.integers(0, shape[axis], count)
    if d.version >= 11 and d.chance(0.4):
        at = np.where(d.g.integers(0, 2, at.shape), at, at - shape[axis])
    dtype = d.type(only=lambda dtype: is_unique or dtype not in (np.dtype(bool), np.dtype(object)))
    return [d.values(dtype, shape), at.astype(d.pick([np.int32, np.int64])), d.values(dtype, other)], attributes


@of("ScatterND")
def scatter_nd(d):
    shape = d.shape(1, 4, 1)
    depth = d.int(1, len(shape))
    attributes = d.some(reduction=["none", "add", "mul"] + ["max", "min"] * (d.version >= 18))
    is_unique = attributes.get("reduction", "none") == "none"
    d.extremes = False
    places = int(np.prod(shape[:depth]))
    count = d.int(0 if d.chance(0.1) else 1, min(places, 6)) if is_unique else d.int(1, 8)
    flat = d.g.permutation(places)[:count] if is_unique else d.g.integers(0, places, count)
    at = np.stack(np.unravel_index(flat, shape[:depth]), -1).astype(np.int64).reshape([count, depth])
    if d.version >= 11 and d.chance(0.4):
        at = np.where(d.g.integers(0, 2, at.shape), at, at - np.array(shape[:depth]))
    dtype = d.type(only=lambda dtype: is_unique or dtype not in (np.dtype(bool), np.dtype(object)))
    lead = [count]
    if count % 2 == 0 and count and d.chance(0.3):
        lead = [2, count // 2]
        at = at.reshape([*lead, depth])
    return [d.values(dtype, shape), at, d.values(dtype, [*lead, *shape[depth:]])], attributes


@of("TensorScatter")
def tensor_scatter(d):
    shape = d.shape(2, 4, 1)
    mode = d.pick(["linear", "circular"])
    axis = d.int(1, len(shape) - 1) if d.chance(0.7) else len(shape) - 1
    update = list(shape)
    update[axis] = d.int(1, shape[axis])
    last = shape[axis] - (update[axis] if mode == "linear" else 1)
    at = d.plain(np.dtype(np.int64), [shape[0]], 0, last) if d.chance(0.8) else None
    dtype = d.type()
    return [d.values(dtype, shape), d.values(dtype, update), at], {"mode": mode, "axis": axis - d.pick([0, len(shape)])}
