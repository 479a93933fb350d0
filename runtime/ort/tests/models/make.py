"""Writes the models of the tests. Run in this folder with the package `onnx`."""

import pathlib

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper


def save(name, nodes, inputs, outputs, initializers=(), **extra):
    graph = helper.make_graph(nodes, name, inputs, outputs, initializers, doc_string="A graph")
    opsets = [helper.make_opsetid("", 22), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="make.py")
    for key, value in extra.items():
        setattr(model, key, value)
    if name == "affine":
        helper.set_model_props(model, {"author": "tests", "labels": "no,yes"})
    onnx.checker.check_model(model)
    onnx.save(model, name + ".onnx")


def tensor(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def sequence(name, kind, shape):
    return helper.make_tensor_sequence_value_info(name, kind, shape)


# y = x w + b, z = -x
save(
    "affine",
    [
        helper.make_node("Gemm", ["x", "w", "b"], ["y"]),
        helper.make_node("Neg", ["x"], ["z"]),
    ],
    [tensor("x", T.FLOAT, ["batch", 3])],
    [tensor("y", T.FLOAT, ["batch", 2]), tensor("z", T.FLOAT, ["batch", 3])],
    [
        numpy_helper.from_array(np.array([[1, 0], [0, 1], [1, 1]], np.float32), "w"),
        numpy_helper.from_array(np.array([10, 20], np.float32), "b"),
    ],
    domain="org.example",
    model_version=7,
    doc_string="An affine map",
)

# Each input plus itself, and the contrary of the booleans.
kinds = {
    "float32": T.FLOAT, "float64": T.DOUBLE, "float16": T.FLOAT16, "bfloat16": T.BFLOAT16, "int8": T.INT8, "int16": T.INT16,
    "int32": T.INT32, "int64": T.INT64, "uint8": T.UINT8, "uint16": T.UINT16, "uint32": T.UINT32, "uint64": T.UINT64,
}
save(
    "types",
    [helper.make_node("Add", [name, name], [name + "_twice"]) for name in kinds]
    + [helper.make_node("Not", ["bool"], ["not_bool"])],
    [tensor(name, kind, ["n"]) for name, kind in kinds.items()] + [tensor("bool", T.BOOL, ["n"])],
    [tensor(name + "_twice", kind, ["n"]) for name, kind in kinds.items()] + [tensor("not_bool", T.BOOL, ["n"])],
)

save(
    "strings",
    [helper.make_node("StringConcat", ["left", "right"], ["joined"])],
    [tensor("left", T.STRING, ["n"]), tensor("right", T.STRING, [])],
    [tensor("joined", T.STRING, ["n"])],
)

save(
    "sequences",
    [
        helper.make_node("ConcatFromSequence", ["items"], ["joined"], axis=0),
        helper.make_node("SequenceInsert", ["items", "joined"], ["longer"]),
    ],
    [sequence("items", T.FLOAT, [None])],
    [tensor("joined", T.FLOAT, [None]), sequence("longer", T.FLOAT, [None])],
)

save(
    "scalar",
    [helper.make_node("Mul", ["x", "factor"], ["y"])],
    [tensor("x", T.INT64, ["n"]), tensor("factor", T.INT64, [])],
    [tensor("y", T.INT64, ["n"])],
)

# The probabilities of two classes by name.
save(
    "classes",
    [
        helper.make_node("Softmax", ["x"], ["p"], axis=1),
        helper.make_node("ZipMap", ["p"], ["probabilities"], domain="ai.onnx.ml", classlabels_strings=["no", "yes"]),
        helper.make_node("ZipMap", ["p"], ["by_number"], domain="ai.onnx.ml", classlabels_int64s=[10, 20]),
    ],
    [tensor("x", T.FLOAT, ["batch", 2])],
    [
        helper.make_value_info(
            name,
            helper.make_sequence_type_proto(
                helper.make_map_type_proto(key, helper.make_tensor_type_proto(T.FLOAT, []))
            ),
        )
        for name, key in [("probabilities", T.STRING), ("by_number", T.INT64)]
    ],
)

pathlib.Path("external.bin").unlink(missing_ok=True)

# y = x + table, whose values are in `external.bin`.
table = numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3), "table")
save(
    "external",
    [helper.make_node("Add", ["x", "table"], ["y"])],
    [tensor("x", T.FLOAT, [2, 3])],
    [tensor("y", T.FLOAT, [2, 3])],
    [table],
)
external = onnx.load("external.onnx")
onnx.save(external, "external.onnx", save_as_external_data=True, location="external.bin", size_threshold=0)
