"""Layers of Keras and functions of TensorFlow by tf2onnx.

    python keras_layers.py FOLDER

Requires tensorflow-cpu, tf2onnx and onnxruntime.
"""

import argparse
import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np
import tensorflow as tf
import tf2onnx
from sweep import Sweep

OPSET = 18
layers = tf.keras.layers
IMAGES, ROWS, VECTORS, VOLUMES = (2, 8, 9, 6), (2, 7, 12), (2, 6), (1, 5, 6, 7, 2)


def on_vectors():
    for name in ("relu", "elu", "selu", "gelu", "silu", "softplus", "softsign", "tanh", "sigmoid", "hard_sigmoid",
                 "exponential", "mish", "leaky_relu", "relu6", "log_softmax", "hard_silu"):
        yield f"dense_{name}", layers.Dense(4, activation=name)
    yield "prelu", layers.PReLU()
    yield "dropout", layers.Dropout(0.5)
    yield "repeat_vector", layers.RepeatVector(3)
    yield "unit_normalization", layers.UnitNormalization()
    yield "normalization", layers.Normalization(mean=0.5, variance=2.0)
    yield "rescaling", layers.Rescaling(0.5, 1)


def on_rows():
    yield "softmax", layers.Softmax(1)
    yield "dense_rows", layers.Dense(5)
    for name in ("LSTM", "GRU", "SimpleRNN"):
        kind = getattr(layers, name)
        yield name.lower(), kind(5)
        yield f"{name.lower()}_sequences", kind(5, return_sequences=True)
        yield f"{name.lower()}_both_ways", layers.Bidirectional(kind(5, return_sequences=True))
        yield f"{name.lower()}_backwards", kind(5, go_backwards=True)
    yield "gru_before", layers.GRU(5, reset_after=False)
    for padding in ("valid", "same", "causal"):
        yield f"conv1d_{padding}", layers.Conv1D(4, 3, padding=padding, dilation_rate=2)
    yield "conv1d_transpose", layers.Conv1DTranspose(4, 3, 2, padding="same")
    yield "separable_conv1d", layers.SeparableConv1D(4, 3)
    yield "max_pool1d", layers.MaxPooling1D(2)
    yield "average_pool1d", layers.AveragePooling1D(3, 2, padding="same")
    yield "global_max_pool1d", layers.GlobalMaxPooling1D()
    yield "global_average_pool1d", layers.GlobalAveragePooling1D()
    yield "layer_normalization", layers.LayerNormalization()
    yield "time_distributed", layers.TimeDistributed(layers.Dense(3))
    yield "permute", layers.Permute((2, 1))
    yield "reshape", layers.Reshape((4, 21))
    yield "flatten", layers.Flatten()
    yield "upsampling1d", layers.UpSampling1D(2)
    yield "cropping1d", layers.Cropping1D((1, 2))
    yield "zero_padding1d", layers.ZeroPadding1D((1, 2))


def on_images():
    for padding in ("valid", "same"):
        yield f"conv2d_{padding}", layers.Conv2D(4, 3, 2, padding=padding)
        yield f"conv2d_transpose_{padding}", layers.Conv2DTranspose(4, 3, 2, padding=padding)
        yield f"depthwise_conv2d_{padding}", layers.DepthwiseConv2D(3, depth_multiplier=2, padding=padding)
        yield f"max_pool2d_{padding}", layers.MaxPooling2D(3, 2, padding=padding)
        yield f"average_pool2d_{padding}", layers.AveragePooling2D(3, 2, padding=padding)
    yield "conv2d_dilated", layers.Conv2D(4, 3, dilation_rate=2, padding="same")
    yield "conv2d_groups", layers.Conv2D(6, 3, groups=2)
    yield "separable_conv2d", layers.SeparableConv2D(4, 3)
    yield "global_max_pool2d", layers.GlobalMaxPooling2D()
    yield "global_average_pool2d", layers.GlobalAveragePooling2D(keepdims=True)
    yield "batch_normalization", layers.BatchNormalization()
    yield "group_normalization", layers.GroupNormalization(3)
    for way in ("nearest", "bilinear", "bicubic"):
        yield f"upsampling2d_{way}", layers.UpSampling2D(2, interpolation=way)
        yield f"resizing_{way}", layers.Resizing(5, 13, interpolation=way)
    yield "cropping2d", layers.Cropping2D(((1, 2), (0, 1)))
    yield "zero_padding2d", layers.ZeroPadding2D(((1, 2), (0, 1)))
    yield "center_crop", layers.CenterCrop(4, 5)
    yield "spatial_dropout2d", layers.SpatialDropout2D(0.5)


