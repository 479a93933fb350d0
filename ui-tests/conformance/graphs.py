"""Types of sequences, and nodes and graphs that several families of fixtures are built of."""

import numpy as np
from onnx import TensorProto, helper

from case import numbers

FLOAT, BOOL, INT, TEXT = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64, TensorProto.STRING


def graph(name, nodes, inputs, outputs):
    """A graph whose inputs and outputs are declared by name, type and sizes."""
    infos = [[helper.make_tensor_value_info(*declared) for declared in side] for side in (inputs, outputs)]
    return helper.make_graph(nodes, name, *infos)


def sequence(name, dtype, shape):
    return helper.make_tensor_sequence_value_info(name, dtype, shape)


def optional(name, inner):
    return helper.make_value_info(name, helper.make_optional_type_proto(inner))


def rows(*sizes):
    draw = numbers("rows")
    return [draw.uniform(-3, 3, size).astype(np.float32) for size in sizes]


def join(axis=0, new=0):
    return helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=axis, new_axis=new)


def whole(name, value):
    """A scalar constant, as every version of Constant has it."""
    return helper.make_node("Constant", [], [name], value=helper.make_tensor("", INT, [], [value]))


def at(position, sequence="s", to="y"):
    return [whole(f"{to}_at", position),
            helper.make_node("SequenceAt", [sequence, f"{to}_at"], [to])]
