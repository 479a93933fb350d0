"""onnx-embed as a backend of ONNX: `onnx_model!` compiles models, and programs run them.

The interface is that of `onnx.backend.base`, as https://github.com/onnx/backend-scoreboard expects it. The first model
that is prepared has all test cases of the `onnx` package compiled at once (`CASES`, a regular expression, chooses
some); any other model is compiled by itself.
"""

import functools
import os
import re

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt

import programs

KINDS = ("node", "simple", "pytorch-operator", "pytorch-converted")


class EmbeddedRep(BackendRep):
    """A compiled model. Each run is a process, so that one that fails takes no other down."""

    def __init__(self, program, key, graph):
        self.program, self.key, self.graph = program, key, graph

    def run(self, inputs, **_):
        constants = {tensor.name for tensor in self.graph.initializer}
        taken = [port for port in self.graph.input if port.name not in constants]
        by_name = inputs if isinstance(inputs, dict) else dict(zip((port.name for port in taken), inputs))
        values = [(port.name, wrapped(by_name[port.name], port.type)) for port in taken if port.name in by_name]
        results = dict(self.program.run(self.key, values))
        return tuple(typed(results[port.name], port.type) for port in self.graph.output)


class EmbeddedBackend(Backend):
    @classmethod
    def supports_device(cls, device):
        return device == "CPU"

    @classmethod
    def prepare(cls, model, device="CPU", **_):
        key, data = serialized(model)
        program = corpus() if key in cases() else programs.built("single", {key: data})
        if key in program.refused:
            raise BackendIsNotSupposedToImplementIt(program.refused[key])
        return EmbeddedRep(program, key, model.graph)


is_compatible = EmbeddedBackend.is_compatible
prepare = EmbeddedBackend.prepare
run_model = EmbeddedBackend.run_model
supports_device = EmbeddedBackend.supports_device


def serialized(model):
    """The bytes of a model, and a name for them."""
    data = model.SerializeToString(deterministic=True)
    return programs.key(data), data


@functools.cache
def cases():
    """The models of the test cases by their keys."""
    chosen = re.compile(os.environ.get("CASES", ""))
    models = {}
    for kind in KINDS:
        for case in load_model_tests(kind=kind):
            if chosen.search(case.name) and (case.model or case.model_dir):
                model = case.model or onnx.load(os.path.join(case.model_dir, "model.onnx"))
                key, data = serialized(model)
                models[key] = data
    return models


@functools.cache
def corpus():
    return programs.built("cases", cases())


def wrapped(value, ty):
    """An input as its type has it: an optional of a value, where the caller has the value itself."""
    if ty.HasField("optional_type"):
        return programs.Optional(None if value is None else wrapped(value, ty.optional_type.elem_type))
    if ty.HasField("sequence_type"):
        return [wrapped(item, ty.sequence_type.elem_type) for item in value]
    return np.asarray(value)


def typed(value, ty):
    """An output in the element type of the model, which travels in another one where numpy lacks it."""
    if isinstance(value, programs.Optional):
        return None if value.value is None else typed(value.value, ty.optional_type.elem_type)
    if isinstance(value, list):
        return [typed(item, ty.sequence_type.elem_type) for item in value]
    if isinstance(value, dict):
        return {key: typed(item, ty.map_type.value_type) for key, item in value.items()}
    element = ty.tensor_type.elem_type
    return value.astype(helper.tensor_dtype_to_np_dtype(element)) if element else value
