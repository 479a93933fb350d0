"""Writes `half_precision/`: networks with weights of 16 bits, and what ONNX Runtime answers.

Requires `onnx`, `numpy` and `onnxruntime`: `python ui-tests/models/half_precision.py`. ONNX Runtime
computes them in single precision on CPUs, so that no rounding adds up from node to node;
`cargo onnx-embed verify` compares the answers.
"""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).parent / "half_precision"
HALF, SINGLE = TensorProto.FLOAT16, TensorProto.FLOAT


class Network:
    """A graph, node by node, with weights of 16 bits."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights = [], {}

    def __call__(self, kind, *inputs, name=None, type=None, **attributes):
        name = name or f"{kind.lower()}_{len(self.nodes)}"
        if type:
            attributes["to"] = type
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def weight(self, *shape, scale, around=0.0):
        name = f"weight_{len(self.weights)}"
        self.weights[name] = (around + self.random.normal(0, scale, shape)).astype(np.float16)
        return name

    def normal(self, *shape):
        return self.random.normal(0, 1, shape).astype(np.float32)

    def write(self, name, inputs, outputs):
        """Arrays by name, and the outputs' element types and sizes."""
        io = [[helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
               for key, value in inputs.items()],
              [helper.make_tensor_value_info(key, *held) for key, held in outputs.items()]]
        weights = [numpy_helper.from_array(value, key) for key, value in self.weights.items()]
        graph = helper.make_graph(self.nodes, name, *io, weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9,
                                  producer_name="onnx-embed")
        onnx.checker.check_model(model, full_check=True)
        folder = HERE / name
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save(model, folder / f"{name}.onnx")
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        answers = session.run(list(outputs), inputs)
        held = {f"in/{key}": value for key, value in inputs.items()}
        held |= {f"out/{key}": value for key, value in zip(outputs, answers)}
        np.savez_compressed(folder / "io.npz", **held)
        print(name, len(self.nodes), "nodes,", (folder / f"{name}.onnx").stat().st_size, "bytes")


def deep():
    """25 blocks of five nodes, from floats of 16 bits to such ones."""
    width = 16
    net = Network(1)
    x = "x"
    for block in range(25):
        y = net("MatMul", x, net.weight(width, width, scale=width ** -0.5))
        y = net("Add", y, net.weight(width, scale=0.1))
        y = net("Gelu", y)
        y = net("Add", x, y)
        x = net("LayerNormalization", y, net.weight(width, scale=0.1, around=1), net.weight(width, scale=0.1),
                axis=-1, name="y" if block == 24 else None)
    net.write("deep", {"x": net.normal(3, width).astype(np.float16)}, {"y": (HALF, [3, width])})


def segmentation():
    """Convolutions in 16 bits between casts from and to single precision."""
    net = Network(2)
    x, channels = net("Cast", "image", type=HALF), 3
    for _ in range(12):
        weight = net.weight(8, channels, 3, 3, scale=(2 / (9 * channels)) ** 0.5)
        y = net("Relu", net("Conv", x, weight, net.weight(8, scale=0.1), pads=[1, 1, 1, 1]))
        x, channels = net("Add", x, y) if channels == 8 else y, 8
    x = net("Conv", x, net.weight(2, 8, 1, 1, scale=0.3), net.weight(2, scale=0.1))
    net("Cast", net("Softmax", x, axis=1), name="mask", type=SINGLE)
    # ONNX Runtime leaves out the rounding of the first cast.
    image = net.normal(1, 3, 9, 7).astype(np.float16).astype(np.float32)
    net.write("segmentation", {"image": image}, {"mask": (SINGLE, [1, 2, 9, 7])})


def detector():
    """Weights of 16 bits, each cast to single precision where it is used, and boxes in 16 bits."""
    net = Network(3)
    x, channels = "image", 3
    for _ in range(10):
        weight = net("Cast", net.weight(8, channels, 3, 3, scale=(2 / (9 * channels)) ** 0.5), type=SINGLE)
        y = net("Conv", x, weight, pads=[1, 1, 1, 1])
        x, channels = net("Mul", y, net("Sigmoid", y)), 8
    x = net("Cast", net("GlobalAveragePool", x), type=HALF)
    x = net("Flatten", x)
    scores = net("MatMul", x, net.weight(8, 5, scale=0.5))
    net("Sigmoid", scores, name="scores")
    boxes = net("MatMul", x, net.weight(8, 4, scale=0.5))
    net("Exp", boxes, name="boxes")
    net.write("detector", {"image": net.normal(2, 3, 8, 8)}, {"scores": (HALF, [2, 5]), "boxes": (HALF, [2, 4])})


if __name__ == "__main__":
    deep()
    segmentation()
    detector()
