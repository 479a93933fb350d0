"""Writes `layers/`: encoders with equal layers, and what ONNX Runtime answers.

Requires `onnx`, `numpy` and `onnxruntime`: `python ui-tests/models/layers.py`. `cargo onnx-embed verify` compares the answers.
`python ui-tests/models/layers.py FOLDER COUNT..` writes encoders of hidden size 128 with these numbers of layers to a folder, for
measurements of rustc.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).parent / "layers"


class Encoder:
    """A graph as exporters write it: scoped names of nodes, transposed weights with the name of their product."""

    def __init__(self, layers, width, heads, inner, scoped=True, shared=False):
        self.random = np.random.default_rng(layers)
        self.width, self.heads, self.inner = width, heads, inner
        self.scoped, self.shared = scoped, shared
        self.nodes, self.weights, self.names, self.count = [], {}, set(), 0
        self.layers = layers

    def node(self, kind, inputs, scope="", **attributes):
        self.count += 1
        name, out = f"{scope}/{kind}" if self.scoped else f"{kind}_{self.count}", f"v{self.count}"
        if name in self.names:
            name = f"{name}_{self.count}"
        self.names.add(name)
        self.nodes.append(helper.make_node(kind, inputs, [out], name=name, **attributes))
        return out

    def weight(self, name, *shape, scale=0.3, around=0.0):
        if not self.scoped:
            name = f"w{len(self.weights)}"
        self.weights[name] = (around + self.random.normal(0, scale, shape)).astype(np.float32)
        return name

    def constant(self, name, value):
        self.weights[name] = value
        return name

    def linear(self, x, module, inputs, outputs):
        scope = "/" + module.replace(".layer.", "/layer.").replace(".attention.", "/attention/")
        product = self.weight(f"onnx::MatMul_{self.count + 100}", inputs, outputs, scale=inputs ** -0.5)
        y = self.node("MatMul", [x, product], scope)
        if self.shared:
            bias = self.constant(f"bias_{outputs}", np.zeros(outputs, np.float32))
        else:
            bias = self.weight(f"{module}.bias", outputs, scale=0.1)
        return self.node("Add", [bias, y], scope)

    def norm(self, x, module):
        scope = "/" + module.replace(".", "/")
        scale = self.weight(f"{module}.weight", self.width, scale=0.1, around=1)
        bias = self.weight(f"{module}.bias", self.width, scale=0.1)
        return self.node("LayerNormalization", [x, scale, bias], scope, axis=-1, epsilon=1e-12)

    def layer(self, at, x, mask):
        module = f"encoder.layer.{at}"
        scope = f"/encoder/layer.{at}"
        head = self.width // self.heads
        heads = self.constant("heads", np.array([0, 0, self.heads, head], np.int64))
        joined = self.constant("joined", np.array([0, 0, self.width], np.int64))
        parts = {}
        for part, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])):
            y = self.linear(x, f"{module}.attention.{part}", self.width, self.width)
            y = self.node("Reshape", [y, heads], f"{scope}/attention")
            parts[part] = self.node("Transpose", [y], f"{scope}/attention", perm=order)
        scores = self.node("MatMul", [parts["query"], parts["key"]], f"{scope}/attention")
        root = self.constant("root", np.array(head ** 0.5, np.float32))
        scores = self.node("Div", [scores, root], f"{scope}/attention")
        scores = self.node("Add", [scores, mask], f"{scope}/attention")
        weights = self.node("Softmax", [scores], f"{scope}/attention", axis=-1)
        mixed = self.node("MatMul", [weights, parts["value"]], f"{scope}/attention")
        mixed = self.node("Transpose", [mixed], f"{scope}/attention", perm=[0, 2, 1, 3])
        mixed = self.node("Reshape", [mixed, joined], f"{scope}/attention")
        y = self.linear(mixed, f"{module}.attention.output", self.width, self.width)
        y = self.node("Add", [y, x], f"{scope}/attention")
        x = self.norm(y, f"{module}.attention.norm")
        y = self.linear(x, f"{module}.up", self.width, self.inner)
        e = self.node("Div", [y, self.constant("root2", np.array(2 ** 0.5, np.float32))], scope)
        e = self.node("Erf", [e], scope)
        e = self.node("Add", [e, self.constant("one", np.array(1, np.float32))], scope)
        y = self.node("Mul", [y, e], scope)
        y = self.node("Mul", [y, self.constant("half", np.array(0.5, np.float32))], scope)
        y = self.linear(y, f"{module}.down", self.inner, self.width)
        y = self.node("Add", [y, x], scope)
        return self.norm(y, f"{module}.norm")

    def model(self):
        hidden = helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["batch", "words", self.width])
        mask = helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["batch", 1, 1, "words"])
        x = self.norm("hidden", "norm")
        for at in range(self.layers):
            x = self.layer(at, x, "mask")
        self.nodes.append(helper.make_node("Tanh", [x], ["y"], name="/Tanh"))
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", "words", self.width])
        weights = [numpy_helper.from_array(value, name) for name, value in self.weights.items()]
        graph = helper.make_graph(self.nodes, "encoder", [hidden, mask], [y], weights)
        opset = [helper.make_opsetid("", 20)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=9, producer_name="pytorch")
        onnx.checker.check_model(model, full_check=True)
        return model

    def write(self, folder, name):
        model = self.model()
        folder = folder / name
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save(model, folder / f"{name}.onnx")
        at = np.arange(2 * 3 * self.width)
        inputs = {"hidden": ((at * 37 % 23 - 11) / 7).astype(np.float32).reshape(2, 3, self.width),
                  "mask": np.where(np.arange(3) < np.array([[3], [2]]), 0, -1e4).astype(np.float32)[:, None, None]}
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        held = {f"in/{key}": value for key, value in inputs.items()}
        held["out/y"] = session.run(["y"], inputs)[0]
        np.savez_compressed(folder / "io.npz", **held)
        print(name, len(self.nodes), "nodes,", (folder / f"{name}.onnx").stat().st_size, "bytes")
        print(np.array2string(held["out/y"][:, 0].flatten(), separator=", ", precision=7, floatmode="unique"))


if len(sys.argv) > 2:
    for count in sys.argv[2:]:
        Encoder(int(count), 128, 2, 512).write(Path(sys.argv[1]), f"encoder{count}")
else:
    Encoder(4, 4, 2, 6).write(HERE, "four_layers")
    Encoder(34, 4, 2, 6).write(HERE, "many_layers")
    Encoder(4, 4, 2, 6, scoped=False).write(HERE, "unscoped_layers")
    Encoder(4, 4, 2, 6, shared=True).write(HERE, "shared_biases")
