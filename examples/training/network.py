"""Networks written once: JAX computes them while they are trained, then the same function writes them as ONNX.

A network is a function `forward(ops, x)` that calls methods of `ops`, which is `Compute` or `Export`. Names of
weights and nodes are those that PyTorch's exporter gives.
"""

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import optax
from onnx import TensorProto, helper, numpy_helper

EPSILON = 1e-5
RUNNING_SHARE = 0.02


class Compute:
    """Computes with JAX. Weights that are missing are initialized."""

    def __init__(self, weights, random=None, training=False):
        self.weights, self.random, self.training = weights, random, training
        self.running = {}

    def weight(self, name, shape, spread):
        if name not in self.weights:
            self.weights[name] = jnp.asarray(self.random.normal(0, spread, shape), jnp.float32)
        return self.weights[name]

    def vector(self, name, length, value=0.0):
        if name not in self.weights:
            self.weights[name] = jnp.full(length, value, jnp.float32)
        return self.weights[name]

    def conv(self, x, name, outputs, size=3, stride=1, bias=False):
        inputs, size = x.shape[1], _pair(size)
        weight = self.weight(f"{name}.weight", (outputs, inputs, *size), np.sqrt(2 / (inputs * size[0] * size[1])))
        x = jax.lax.conv_general_dilated(x, weight, _pair(stride), [(pad, pad) for pad in _pads(size)])
        return x + self.vector(f"{name}.bias", outputs)[:, None, None] if bias else x

    def norm(self, x, name):
        channels = x.shape[1]
        scale, bias = self.vector(f"{name}.weight", channels, 1.0), self.vector(f"{name}.bias", channels)
        mean = self.vector(f"{name}.running_mean", channels)
        variance = self.vector(f"{name}.running_var", channels, 1.0)
        if self.training:
            batch_mean, batch_variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
            for part, old, new in (("mean", mean, batch_mean), ("var", variance, batch_variance)):
                self.running[f"{name}.running_{part}"] = old + RUNNING_SHARE * (new - old)
            mean, variance = batch_mean, batch_variance
        scale = scale / jnp.sqrt(variance + EPSILON)
        return x * scale[:, None, None] + (bias - mean * scale)[:, None, None]

    def linear(self, x, name, outputs):
        weight = self.weight(f"{name}.weight", (outputs, x.shape[-1]), np.sqrt(1 / x.shape[-1]))
        return x @ weight.T + self.vector(f"{name}.bias", outputs)

    def relu(self, x):
        return jax.nn.relu(x)

    def max_pool(self, x):
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def mean(self, x):
        return x.mean((2, 3))


class Export:
    """Writes nodes of an ONNX graph; values are their names."""

    def __init__(self, weights):
        self.weights, self.nodes, self.constants = weights, [], {}

    def node(self, operator, inputs, output=None, name=None, **attributes):
        name = f"/{name or len(self.nodes)}/{operator}"
        output = output or f"{name}_output_0"
        self.nodes.append(helper.make_node(operator, inputs, [output], name, **attributes))
        return output

    def constant(self, name, value):
        self.constants[name] = np.asarray(value, order="C")
        return name

    def weight(self, name):
        return self.constant(name, np.asarray(self.weights[name]))

    def conv(self, x, name, outputs, size=3, stride=1, bias=False):
        inputs = [x] + [self.weight(f"{name}.{part}") for part in ("weight", "bias")[: 1 + bias]]
        size = _pair(size)
        shape = {"kernel_shape": size, "strides": _pair(stride), "pads": _pads(size) * 2}
        return self.node("Conv", inputs, name=name, **shape)

    def norm(self, x, name):
        parts = [self.weight(f"{name}.{part}") for part in ("weight", "bias", "running_mean", "running_var")]
        return self.node("BatchNormalization", [x, *parts], name=name, epsilon=EPSILON)

    def linear(self, x, name, outputs):
        return self.node("Gemm", [x, self.weight(f"{name}.weight"), self.weight(f"{name}.bias")], name=name, transB=1)

    def relu(self, x):
        return self.node("Relu", [x])

    def max_pool(self, x):
        return self.node("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])

    def mean(self, x):
        return self.node("Flatten", [self.node("GlobalAveragePool", [x])])

    def save(self, path, inputs, outputs, metadata=(), name=None):
        """`inputs` and `outputs` are `{name: shape}`, or `{name: (type, shape)}` where the elements are no floats."""
        graph = helper.make_graph(
            self.nodes,
            name or path.stem,
            [_value(*item) for item in inputs.items()],
            [_value(*item) for item in outputs.items()],
            [numpy_helper.from_array(value, name) for name, value in self.constants.items()],
        )
        opset = [helper.make_opsetid("", 20)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=10, producer_name="onnx-embed/examples")
        helper.set_model_props(model, dict(metadata))
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, path)


def fit(loss, weights, batches, steps, rate=3e-3):
    """Adam with warm-up and a cosine; `loss(weights, batch)` gives the loss and the running statistics."""
    schedule = optax.warmup_cosine_decay_schedule(0.0, rate, min(100, steps // 10), steps)
    optimizer = optax.adamw(schedule, weight_decay=1e-4)

    @jax.jit
    def step(weights, state, batch):
        (value, running), slopes = jax.value_and_grad(loss, has_aux=True)(weights, batch)
        updates, state = optimizer.update(slopes, state, weights)
        return {**optax.apply_updates(weights, updates), **running}, state, value

    state, smooth = optimizer.init(weights), None
    for number, batch in zip(range(1, steps + 1), batches):
        weights, state, value = step(weights, state, batch)
        smooth = float(value) if smooth is None else 0.98 * smooth + 0.02 * float(value)
        if number % 100 == 0:
            print(f"step {number} of {steps}: loss {smooth:.4f}", flush=True)
    return weights


def _pair(size):
    """Height and width of a kernel or a stride."""
    return size if isinstance(size, tuple) else (size, size)


def _pads(size):
    """What keeps the size with a stride of 1. A kernel of even height takes less than it."""
    return tuple((side - 1) // 2 for side in size)


def _value(name, shape):
    kind = TensorProto.FLOAT
    if isinstance(shape, tuple):
        kind, shape = shape
    return helper.make_tensor_value_info(name, kind, shape)
