"""A drawn operator as models, and inputs for them."""

import warnings

import numpy as np
import onnx
from onnx import TensorProto, checker, helper, numpy_helper, shape_inference

NARROW = {"float16", "bfloat16"}
# Operators whose attributes or results name an element type, so that the model in single precision is another one.
TYPED = {"Cast", "CastLike", "BitCast", "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "ConstantOfShape",
         "EyeLike", "QLinearMatMul"}
# Operators that the checker refuses: it has withdrawn one, and doesn't know the other, which is ONNX Runtime's.
UNCHECKED = {"GroupNormalization", "SimplifiedLayerNormalization"}


class Sample:
    """One operator with its inputs, and the models that compute it."""

    def __init__(self, name, schema, opset, inputs, attributes, outputs, elementwise=False):
        self.name, self.schema, self.opset, self.outputs = name, schema, opset, outputs
        self.elementwise = elementwise
        names = [f"i{at}" if value is not None else "" for at, value in enumerate(inputs)]
        while names and not names[-1]:
            names.pop()
        self.inputs = {name: value for name, value in zip(names, inputs) if name}
        self.node = helper.make_node(schema.name, names, [f"y{at}" for at in range(outputs)], domain=schema.domain,
                                     **attributes)
        self.types = None

    def operator(self):
        domain = f"{self.schema.domain}:" if self.schema.domain else ""
        return f"{domain}{self.schema.name}"

    def label(self):
        """The node in ONNX's text syntax, with the types and shapes of its inputs."""
        kinds = [f"{name}={described(value)}" for name, value in self.inputs.items()]
        attributes = ", ".join(f"{one.name}={helper.get_attribute_value(one)!r}" for one in self.node.attribute)
        return f"{self.operator()} opset {self.opset} <{attributes[:200]}> ({', '.join(kinds)}) -> {self.outputs}"

    def model(self, inputs, constants=(), open_sizes=False):
        """A model whose inputs but for those in `constants` are inputs of the graph."""
        infos = [info(name, value, open_sizes) for name, value in inputs.items() if name not in constants]
        results = [helper.make_empty_tensor_value_info(name) for name in self.node.output]
        for result, kind in zip(results, self.types or ()):
            result.type.CopyFrom(kind)
        imports = [helper.make_opsetid(self.schema.domain, self.opset)]
        if self.schema.domain:
            imports.append(helper.make_opsetid("", 21))
        initializers = [tensor(inputs[name], name) for name in constants]
        graph = helper.make_graph([self.node], "differential", infos, results, initializers)
        least = 10 if self.schema.domain == "com.microsoft" else helper.find_min_ir_version_for(imports, True)
        return helper.make_model(graph, ir_version=max(least, 8), opset_imports=imports, producer_name="differential")

    def rounded(self, values):
        """Values in single precision as outputs of this model."""
        narrow = next(value.dtype for value in self.inputs.values() if is_narrow(value))
        kinds = [None] * len(values)
        if self.schema.name == "GroupQueryAttention" and "i3" in self.inputs:
            # Keys and values have the type of the cache.
            kinds[1:3] = [self.inputs["i3"].dtype] * 2
        if self.schema.domain != "com.microsoft":
            kinds = [kind and kind.HasField("tensor_type") and helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type)
                     for kind in inferred(self.model(self.inputs))]
        return [single_as(value, kind or narrow) for value, kind in zip(values, kinds)]

    def infer(self, values):
        """Finds the types of the outputs: those that ONNX infers, or those of the references' values."""
        if self.schema.domain == "com.microsoft" or self.schema.name in UNCHECKED:
            self.types = [kind_of(value) for value in values]
            return
        self.types = []
        for at, (kind, value) in enumerate(zip(inferred(self.model(self.inputs)), values)):
            only = self.schema.outputs[min(at, len(self.schema.outputs) - 1)].types
            if kind is None and only == {"tensor(float)"} and not isinstance(value, list):
                value = value.astype(np.float32)
            kind = kind or kind_of(value)
            if kind.HasField("tensor_type"):
                # The checker asks for shapes.
                kind.tensor_type.shape.CopyFrom(kind_of(value, np.shape(value)).tensor_type.shape)
            self.types.append(kind)
        if self.schema.name not in UNCHECKED:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                checker.check_model(self.model(self.inputs))
        for kind in self.types:
            if kind.HasField("tensor_type"):
                kind.tensor_type.ClearField("shape")

    def single(self):
        """The same in single precision, or `None` if it isn't the same operator there or has no floats of 16 bits."""
        if self.schema.name in TYPED or not any(is_narrow(value) for value in self.inputs.values()):
            return None
        attributes = {one.name: helper.get_attribute_value(one) for one in self.node.attribute}
        if any(name in attributes for name in ("dtype", "to", "output_dtype", "stash_type", "softmax_precision")):
            return None
        wide = Sample(self.name, self.schema, self.opset, [], attributes, self.outputs)
        wide.node.CopyFrom(self.node)
        wide.inputs = {name: widened(value) for name, value in self.inputs.items()}
        return wide


def inferred(model):
    """The types of a model's outputs that ONNX infers, `None` for those that it doesn't know."""
    model = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    return [one.type if one.type.WhichOneof("value") else None for one in model.graph.output]


def single_as(value, kind):
    if isinstance(value, list):
        return [single_as(item, kind) for item in value]
    return value.astype(kind) if value.dtype == np.float32 else value


def widened(value):
    return value.astype(np.float32) if is_narrow(value) else value


def is_narrow(value):
    return not isinstance(value, list) and value.dtype.name in NARROW


def described(value):
    if isinstance(value, list):
        return f"[{', '.join(map(described, value))}]"
    dtype = "string" if value.dtype == object else value.dtype.name
    shape = f"{dtype}{list(value.shape)}"
    return f"{shape}={value.tolist()}" if value.size <= 6 and value.dtype.kind in "iub" else shape


def kind_of(value, shape=None):
    if isinstance(value, list):
        ranks = {np.ndim(item) for item in value}
        return helper.make_sequence_type_proto(kind_of(value[0], [None] * ranks.pop() if len(ranks) == 1 else None))
    return helper.make_tensor_type_proto(tensor(value, "").data_type, shape)


def info(name, value, open_sizes=False):
    if isinstance(value, list):
        return helper.make_value_info(name, kind_of(value))
    shape = [f"{name}_{axis}" for axis in range(value.ndim)] if open_sizes else value.shape
    return helper.make_value_info(name, kind_of(value, shape))


def tensor(value, name):
    return numpy_helper.from_array(np.asarray(value), name)
