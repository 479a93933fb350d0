"""Writes upstream.tar.xz: every node test case of the `onnx` package.

Requires `pip install onnx==1.23.2`: `python ui-tests/conformance/upstream.py`.
"""

import warnings

import numpy as np
from onnx import TensorProto, numpy_helper
from onnx.backend.test.loader import load_node_model_tests

import pack


def message(value, info):
    kind = info.type.WhichOneof("value")
    if kind == "map_type":
        return numpy_helper.from_dict(value, info.name)
    if kind == "sequence_type":
        return numpy_helper.from_list(value, info.name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, info.name)
    if isinstance(value, TensorProto):
        value = numpy_helper.to_array(value)
    return numpy_helper.from_array(np.asarray(value), info.name)


def cases():
    for case in load_node_model_tests():
        ((inputs, outputs),) = case.data_sets
        graph = case.model.graph
        yield pack.Case(
            case.name,
            case.model,
            [message(value, info) for value, info in zip(inputs, graph.input)],
            [message(value, info) for value, info in zip(outputs, graph.output)],
            case.rtol,
            case.atol,
        )


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    pack.write("upstream.tar.xz", cases())
