"""One operator as a test case: a model of one node, inputs, and what a reference makes of them."""

import re
import zlib

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import MapProto, SequenceProto, TensorProto, defs, helper, numpy_helper, parser
from onnx.reference import ReferenceEvaluator

from pack import Case

onnxruntime.set_default_logger_severity(4)

NARROW = (np.float16, ml_dtypes.bfloat16)
HEADER = '<ir_version: 10, opset_import: ["": 21], producer_name: "own.py">\n'


def numbers(name):
    """A generator that gives the same numbers each time; a name for each use."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def node(op, version, inputs, *, attributes=None, outputs=("y",), domain="", what="", by=None,
         like=None, declared=None, constant=(), dims=None, types=None, wide=False, rtol=1e-3, atol=1e-7):
    """A case called `own_<op>_v<version>_<what>`.

    `inputs` are arrays by name, lists for sequences, and None for an input left out; those named in
    `constant` become initializers. `outputs` are names, "" for an output left out. `dims` gives the
    declared sizes of an input, names for those that vary. `types` declares the type of an input
    or output that its value does not determine. Expected values are those of ONNX Runtime when it runs the version,
    else of the reference evaluator; `by(*inputs)` computes them where neither is right, and `like` is a
    version that both run and that means the same for this node, without the attributes `declared`.
    `wide` are floats of 16 bits whose expected values are computed in single precision and rounded once.
    """
    attributes = {key: value for key, value in (attributes or {}).items() if value is not None}
    names = [name if value is not None or name in (types or {}) else "" for name, value in inputs.items()]
    while names and not names[-1]:
        names.pop()
    one = helper.make_node(op, names, list(outputs), domain=domain, **attributes)
    asked = [helper.make_node(op, names, list(outputs), domain=domain, **attributes, **(declared or {}))]
    return model(f"own_{op}_v{version}{'_' if what else ''}{what}", [one], version, inputs,
                 outputs=[name for name in outputs if name], domain=domain, by=by, like=like,
                 asked=asked, constant=constant, dims=dims, types=types, wide=wide, rtol=rtol, atol=atol)


def model(name, nodes, version, inputs, *, outputs, domain="", by=None, like=None, asked=None, constant=(), dims=None,
          types=None, opset=None, wide=False, rtol=1e-3, atol=1e-7):
    """A case of several nodes; `version` is that of `domain`, `opset` that of `ai.onnx` beside it."""
    types, dims = types or {}, dims or {}
    inputs = {key: np.asarray(value) if isinstance(value, np.generic) else value
              for key, value in inputs.items()}
    fed = {key: value for key, value in inputs.items()
           if key not in constant and (value is not None or key in types)}
    def build(results, version, nodes, single=lambda value: value):
        constants = [tensor(single(inputs[key]), key) for key in constant]
        infos = [types.get(key) or info(key, single(value), dims.get(key)) for key, value in fed.items()]
        imports = [helper.make_opsetid(domain, version)]
        if domain:
            imports.append(helper.make_opsetid("", opset or 21))
        graph = helper.make_graph(nodes, "own", infos, results, constants)
        return helper.make_model(graph, ir_version=10, opset_imports=imports, producer_name="own.py")
    widened = widen if wide else (lambda value: value)
    open_ended = build([helper.make_empty_tensor_value_info(output) for output in outputs],
                       like or version, nodes, widened)
    expected = evaluate(name, open_ended, *({key: widened(value) for key, value in values.items()}
                                            for values in (fed, inputs)), by, outputs)
    if wide:
        narrow = next(value.dtype for value in inputs.values() if getattr(value, "dtype", None) in NARROW)
        expected = [value.astype(narrow) if value.dtype == np.float32 else value for value in expected]
    results = [types.get(output) or info(output, value) for output, value in zip(outputs, expected)]
    clean = re.sub(r"\W", "_", name)
    return Case(clean, build(results, version, asked or nodes),
                [message(value, key, types.get(key)) for key, value in fed.items()],
                [message(value, key, types.get(key)) for value, key in zip(expected, outputs)], rtol, atol)


def widen(value):
    return value.astype(np.float32) if getattr(value, "dtype", None) in NARROW else value


def whole(name, text, inputs, *, change=None, by=None):
    """A case of a model in the text syntax, or one that is made, which `change` may alter. What ONNX
    Runtime answers is expected, or `by(*inputs)` where it refuses the model."""
    built = text
    if isinstance(text, str):
        built = parser.parse_model(text if text.startswith("<") else HEADER + text)
    if change:
        change(built)
    inputs = {name: np.asarray(value) for name, value in inputs.items()}
    outputs = [output.name for output in built.graph.output]
    if by is None:
        expected = onnxruntime.InferenceSession(built.SerializeToString()).run(outputs, inputs)
    else:
        expected = by(*inputs.values())
    constants = {tensor.name for tensor in built.graph.initializer}
    taken = [info.name for info in built.graph.input if info.name not in constants]
    return Case(f"own_{name}", built, [message(inputs[name], name) for name in taken],
                [message(value, name) for value, name in zip(expected, outputs)])


def uniform(seed, *sizes):
    draw = numbers(seed)
    return [draw.uniform(-2, 2, size).astype(np.float32) for size in sizes]


def evaluate(name, graph, fed, inputs, by, outputs):
    if by is not None:
        values = by(*[value for value in inputs.values()])
        return list(values) if isinstance(values, (tuple, list)) and len(outputs) > 1 else [values]
    try:
        session = onnxruntime.InferenceSession(graph.SerializeToString())
        return session.run(None, fed)
    except Exception as error:
        problem = error
    if any(value.domain not in ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training")
           for value in graph.graph.node):
        raise RuntimeError(f"{name}: {problem}")
    try:
        return ReferenceEvaluator(graph).run(None, fed)
    except Exception as error:
        raise RuntimeError(f"{name}: neither ONNX Runtime ({problem}) nor the reference evaluator "
                           f"({type(error).__name__}: {error}) runs it") from error


def kind(value, sizes=None):
    if isinstance(value, list):
        return helper.make_sequence_type_proto(kind(value[0]))
    if isinstance(value, dict):
        key, item = next(iter(value.items()))
        key = TensorProto.STRING if isinstance(key, str) else TensorProto.INT64
        return helper.make_map_type_proto(key, kind(np.asarray(item)))
    value = np.asarray(value)
    dtype = tensor(value, "").data_type
    return helper.make_tensor_type_proto(dtype, sizes if sizes is not None else value.shape)


def info(name, value, sizes=None):
    return helper.make_value_info(name, kind(value, sizes))


def tensor(value, name):
    if isinstance(value, TensorProto):
        value.name = name
        return value
    return numpy_helper.from_array(np.asarray(value), name)


def message(value, name, declared=None):
    if declared is not None and declared.type.HasField("optional_type"):
        return numpy_helper.from_optional(value, name)
    if isinstance(value, list):
        if value and isinstance(value[0], dict):
            return SequenceProto(name=name, elem_type=SequenceProto.MAP,
                                 map_values=[message(item, "") for item in value])
        return numpy_helper.from_list([np.asarray(item) for item in value], name)
    if isinstance(value, dict):
        values = numpy_helper.from_list([np.asarray(item) for item in value.values()])
        if isinstance(next(iter(value)), str):
            return MapProto(name=name, key_type=TensorProto.STRING, values=values,
                            string_keys=[key.encode() for key in value])
        return MapProto(name=name, key_type=TensorProto.INT64, values=values, keys=list(value))
    if value is None:
        return numpy_helper.from_optional(None, name)
    return tensor(value, name)


def versions(op, domain=""):
    """Every version that changed the operator."""
    every = defs.get_all_schemas_with_history()
    return sorted(s.since_version for s in every if s.name == op and s.domain == domain and not s.deprecated)
