"""Images, regions and signals."""

import numpy as np

from specs import of


@of("Resize")
def resize(d):
    rank = d.pick([2, 3, 4, 4])
    shape = [d.int(1, 2) if rank - at > 2 else d.int(1, 6) for at in range(rank)]
    mode = d.pick(["nearest", "linear", "cubic"] if d.version >= 11 and rank == 4 else ["nearest", "linear"])
    moved = [1 if rank - at > 2 else d.pick([0.5, 0.6, 1, 1.5, 2, 3.2]) for at in range(rank)]
    sizes = [max(int(size * factor), 1) for size, factor in zip(shape, moved)]
    factors = np.array([factor if size * factor >= 1 else 1 for size, factor in zip(shape, moved)], np.float32)
    x = d.plain(d.type(only=lambda dtype: dtype.kind == "f" or mode == "nearest" and dtype.kind in "iu"), shape)
    attributes = {"mode": mode}
    if d.version < 11:
        return [x, factors], attributes
    way = d.pick(["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_crop_and_resize"]
                 + ["half_pixel_symmetric"] * (d.version >= 19))
    attributes["coordinate_transformation_mode"] = way
    attributes |= d.some(cubic_coeff_a=[-0.75, -0.5], exclude_outside=[0, 1] if mode == "cubic" else [0],
                         nearest_mode=["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"],
                         extrapolation_value=[0.0, 1.5])
    if d.version >= 18 and mode != "nearest" and d.chance(0.3) and way != "tf_crop_and_resize":
        attributes["antialias"] = 1
    roi = None
    if way == "tf_crop_and_resize":
        roi = np.array([0.0] * (rank - 2) + [0.1, 0.2] + [1.0] * (rank - 2) + [0.8, 1.1], np.float32)
    elif d.version < 13:
        roi = np.zeros([0], np.float32)
    if d.chance(0.5):
        return [x, roi, factors], attributes
    if d.version < 13:
        return [x, roi, np.zeros([0], np.float32), d.ints(sizes)], attributes
    if d.version >= 18 and d.chance(0.3):
        axes = d.pick([[rank - 2, rank - 1], [-2, -1], [rank - 1, rank - 2]])
        chosen = [sizes[axis] for axis in axes]
        if way == "tf_crop_and_resize":
            return [x, roi, None, d.ints(sizes)], attributes
        policy = d.some(keep_aspect_ratio_policy=["stretch", "not_larger", "not_smaller"])
        return [x, roi, None, d.ints(chosen)], attributes | {"axes": axes} | policy
    return [x, roi, None, d.ints(sizes)], attributes


@of("Upsample")
def upsample(d):
    shape = [1, d.int(1, 2), d.int(1, 4), d.int(1, 4)]
    factors = [1.0, 1.0, d.pick([1.0, 2.0, 1.5]), d.pick([1.0, 2.0, 3.0])]
    x = d.plain(d.type(only=lambda dtype: dtype.kind == "f"), shape)
    attributes = {"mode": d.pick(["nearest", "linear"])} if d.version > 1 else {"mode": d.pick(["nearest", "bilinear"])}
    if d.version == 1:
        return [x], attributes | {"height_scale": factors[2], "width_scale": factors[3]}
    return ([x], attributes | {"scales": factors}) if d.version < 9 else ([x, np.array(factors, np.float32)], attributes)


@of("GridSample")
def grid_sample(d):
    rank = 2 if d.version < 20 or d.chance(0.7) else 3
    modes = ["bilinear", "nearest", "bicubic"] if d.version < 20 else ["linear", "nearest"] + ["cubic"] * (rank == 2)
    sizes, results = [d.int(1, 5) for _ in range(rank)], [d.int(1, 4) for _ in range(rank)]
    n = d.int(1, 2)
    dtype = d.type(only=lambda dtype: dtype.kind == "f")
    grid_type = dtype if d.version < 22 else dtype
    return [d.plain(dtype, [n, d.int(1, 2), *sizes]), d.plain(grid_type, [n, *results, rank], -1.5, 1.5)], d.some(
        mode=modes, padding_mode=["zeros", "border", "reflection"], align_corners=[0, 1])


