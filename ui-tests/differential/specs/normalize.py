"""Normalization, losses and embeddings."""

import numpy as np

from specs import of


def terms(d, dtype, shape):
    d.extremes = False
    return d.values(dtype, shape)


@of("BatchNormalization")
def batch(d):
    shape = [d.int(0 if d.chance(0.1) else 1, 3), d.int(1, 4), *d.shape(0, 3, 1)]
    dtype = d.type()
    if d.version < 7 and len(shape) < 3:
        shape += [2, 3]
    of_type = lambda at: d.type(at) if d.version >= 14 and d.chance(0.3) else dtype
    scale_type, mean_type = (of_type(1), of_type(3)) if d.version >= 15 else (dtype, of_type(3))
    channel = lambda kind, low=-2: d.plain(kind, shape[1:2], low, 2)
    attributes = d.some(epsilon=[1e-5, 1e-3, 0.1], momentum=[0.9, 0.5])
    if d.version < 7:
        attributes["is_test"] = 1
    if d.version == 1:
        attributes["consumed_inputs"] = [0, 0, 0, 1, 1]
    outputs = 1
    if d.version >= 14 and d.chance(0.3) and shape[0]:
        attributes["training_mode"], outputs = 1, 3
    return [terms(d, dtype, shape), channel(scale_type), channel(scale_type), channel(mean_type),
            channel(mean_type, 0.1)], attributes, outputs


@of("InstanceNormalization")
def instance(d):
    shape = [d.int(1, 2), d.int(1, 4), *d.shape(1, 3, 1)]
    dtype = d.type()
    return [terms(d, dtype, shape), terms(d, dtype, shape[1:2]), terms(d, dtype, shape[1:2])], d.some(epsilon=[1e-5, 1e-3])


@of("GroupNormalization")
def group(d):
    groups = d.int(1, 3)
    shape = [d.int(1, 2), groups * d.int(1, 3), *d.shape(1, 2, 1)]
    count = groups if d.version == 18 else shape[1]
    dtype = d.type()
    return [terms(d, dtype, shape), terms(d, dtype, [count]), terms(d, dtype, [count])], d.some(
        epsilon=[1e-5, 1e-3]) | {"num_groups": groups}


@of("LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization")
def layer(d):
    shape = d.shape(1, 4, 1)
    axis = d.axis(len(shape))
    dtype = d.type()
    scale = shape[axis % len(shape):]
    if d.schema.name != "SimplifiedLayerNormalization" and d.chance(0.2):
        scale = [1 if d.chance(0.3) else size for size in scale]
    scale_type = d.type(1) if d.schema.name == "RMSNormalization" and d.chance(0.2) else dtype
    inputs = [terms(d, dtype, shape), d.plain(scale_type, scale)]
    outputs = 1
    if d.schema.name == "LayerNormalization":
        inputs.append(terms(d, dtype, scale) if d.chance(0.6) else None)
        outputs = d.pick([1, 1, 3])
    return inputs, d.some(epsilon=[1e-5, 1e-3]) | {"axis": axis}, outputs


@of("MeanVarianceNormalization")
def mean_variance(d):
    shape = d.shape(2 if d.chance(0.2) else 4, 4, 1)
    axes = sorted(axis % len(shape) for axis in d.axes(len(shape), 1))
    return [terms(d, d.type(), shape)], {"axes": axes} if len(shape) != 4 or d.chance(0.6) else {}


@of("LRN")
def lrn(d):
    shape = [d.int(1, 2), d.int(1, 6), *d.shape(2, 2, 1)]
    return [terms(d, d.type(), shape)], d.some(alpha=[1e-4, 0.1], beta=[0.75, 0.5], bias=[1.0, 2.0]) | {
        "size": d.pick([1, 3, 5, 2])}


@of("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(d):
    classes = d.int(1, 4)
    batch, rest = d.int(1, 3), d.shape(0, 2, 1)
    dtype, kind = d.type(), d.pick([np.int32, np.int64])
    target = d.plain(np.dtype(kind), [batch, *rest], 0, classes - 1)
    attributes = d.some(reduction=["none", "sum", "mean"])
    if d.chance(0.4):
        ignored = d.pick([0, classes - 1, -1, 100])
        attributes["ignore_index"] = ignored
        target = np.where(d.g.random(target.shape) < 0.3, ignored, target).astype(kind)
    weight = d.plain(dtype, [classes], 0.1, 2) if d.chance(0.5) else None
    outputs = d.int(1, 2) if d.schema.name == "SoftmaxCrossEntropyLoss" else 1
    return [terms(d, dtype, [batch, classes, *rest]), target, weight], attributes, outputs


@of("Dropout")
def dropout(d):
    x = d.values(d.type(), d.shape())
    if d.version < 12:
        attributes = d.some(ratio=[0.5, 0.0]) | ({"is_test": 1} if d.version < 7 else {})
        return [x], attributes, d.int(1, 2) if d.version >= 10 else 1
    ratio = d.pick([None, np.array(0.5, np.float32), np.array(0.0, np.float32)])
    training = d.pick([None, np.array(False)])
    return [x, ratio, training], {}, d.int(1, 2)


@of("com.microsoft:SkipLayerNormalization", "com.microsoft:SkipSimplifiedLayerNormalization")
def skip(d):
    shape = [d.int(1, 3), d.int(1, 4), d.size(1)]
    dtype = d.type()
    simple = d.schema.name == "SkipSimplifiedLayerNormalization"
    other = [d.pick([1, shape[0]]), *shape[1:]] if d.chance(0.3) else shape
    last = lambda: terms(d, dtype, shape[-1:]) if d.chance(0.5) else None
    gamma = terms(d, dtype, shape[-1:])
    inputs = [terms(d, dtype, shape), terms(d, dtype, other), gamma, last()]
    return inputs if simple else [*inputs, last()], d.some(epsilon=[1e-5, 1e-3])
