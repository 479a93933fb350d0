"""Conformance cases of one node as models with open sizes, and inputs for them."""

import collections
import re
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from references import TYPES, alike

ROOT = Path(__file__).resolve().parent.parent.parent
# Random results, subgraphs, and what needs a feature.
LEFT_OUT = {"Bernoulli", "Dropout", "If", "ImageDecoder", "Loop", "Multinomial", "RandomNormal", "RandomNormalLike",
            "RandomUniform", "RandomUniformLike", "Scan", "SequenceMap"}
MOST_ELEMENTS = 4000
# Runs that once were wrong, which a recording has: cases with shapes of their inputs.
PINNED = {
    "own_Attention_v1_added_2_2_3_3": [{"x": [0, 3, 5], "mask": [0], "added": [0, 2, 3, 3]}],
    "own_Attention_v24_grouped": [{"q": [2, 4, 3, 0], "k": [2, 2, 5, 0], "v": [2, 2, 5, 6]}],
    "own_AveragePool_v11_same_upper": [{"x": [2, 3, 0, 5]}],
    "own_DequantizeLinear_v25_int16_axis_1": [{"x": [3, 0, 6], "scale": [0], "zero": [0]}],
    "own_LRN_v13_size_3": [{"x": [2, 0, 4, 5]}],
    "own_LpPool_v11_default": [{"x": [2, 3, 1, 7]}],
    "own_QLinearAveragePool_v1_uint8_ceil": [{"x": [1, 1, 1, 1]}],
    "own_QuantizeLinear_v24_int16_axis_1": [{"x": [3, 4, 5], "scale": [1], "zero": [1]},
                                            {"x": [3, 0, 6], "scale": [0], "zero": [0]}],
    "own_ReduceMean_v18_one": [{"x": [2, 0, 4]}],
    "own_ScatterND_v18_as_t_int32": [{"x": [0, 4], "i": [2, 1], "u": [2, 4]}],
    "own_Squeeze_v25_as_t_bfloat16": [{"x": [0, 0, 3, 0]}],
    "own_SwiGLU_v28_empty": [{"a": [0, 3], "b": [0, 1]}],
    "test_rotary_embedding_3d_input": [{"cos_cache": [50, 1], "sin_cache": [50, 1]}],
}


class Model:
    """A conformance case with open sizes."""

    def __init__(self, name, case, files):
        self.name, self.case = name, case
        self.proto = onnx.load_from_string(files["model.onnx"])
        node = self.proto.graph.node[0]
        self.operator = (node.domain.replace("ai.onnx.preview", "preview") or "ai.onnx", node.op_type)
        constants = {tensor.name for tensor in self.proto.graph.initializer}
        self.inputs = [info for info in self.proto.graph.input if info.name not in constants]
        self.recorded = [files[name] for name in sorted(files) if re.fullmatch(r"output_\d+\.pb", name)]
        self.trusted = None
        self.values = {info.name: numpy_helper.to_array(onnx.load_tensor_from_string(files[f"input_{at}.pb"]))
                       for at, info in enumerate(self.inputs)}

    def opened(self, name_of):
        """The model with sizes named by `name_of(input, axis, size)`, or fixed where that is None."""
        model = onnx.ModelProto()
        model.CopyFrom(self.proto)
        for info in model.graph.input:
            if info.name in self.values:
                for axis, size in enumerate(self.values[info.name].shape):
                    dim = info.type.tensor_type.shape.dim[axis]
                    dim.Clear()
                    name = name_of(info.name, axis, size)
                    if name is None:
                        dim.dim_value = size
                    else:
                        dim.dim_param = re.sub(r"\W", "_", name)
        for info in model.graph.output:
            if info.type.HasField("tensor_type"):
                info.type.tensor_type.ClearField("shape")
        return model

    def plausible(self, values):
        """What the reference evaluator answers, `None` where it isn't of the types that the graph declares."""
        kept = []
        for info, value in zip(self.proto.graph.output, values):
            if info.type.HasField("optional_type") and isinstance(value, list) and len(value) == 1:
                # The evaluator's optional is a list.
                value = value[0]
            if info.type.HasField("tensor_type"):
                wanted = helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
                if isinstance(value, list) or value.dtype != wanted:
                    return None
            kept.append(value)
        return kept

    def trusts_evaluator(self, oracle):
        """Whether the reference evaluator gives the outputs that the case has."""
        if self.trusted is None:
            kind, values = oracle.ask(self.proto.SerializeToString(deterministic=True), self.values, "reference")
            values = self.plausible(values) if kind == "values" else None
            self.trusted = values is not None and all(map(alike, values, self.recorded))
        return self.trusted

    def forms(self):
        yield self.opened(lambda name, axis, size: f"{name}_{axis}")
        yield self.opened(lambda name, axis, size: f"s{size}")
        yield self.opened(lambda name, axis, size: f"{name}_{axis}" if axis == 0 else None)
        yield self.opened(lambda name, axis, size: f"{name}_{axis}" if axis else None)