def on_volumes():
    yield "conv3d", layers.Conv3D(3, 2)
    yield "conv3d_transpose", layers.Conv3DTranspose(3, 2, 2)
    yield "max_pool3d", layers.MaxPooling3D(2)
    yield "average_pool3d", layers.AveragePooling3D(2, padding="same")
    yield "upsampling3d", layers.UpSampling3D(2)


FUNCTIONS = {
    "matmul": lambda x: tf.matmul(x, x, transpose_b=True),
    "einsum": lambda x: tf.einsum("bij,bkj->bik", x, x),
    "top_k": lambda x: tf.math.top_k(x, 3),
    "sort": lambda x: tf.sort(x, 1),
    "arg_max": lambda x: tf.argmax(x, 2),
    "cumsum": lambda x: tf.cumsum(x, 1, exclusive=True, reverse=True),
    "cumprod": lambda x: tf.math.cumprod(x, 1),
    "log_sum_exp": lambda x: tf.reduce_logsumexp(x, 1),
    "moments": lambda x: tf.nn.moments(x, [0, 1]),
    "norm": lambda x: tf.norm(x, axis=2),
    "l2_normalize": lambda x: tf.math.l2_normalize(x, 2),
    "where": lambda x: tf.where(x > 0, x, -x),
    "where_indices": lambda x: tf.where(x > 0.5),
    "boolean_mask": lambda x: tf.boolean_mask(x, x[:, :, 0] > 0),
    "gather": lambda x: tf.gather(x, [2, 0], axis=1),
    "gather_batch": lambda x: tf.gather(x, [[1, 2], [0, 3]], axis=1, batch_dims=1),
    "gather_nd": lambda x: tf.gather_nd(x, [[0, 1], [1, 2]]),
    "scatter_nd": lambda x: tf.scatter_nd([[1], [3]], x[:, 0], [5, 12]),
    "scatter_update": lambda x: tf.tensor_scatter_nd_update(x, [[0, 1]], x[1:, 2]),
    "one_hot": lambda x: tf.one_hot(tf.argmax(x, 2), 12),
    "slice": lambda x: x[:, 1:-1:2, ::-1],
    "split": lambda x: tf.split(x, [5, 7], 2)[1],
    "tile": lambda x: tf.tile(x, [1, 2, 1]),
    "pad_reflect": lambda x: tf.pad(x, [[0, 0], [1, 2], [0, 0]], "REFLECT"),
    "pad_symmetric": lambda x: tf.pad(x, [[0, 0], [1, 2], [0, 0]], "SYMMETRIC"),
    "reverse_sequence": lambda x: tf.reverse_sequence(x, [3, 5], 1),
    "roll": lambda x: tf.roll(x, 2, 1),
    "band_part": lambda x: tf.linalg.band_part(x, 1, 0),
    "diagonal": lambda x: tf.linalg.diag_part(x),
    "segment_sum": lambda x: tf.math.unsorted_segment_sum(x[0], [0, 1, 0, 2, 2, 1, 0], 3),
    "floor_mod": lambda x: tf.math.floormod(x, 0.7),
    "floor_div": lambda x: tf.cast(x * 10, tf.int32) // 3,
    "truncate_mod": lambda x: tf.truncatemod(tf.cast(x * 10, tf.int32), 3),
    "round": tf.round,
    "erf": tf.math.erf,
    "log1p": lambda x: tf.math.log1p(tf.abs(x)),
    "squared_difference": lambda x: tf.math.squared_difference(x, x[:, :1]),
    "cast_int8": lambda x: tf.cast(tf.cast(x * 20, tf.int8), tf.float32),
    "bucketize": lambda x: tf.searchsorted(tf.constant([-1.0, 0.0, 1.0]), tf.reshape(x, [-1])),
    "rfft": lambda x: tf.abs(tf.signal.rfft(x)),
    "while_loop": lambda x: tf.while_loop(lambda at, y: at < 3, lambda at, y: (at + 1, y * 0.5), (0, x))[1],
    "cond": lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: x + 1, lambda: x - 1),
    "scan": lambda x: tf.scan(lambda a, b: a * 0.5 + b, tf.transpose(x, [1, 0, 2])),
    "shape": lambda x: tf.reshape(x, [tf.shape(x)[0], -1]) * tf.cast(tf.shape(x)[1], tf.float32),
}
IMAGE_FUNCTIONS = {
    "space_to_depth": lambda x: tf.nn.space_to_depth(x[:, :, :8], 2),
    "depth_to_space": lambda x: tf.nn.depth_to_space(x[..., :4], 2),
    "space_to_batch": lambda x: tf.space_to_batch(x[:, :, :8], [2, 2], [[0, 0], [0, 0]]),
    "local_response_normalization": tf.nn.local_response_normalization,
    "resize_area": lambda x: tf.compat.v1.image.resize_bilinear(x, [4, 5], align_corners=True),
    "resize_antialias": lambda x: tf.image.resize(x, [4, 5], antialias=True),
    "crop_and_resize": lambda x: tf.image.crop_and_resize(x, [[0, 0, 1, 1], [0.1, 0.2, 0.7, 0.8]], [0, 1], [4, 4]),
    "adjust_contrast": lambda x: tf.image.adjust_contrast(x[..., :3], 0.5),
    "non_max_suppression": lambda x: tf.image.non_max_suppression(tf.abs(x[0, :, 0, :4]), x[0, :, 1, 0], 3),
}


