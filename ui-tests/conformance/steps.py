"""Graphs of single steps, one node a call."""

import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from case import model
from values import HALF, SINGLE


class Steps:
    """A graph under construction: each call adds a node and returns the name of its result."""

    def __init__(self):
        self.nodes, self.inputs, self.constants, self.dims = [], {}, [], {}

    def __call__(self, op, *inputs, domain="", **attributes):
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        name = f"s{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, names, [name], domain=domain, **attributes))
        return name

    def constant(self, value):
        name = f"c{len(self.inputs)}"
        self.inputs[name] = np.asarray(value)
        self.constants.append(name)
        return name

    def input(self, name, value, *dims):
        self.inputs[name] = np.asarray(value)
        if dims:
            self.dims[name] = list(dims)
        return name

    def case(self, what, *results, operator="JoinedAttention", version=18, wide=False, microsoft=False):
        """Expected values are of the reference evaluator, those of half precision computed in single precision where `wide`."""
        outputs = [f"y{at}" for at in range(len(results))]
        ends = [helper.make_node("Identity", [result], [name]) for result, name in zip(results, outputs)]
        nodes = self.nodes + ends

        def by(*values):
            def single(value):
                return value.astype(SINGLE) if wide and value.dtype == HALF else value
            def widened(node):
                if wide and node.op_type == "Cast":
                    return helper.make_node("Cast", node.input, node.output, to=TensorProto.FLOAT)
                return node
            graph = helper.make_graph([widened(node) for node in nodes], "steps", [
                helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(single(value).dtype), None)
                for name, value in zip(self.inputs, values)
            ], [helper.make_empty_tensor_value_info(name) for name in outputs])
            proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10)
            with np.errstate(all="ignore"):
                found = ReferenceEvaluator(proto).run(
                    None, {name: single(value) for name, value in zip(self.inputs, values)})
            found = [value.astype(HALF) if wide and value.dtype == SINGLE else value for value in found]
            return found if len(found) > 1 else found[0]
        domain = {"domain": "com.microsoft", "opset": version} if microsoft else {}
        # The evaluator takes Softmax of all versions for the newest.
        by = None if microsoft or version < 13 else by
        # Without simplification casts round to half precision.
        casts = any(node.op_type == "Cast" for node in nodes)
        tolerance = {"rtol": 4e-3, "atol": 5e-4} if wide and casts else {}
        return model(f"own_{operator}_{what}", nodes, 1 if microsoft else version, self.inputs,
                     outputs=outputs, constant=self.constants, dims=self.dims,
                     by=by, **domain, **tolerance)