@of("AffineGrid")
def affine_grid(d):
    rank = d.int(2, 3)
    n = d.int(1, 2)
    return [d.plain(d.type(), [n, rank, rank + 1]), d.ints([n, d.int(1, 3), *[d.int(1, 4) for _ in range(rank)]])], d.some(
        align_corners=[0, 1])


@of("RoiAlign")
def roi_align(d):
    n, c, h, w = d.int(1, 2), d.int(1, 2), d.int(2, 6), d.int(2, 6)
    count = d.int(1, 3)
    dtype = d.type()
    corners = np.sort(d.g.uniform(-1, 7, [count, 2, 2]), axis=1).reshape(count, 4).astype(dtype)
    return [d.plain(dtype, [n, c, h, w]), corners, d.plain(np.dtype(np.int64), [count], 0, n - 1)], d.some(
        mode=["avg", "max"], output_height=[1, 2, 3], output_width=[1, 2, 3], sampling_ratio=[0, 1, 2],
        spatial_scale=[1.0, 0.5], coordinate_transformation_mode=["half_pixel", "output_half_pixel"])


@of("MaxRoiPool")
def max_roi_pool(d):
    n, c, h, w = d.int(1, 2), d.int(1, 2), d.int(3, 6), d.int(3, 6)
    count = d.int(1, 3)
    dtype = d.type()
    rows = [[d.int(0, n - 1), x, y, d.int(x, w - 1), d.int(y, h - 1)]
            for x, y in ((d.int(0, w - 1), d.int(0, h - 1)) for _ in range(count))]
    return [d.plain(dtype, [n, c, h, w]), np.array(rows).astype(dtype)], {
        "pooled_shape": [d.int(1, 3), d.int(1, 3)], **d.some(spatial_scale=[1.0, 0.5])}


@of("NonMaxSuppression")
def suppression(d):
    batch, boxes, classes = d.int(1, 2), d.int(1, 8), d.int(1, 2)
    corner = d.g.uniform(0, 1, [batch, boxes, 2])
    size = d.g.uniform(0.1, 0.6, [batch, boxes, 2])
    center = d.pick([0, 1])
    rest = size if center else corner + size
    scalar = lambda value, dtype: np.array(value, dtype).reshape([1] if d.chance(0.5) else [])
    return [np.concatenate([corner, rest], -1).astype(np.float32), d.plain(np.dtype(np.float32), [batch, classes, boxes], 0, 1),
            scalar(d.int(0, 5), np.int64) if d.chance(0.8) else None,
            scalar(d.pick([0.0, 0.3, 0.5, 1.0]), np.float32) if d.chance(0.8) else None,
            scalar(d.pick([0.0, 0.3, 0.5]), np.float32) if d.chance(0.6) else None], {"center_point_box": center}


@of("BlackmanWindow", "HammingWindow", "HannWindow")
def windows(d):
    size = np.array(d.int(1, 12), d.pick([np.int32, np.int64]))
    return [size], d.some(periodic=[0, 1], output_datatype=[1, 11, 7, 6])


@of("DFT")
def dft(d):
    inverse, onesided = d.pick([0, 0, 1]), d.pick([0, 0, 1])
    shape = [*d.shape(2, 3, 1)]
    parts = 2 if inverse or (d.chance(0.5) and not onesided) else 1
    onesided = 0 if inverse else onesided
    axis = d.int(0, len(shape) - 1)
    if d.version >= 20 and d.chance(0.3):
        axis -= len(shape) + 1
    length = np.array(d.int(1, 9), np.int64) if d.chance(0.4) else None
    attributes = {"inverse": inverse, "onesided": onesided}
    x = d.plain(d.type(), [*shape, parts])
    if d.version < 20:
        return [x, length], attributes | {"axis": max(axis, 1) if d.chance(0.5) and len(shape) > 1 else axis}
    return [x, length, np.array(axis, np.int64)], attributes


@of("MelWeightMatrix")
def mel(d):
    kind = d.pick([np.int32, np.int64])
    of_int = lambda value: np.array(value, kind)
    of_float = lambda value: np.array(value, np.float32)
    return [of_int(d.int(1, 8)), of_int(d.pick([8, 16, 32])), of_int(d.pick([8000, 16000])),
            of_float(d.pick([0.0, 20.0, 125.0])), of_float(d.pick([2000.0, 4000.0]))], d.some(output_datatype=[1, 11])