def networks():
    """Small networks of several layers."""
    image, row = tf.keras.Input(IMAGES[1:]), tf.keras.Input(ROWS[1:])
    x = layers.Conv2D(8, 3, padding="same")(image)
    skip = x
    for _ in range(2):
        x = layers.Conv2D(8, 3, padding="same")(layers.ReLU()(layers.BatchNormalization()(x)))
    x = layers.GlobalAveragePooling2D()(layers.Add()([x, skip]))
    yield "residual", tf.keras.Model(image, layers.Dense(3, activation="softmax")(x)), IMAGES
    x = layers.MultiHeadAttention(2, 4)(row, row)
    x = layers.LayerNormalization()(x + row)
    x = layers.LayerNormalization()(x + layers.Dense(12)(layers.Dense(24, activation="gelu")(x)))
    yield "encoder", tf.keras.Model(row, x), ROWS
    x = layers.LSTM(6)(layers.LSTM(6, return_sequences=True)(row))
    yield "stacked_lstm", tf.keras.Model(row, layers.Dense(2)(x)), ROWS
    x = layers.Multiply()([row, layers.Dense(12, activation="sigmoid")(row)])
    yield "gated", tf.keras.Model(row, layers.Concatenate()([x, row])), ROWS


def cases():
    yield from ((name, layer, VECTORS) for name, layer in on_vectors())
    yield from ((name, layer, ROWS) for name, layer in on_rows())
    yield from ((name, layer, IMAGES) for name, layer in on_images())
    yield from ((name, layer, VOLUMES) for name, layer in on_volumes())
    yield from ((f"f_{name}", function, ROWS) for name, function in FUNCTIONS.items())
    yield from ((f"f_{name}", function, IMAGES) for name, function in IMAGE_FUNCTIONS.items())
    yield from ((f"net_{name}", model, shape) for name, model, shape in networks())


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder")
    sweep = Sweep(arguments.parse_args().folder, ["tensorflow-cpu", "tf2onnx"])
    tf.keras.utils.set_random_seed(0)
    draw = np.random.default_rng(0)
    for name, function, shape in cases():
        value = draw.normal(size=shape).astype(np.float32)
        function(tf.constant(value))  # layers make their weights

        def export(path):
            signature = [tf.TensorSpec((None, *shape[1:]), tf.float32, name="x")]
            traced = tf.function(lambda x: function(x), input_signature=signature)
            model, _ = tf2onnx.convert.from_function(traced, signature, opset=OPSET)
            return model.SerializeToString(), [value]

        sweep.case(name, export)
    sweep.end()


if __name__ == "__main__":
    main()
