"""Writes mlp.onnx and prints what tests/expansion.rs says about it."""

import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


def ramp(*shape):
    count = int(np.prod(shape))
    return ((np.arange(count) % 7 - 3) / 4).astype(np.float32).reshape(shape)


def fnv1a(data):
    digest = 0xCBF29CE484222325
    for byte in data:
        digest = ((digest ^ byte) * 0x100000001B3) % 2**64
    return digest


raw = {"fc1.weight": ramp(5, 4), "fc1.bias": ramp(5), "fc2.weight": ramp(3, 5)}
initializers = [numpy_helper.from_array(array, name) for name, array in raw.items()]
# The last weight is written as `float_data`, as some exporters do.
initializers.append(helper.make_tensor("fc2.bias", TensorProto.FLOAT, [3], [0.5, -0.25, 0.125]))
graph = helper.make_graph(
    [
        helper.make_node("Gemm", ["x", "fc1.weight", "fc1.bias"], ["hidden"], transB=1),
        helper.make_node("Relu", ["hidden"], ["active"]),
        helper.make_node("Gemm", ["active", "fc2.weight", "fc2.bias"], ["logits"], transB=1),
        helper.make_node("ArgMax", ["logits"], ["class"], axis=1, keepdims=0),
    ],
    "mlp",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
    [
        helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 3]),
        helper.make_tensor_value_info("class", TensorProto.INT64, ["batch"]),
    ],
    initializers,
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
onnx.checker.check_model(model, full_check=True)
path = pathlib.Path(__file__).with_name("mlp.onnx")
path.write_bytes(model.SerializeToString())

data = path.read_bytes()
seen = 0
for tensor in model.graph.initializer:
    stored = tensor.raw_data or np.array(tensor.float_data, np.float32).tobytes()
    start = data.index(stored, seen)
    print(f'("{tensor.name}", &{list(tensor.dims)}, at({start}, {len(stored)}, {fnv1a(data[seen:start]):#x})),')
    seen = start + len(stored)
print(f"length: {len(data)}, tail: {fnv1a(data[seen:]):#x}")

x = np.array([[1, -2, 3, 0.5], [0.5, 1, -1, -2]], np.float32)
for output in onnxruntime.InferenceSession(path).run(None, {"x": x}):
    print(output.tolist())
