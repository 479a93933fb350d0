"""Operators without a function of their own: conformance cases with other element types, sizes, elements and attributes."""

import collections
import re

import numpy as np
import onnx
from onnx import SequenceProto, TypeProto, helper, numpy_helper

from drawing import TYPES, numpy_type
from models import archives


class Cases:
    """Conformance cases of one node, by operator and version."""

    def __init__(self, version_of):
        self.found = collections.defaultdict(list)
        for files in archives():
            for case, parts in sorted(files.items()):
                self.add(case, parts, version_of)

    def add(self, case, parts, version_of):
        model = onnx.load_from_string(parts["model.onnx"])
        if len(model.graph.node) != 1:
            return
        node = model.graph.node[0]
        opset = next((one.version for one in model.opset_import if one.domain == node.domain), None)
        if opset is None:
            return
        try:
            values = inputs_of(model, parts)
        except (TypeError, ValueError, KeyError):
            # Maps, optionals without elements, and types that programs are not given.
            return
        operator = (node.domain, node.op_type)
        self.found[operator, version_of(operator, opset)].append((case, node, values))

    def of(self, operator, version):
        """Cases of the version, or of the nearest one that has some."""
        versions = [other for name, other in self.found if name == operator and other is not None]
        if not versions:
            return []
        nearest = min(versions, key=lambda other: (abs(other - version), other))
        return self.found[operator, nearest]


def inputs_of(model, parts):
    values = {one.name: readable(numpy_helper.to_array(one)) for one in model.graph.initializer}
    given = [one for one in model.graph.input if one.name not in values]
    for at, one in enumerate(given):
        values[one.name] = value_of(one.type, parts[f"input_{at}.pb"])
    return [values[name] if name else None for name in model.graph.node[0].input]


def value_of(kind, data):
    if kind.HasField("optional_type"):
        raise TypeError("optional")
    if kind.HasField("sequence_type"):
        values = [readable(one) for one in numpy_helper.to_list(SequenceProto.FromString(data))]
        if not values:
            raise TypeError("an empty sequence has no type")
        return values
    if not kind.HasField("tensor_type"):
        raise TypeError(str(TypeProto.WhichOneof(kind, "value")))
    return readable(numpy_helper.to_array(onnx.load_tensor_from_string(data)))


def readable(array):
    array = np.asarray(array)
    array = array.astype(object) if array.dtype.kind in "SUT" else array
    if array.dtype.name not in TYPES.values():
        raise TypeError(array.dtype.name)
    return array


def mutated(d, cases):
    """Inputs, attributes and the number of outputs of a case, of which some are changed."""
    case, node, values = d.pick(cases)
    attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute if one.name in d.schema.attributes}
    values = [value if not isinstance(value, np.ndarray) else value.copy() for value in values]
    ways = [retyped, resized, elements, switched]
    for _ in range(d.int(0, 3)):
        values, attributes = d.pick(ways)(d, values, attributes)
    return values, attributes, len(node.output)


def variable(one):
    """The type variable of an input. Schemas of ONNX Runtime name it otherwise."""
    return one.type_str if hasattr(one, "type_str") else one.typeStr


def formal(d, at):
    return d.schema.inputs[min(at, len(d.schema.inputs) - 1)]


def retyped(d, values, attributes):
    """Another element type for all inputs whose types are one in the schema."""
    at = d.int(0, max(len(values) - 1, 0))
    if not values or not isinstance(values[at], np.ndarray):
        return values, attributes
    name = variable(formal(d, at))
    dtype = d.pick(d.types(formal(d, at)) or [values[at].dtype])
    if object in (dtype, values[at].dtype):
        return values, attributes
    same = lambda other, value: isinstance(value, np.ndarray) and variable(formal(d, other)) == name
    with np.errstate(all="ignore"):
        return [value.astype(dtype) if same(other, value) else value for other, value in enumerate(values)], attributes


def resized(d, values, attributes):
    """Another size, for all axes of the same size or for one."""
    axes = [(at, axis) for at, value in enumerate(values) if isinstance(value, np.ndarray) for axis in range(value.ndim)]
    if not axes:
        return values, attributes
    at, axis = d.pick(axes)
    old, new = values[at].shape[axis], d.pick([0, 1, d.int(1, 9), d.int(1, 9)])
    everywhere = d.chance(0.6)
    changed = []
    for other, value in enumerate(values):
        if isinstance(value, np.ndarray):
            shape = [new if (size == old and everywhere) or (other, place) == (at, axis) else size
                     for place, size in enumerate(value.shape)]
            if np.prod(shape, dtype=int) > 5000:
                return values, attributes
            value = np.resize(value, shape) if value.size else np.zeros(shape, value.dtype)
        changed.append(value)
    return changed, attributes


def elements(d, values, attributes):
    """Elements in another order, or special ones in an input of floats."""
    at = d.int(0, max(len(values) - 1, 0))
    if values and isinstance(values[at], np.ndarray):
        value = values[at]
        d.extremes = False
        if value.dtype.kind == "f" and d.chance(0.5):
            values[at] = d.with_specials(value)
        else:
            values[at] = d.g.permutation(value.reshape(-1)).reshape(value.shape)
    return values, attributes


def switched(d, values, attributes):
    """An attribute with another value: 0 or 1 for one of these, another number for a float."""
    known = [name for name, value in attributes.items() if isinstance(value, float) or value in (0, 1)]
    known += [name for name, one in d.schema.attributes.items() if name not in attributes and re.search(
        "INT$|FLOAT$", str(one.type)) and hasattr(one, "default_value") and one.default_value.ByteSize()]
    if not known:
        return values, attributes
    name = d.pick(known)
    value = attributes.get(name)
    value = helper.get_attribute_value(d.schema.attributes[name].default_value) if value is None else value
    if isinstance(value, float):
        value = float(np.float32(value * d.pick([0.5, 2.0, 1.25])))
    elif value in (0, 1):
        value = 1 - value
    return values, attributes | {name: value}