def archives():
    """For each archive of conformance cases, the files of its cases."""
    folder = ROOT / "ui-tests/conformance"
    for archive in *sorted(folder.glob("own/*.tar.xz")), folder / "upstream.tar.xz":
        with tarfile.open(archive) as tar:
            files = collections.defaultdict(dict)
            for member in tar:
                case, file = member.name.split("/", 1)
                files[case][file] = tar.extractfile(member).read()
        yield files


def cases():
    """Files of the cases of one node and plain tensors, by operator and case."""
    found = collections.defaultdict(dict)
    for files in archives():
        for case, parts in files.items():
            graph = onnx.load_from_string(parts["model.onnx"]).graph
            if len(graph.node) != 1 or graph.node[0].op_type in LEFT_OUT:
                continue
            try:
                model = Model("", case, parts)
            except Exception:
                # Sequences, maps and types that have no tensors.
                continue
            if model.values and all(value.dtype.name in TYPES for value in model.values.values()):
                found[model.operator][case] = parts
    return found


def chosen(found, draw, count):
    """`count` cases, each operator in turn; newer versions first in half of the turns."""
    def version(case):
        digits = re.search(r"_v(\d+)", case)
        return int(digits[1]) if digits else 0
    rows = {}
    for operator, names in sorted(found.items()):
        names = sorted(names)
        draw.shuffle(names)
        if draw.random() < 0.5:
            names.sort(key=version, reverse=True)
        rows[operator] = names
    taken = []
    while len(taken) < count and any(rows.values()):
        for operator, names in rows.items():
            if names and len(taken) < count:
                taken.append((operator, names.pop(0)))
    return taken


def written(found, taken, folder):
    """Models in a folder of their own each, in several forms, of which the build takes the first that compiles."""
    models = []
    for at, (operator, case) in enumerate(taken):
        model = Model(f"m{at:04}_{operator[1]}", case, found[operator][case])
        home = folder / model.name
        home.mkdir(parents=True, exist_ok=True)
        if not (home / "runs").exists():
            (home / "runs").write_bytes(b"")
        for number, form in enumerate(model.forms()):
            path, data = home / f"{number}.onnx", form.SerializeToString(deterministic=True)
            # Cargo builds again where a file is newer.
            if not path.exists() or path.read_bytes() != data:
                path.write_bytes(data)
        models.append(model)
    return models


def compiled(models, program):
    """The models that compile, as they do."""
    lines = subprocess.run([program, "--files"], capture_output=True, text=True, check=True).stdout.splitlines()
    paths = dict(line.split("\t") for line in lines)
    for model in models:
        if model.name in paths:
            model.proto = onnx.load(paths[model.name])
            yield model
        else:
            print(f"no open size compiles: {model.case}")


def drawn(model, draw):
    """Inputs: shapes around those of the case, and elements of it."""
    shapes = {name: list(value.shape) for name, value in model.values.items()}
    size = lambda: draw.choice([0, 1, draw.randint(0, 9), draw.randint(0, 9)])
    axes = [(name, axis) for name, shape in shapes.items() for axis in range(len(shape))]
    for _ in range(draw.choice([1, 1, 1, 2])):
        if not axes:
            break
        name, axis = draw.choice(axes)
        old, new, way = shapes[name][axis], size(), draw.random()
        if way < 0.35:
            for shape in shapes.values():
                shape[:] = [new if size == old else size for size in shape]
        elif way < 0.6:
            for shape in shapes.values():
                if axis < len(shape) and shape[axis] == old:
                    shape[axis] = new
        elif way < 0.85:
            shapes[name][axis] = new
        elif way < 0.95:
            changed = collections.defaultdict(size)
            for shape in shapes.values():
                shape[:] = [changed[size] for size in shape]
        else:
            for shape in shapes.values():
                shape[:] = [size() for _ in shape]
    inputs = {}
    for name, value in model.values.items():
        shape = shapes[name]
        if int(np.prod(shape)) > MOST_ELEMENTS:
            return None
        flat = value.reshape(-1)
        if list(value.shape) == shape and draw.random() < 0.7:
            inputs[name] = value
            continue
        count = int(np.prod(shape))
        if not len(flat):
            flat = np.array([""], object) if value.dtype == object else np.zeros(1, value.dtype)
        inputs[name] = np.array([flat[draw.randrange(len(flat))] for _ in range(count)], value.dtype).reshape(shape)
    return inputs


def pinned(model):
    """The runs that a recording of the model has anyway."""
    for shapes in PINNED.get(model.case, ()):
        yield {name: np.resize(value, shapes.get(name, value.shape)) for name, value in model.values.items()}
