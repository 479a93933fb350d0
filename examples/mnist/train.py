"""Trains the digit classifier and writes `mnist.onnx` and `digits/*.png`.

Requires numpy and onnx, and onnxruntime to check the result: pip install numpy onnx onnxruntime
Takes under four minutes on one core; the data is made on the way (see handwriting.py).
"""

import struct
import zlib
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from handwriting import digits

HERE = Path(__file__).parent
EPOCHS = 14
EPOCH_SIZE = 30_000
BATCH = 100
PEAK_RATE = 4e-3
EPSILON = 1e-5
RUNNING_SHARE = 0.05
TEST_SEED = 1_000_000
SAMPLE_SEED = 2_000_006


def main():
    network = train()
    path = HERE / "mnist.onnx"
    onnx.save(export(network), path)
    classify = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])

    def probabilities(images):
        return classify.run(None, {"image": images[:, None]})[0]

    images, labels = digits(20_000, TEST_SEED)
    accuracy = (probabilities(images).argmax(1) == labels).mean()
    print(f"{path.name}: {path.stat().st_size} bytes, accuracy on 20000 unseen digits {accuracy:.2%}")
    write_samples(probabilities)


class Conv:
    """A 3x3 convolution of `[batch, height, width, channels]`, same size, no bias."""

    def __init__(self, random, inputs, outputs):
        self.weight = random.normal(0, np.sqrt(2 / (9 * inputs)), (9 * inputs, outputs)).astype(np.float32)
        self.parameters = {"weight": self.weight}

    def forward(self, x):
        height, width = x.shape[1:3]
        padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        taps = [padded[:, i : i + height, j : j + width] for i in range(3) for j in range(3)]
        self.patches = np.concatenate(taps, -1)
        return self.patches @ self.weight

    def backward(self, slope):
        count, height, width, outputs = slope.shape
        self.slopes = {"weight": self.patches.reshape(-1, len(self.weight)).T @ slope.reshape(-1, outputs)}
        taps = np.split(slope @ self.weight.T, 9, -1)
        padded = np.zeros((count, height + 2, width + 2, taps[0].shape[-1]), np.float32)
        for tap, part in enumerate(taps):
            i, j = divmod(tap, 3)
            padded[:, i : i + height, j : j + width] += part
        return padded[:, 1:-1, 1:-1]


class Norm:
    """Batch normalization over all but the last axis."""

    def __init__(self, channels):
        self.weight, self.bias = np.ones(channels, np.float32), np.zeros(channels, np.float32)
        self.running_mean, self.running_var = np.zeros(channels, np.float32), np.ones(channels, np.float32)
        self.parameters = {"weight": self.weight, "bias": self.bias}

    def forward(self, x):
        mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
        self.running_mean += RUNNING_SHARE * (mean - self.running_mean)
        self.running_var += RUNNING_SHARE * (variance - self.running_var)
        self.scale = 1 / np.sqrt(variance + EPSILON)
        self.normal = (x - mean) * self.scale
        return self.normal * self.weight + self.bias

    def backward(self, slope):
        self.slopes = {"weight": (slope * self.normal).sum((0, 1, 2)), "bias": slope.sum((0, 1, 2))}
        count = slope.size // slope.shape[-1]
        along = self.normal * (self.slopes["weight"] / count) + self.slopes["bias"] / count
        return (slope - along) * (self.scale * self.weight)


class ReluPool:
    """The positive part, then the maximum of each 2x2 square."""

    parameters = {}

    def forward(self, x):
        count, height, width, channels = x.shape
        squares = x.reshape(count, height // 2, 2, width // 2, 2, channels)
        highest = np.maximum(squares.max((2, 4), keepdims=True), 0)
        self.winners = (squares == highest) & (highest > 0)
        return highest.reshape(count, height // 2, width // 2, channels)

    def backward(self, slope):
        count, height, width, channels = slope.shape
        spread = self.winners * slope[:, :, None, :, None]
        return spread.reshape(count, height * 2, width * 2, channels)


class Linear:
    """Flattens, then multiplies by `weight` `[inputs, outputs]` and adds `bias`."""

    def __init__(self, random, inputs, outputs):
        self.weight = random.normal(0, np.sqrt(1 / inputs), (inputs, outputs)).astype(np.float32)
        self.bias = np.zeros(outputs, np.float32)
        self.parameters = {"weight": self.weight, "bias": self.bias}

    def forward(self, x):
        self.shape, self.flat = x.shape, x.reshape(len(x), -1)
        return self.flat @ self.weight + self.bias

    def backward(self, slope):
        self.slopes = {"weight": self.flat.T @ slope, "bias": slope.sum(0)}
        return (slope @ self.weight.T).reshape(self.shape)


def train():
    random = np.random.default_rng(0)
    network = {
        "conv1": Conv(random, 1, 8),
        "norm1": Norm(8),
        "pool1": ReluPool(),
        "conv2": Conv(random, 8, 16),
        "norm2": Norm(16),
        "pool2": ReluPool(),
        "linear": Linear(random, 7 * 7 * 16, 10),
    }
    layers = list(network.values())
    moments = [
        {name: np.zeros((2, *value.shape), np.float32) for name, value in layer.parameters.items()} for layer in layers
    ]
    steps = EPOCHS * EPOCH_SIZE // BATCH
    step = 0
    for epoch in range(EPOCHS):
        images, labels = digits(EPOCH_SIZE, seed=epoch)
        loss = 0.0
        for start in range(0, EPOCH_SIZE, BATCH):
            x, chosen = images[start : start + BATCH, ..., None], labels[start : start + BATCH]
            for layer in layers:
                x = layer.forward(x)
            x = np.exp(x - x.max(1, keepdims=True))
            x /= x.sum(1, keepdims=True)
            loss -= np.log(x[np.arange(BATCH), chosen] + 1e-9).sum()
            x[np.arange(BATCH), chosen] -= 1
            slope = x / BATCH
            for layer in reversed(layers):
                slope = layer.backward(slope)
            step += 1
            rate = PEAK_RATE * min(step / 100, (1 + np.cos(np.pi * step / steps)) / 2)
            for layer, moment in zip(layers, moments):
                adam(layer, moment, step, rate)
        print(f"epoch {epoch + 1:2} of {EPOCHS}: loss {loss / EPOCH_SIZE:.4f}", flush=True)
    return network


def adam(layer, moments, step, rate):
    for name, value in layer.parameters.items():
        mean, square = moments[name]
        mean += 0.1 * (layer.slopes[name] - mean)
        square += 0.001 * (layer.slopes[name] ** 2 - square)
        value -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)


def export(network):
    """The network as ONNX: channels first, names as PyTorch gives them."""
    weights = {}
    for name in ("conv1", "conv2"):
        taps, outputs = network[name].weight.shape
        weights[f"{name}.weight"] = network[name].weight.reshape(3, 3, taps // 9, outputs).transpose(3, 2, 0, 1)
    for name in ("norm1", "norm2"):
        for part in ("weight", "bias", "running_mean", "running_var"):
            weights[f"{name}.{part}"] = getattr(network[name], part)
    linear = network["linear"]
    weights["linear.weight"] = linear.weight.reshape(7, 7, 16, 10).transpose(3, 2, 0, 1).reshape(10, -1)
    weights["linear.bias"] = linear.bias

    nodes = []

    def node(operator, name, inputs, output=None, **attributes):
        output = output or f"/{name}/{operator}_output_0"
        nodes.append(helper.make_node(operator, inputs, [output], f"/{name}/{operator}", **attributes))
        return output

    x = "image"
    for n in (1, 2):
        x = node("Conv", f"conv{n}", [x, f"conv{n}.weight"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1])
        norm = [f"norm{n}.{part}" for part in ("weight", "bias", "running_mean", "running_var")]
        x = node("BatchNormalization", f"norm{n}", [x, *norm], epsilon=EPSILON)
        x = node("Relu", f"relu{n}", [x])
        x = node("MaxPool", f"pool{n}", [x], kernel_shape=[2, 2], strides=[2, 2])
    x = node("Flatten", "flatten", [x], axis=1)
    x = node("Gemm", "linear", [x, "linear.weight", "linear.bias"], transB=1)
    node("Softmax", "softmax", [x], "probabilities", axis=1)

    graph = helper.make_graph(
        nodes,
        "mnist",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 28, 28])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 10])],
        [numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in weights.items()],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9, producer_name="onnx-embed/examples/mnist"
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def write_samples(probabilities):
    """One unseen digit of each kind, written by a different hand each time."""
    images, labels = digits(200, SAMPLE_SEED)
    best = probabilities(images)
    (HERE / "digits").mkdir(exist_ok=True)
    for digit in range(10):
        right = np.flatnonzero((labels == digit) & (best[:, digit] > 0.9))
        write_png(HERE / "digits" / f"{digit}.png", images[right[digit % len(right)]])


def write_png(path, image):
    pixels = np.round(image * 255).astype(np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 0, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    )


if __name__ == "__main__":
    main()
