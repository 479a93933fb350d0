"""Runs models of one operator on sizes drawn at random, and compares with ONNX Runtime and the reference evaluator.

    python ui-tests/sizes/sizes.py --seed 7 --minutes 10      random models of the conformance fixtures, random sizes
    python ui-tests/sizes/sizes.py --seed 7 --folder F --sizes 8     the same models, other sizes; F is built once
    python ui-tests/sizes/sizes.py --record                   writes sizes.tar.xz, which `cargo test` repeats

Needs onnx, onnxruntime, numpy and ml_dtypes, and cargo. A model is a conformance case of one node whose inputs have open
sizes. Sizes are drawn from 0 to 9 around those of the case: equal sizes changed together, one axis changed in all inputs,
one axis of one input (so that inputs disagree), or all. Elements are drawn from those of the case, so that indices, scales
and shapes are mostly legal.

What is wrong, by kind: `differs` (other values, or values of another type or shape), `accepts` (values where both
references refuse), `refuses` (an error where ONNX Runtime computes), `panics`, `dies` (the process ended). Known
differences from both references are in `explained.toml`.
"""

import argparse
import collections
import io
import json
import multiprocessing
import os
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import warnings
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TYPES = {np.dtype(name).name for name in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
         .split()} | {"bfloat16", "object"}
# Random results, subgraphs, and what needs a feature.
LEFT_OUT = {"Bernoulli", "Dropout", "If", "ImageDecoder", "Loop", "Multinomial", "RandomNormal", "RandomNormalLike",
            "RandomUniform", "RandomUniformLike", "Scan", "SequenceMap"}
MOST_ELEMENTS = 4000
# Elements of all values of a recorded run.
MOST_RECORDED = 160
RUNS_RECORDED = 4
TURNS_RECORDED = 8
SECONDS = 20
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


def alike(value, recorded):
    """Whether a value is a recorded one but for rounding; True where that is no tensor."""
    try:
        wanted = plain(numpy_helper.to_array(onnx.load_tensor_from_string(recorded)))
    except Exception:
        return True
    if isinstance(value, list) or value.shape != wanted.shape or value.dtype != wanted.dtype:
        return False
    if value.dtype == object:
        texts = lambda array: [text.decode() if isinstance(text, bytes) else str(text) for text in array.reshape(-1)]
        return texts(value) == texts(wanted)
    step = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 6e-2}.get(value.dtype.name, 0)
    return np.allclose(value.astype(np.float64), wanted.astype(np.float64), step, step, equal_nan=True)


def cases():
    """Files of the cases of one node and plain tensors, by operator and case."""
    found = collections.defaultdict(dict)
    for archive in "own", "upstream":
        with tarfile.open(ROOT / f"ui-tests/conformance/{archive}.tar.xz") as tar:
            files = collections.defaultdict(dict)
            for member in tar:
                case, file = member.name.split("/", 1)
                files[case][file] = tar.extractfile(member).read()
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


def oracle(pipe):
    """Answers (model bytes, inputs, which) with outputs or the reason why there are none, in a process of its own."""
    import onnxruntime
    from onnx.reference import ReferenceEvaluator
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    loaded = {}
    while True:
        model, inputs, which = pipe.recv()
        key = (model, which)
        try:
            if key not in loaded:
                loaded.clear()
                try:
                    loaded[key] = (onnxruntime.InferenceSession(model, options) if which == "ort" else
                                   ReferenceEvaluator(onnx.load_from_string(model)))
                except Exception as error:
                    loaded[key] = error
            if isinstance(loaded[key], Exception):
                pipe.send(("unloadable", str(loaded[key])[:200]))
                continue
            values = loaded[key].run(None, inputs)
            pipe.send(("values", [plain(value) for value in values]))
        except Exception as error:
            pipe.send(("refused", f"{type(error).__name__}: {str(error)[:200]}"))


def plain(value):
    if isinstance(value, list):
        return [plain(item) for item in value]
    if value is None or isinstance(value, dict):
        raise TypeError("no tensor")
    value = np.asarray(value)
    if value.dtype.kind in "UT":
        value = value.astype(object)
    if value.dtype.name not in TYPES:
        raise TypeError(f"dtype {value.dtype}")
    return value


class Oracle:
    def __init__(self):
        self.worker = None

    def ask(self, *question):
        if self.worker is None:
            self.pipe, theirs = multiprocessing.Pipe()
            self.worker = multiprocessing.Process(target=oracle, args=(theirs,), daemon=True)
            self.worker.start()
            theirs.close()
        try:
            self.pipe.send(question)
            if self.pipe.poll(SECONDS):
                return self.pipe.recv()
        except (EOFError, OSError):
            pass
        self.worker.kill()
        self.worker = None
        return "died", "the reference ended or hangs"


def described(name, value, elements):
    if isinstance(value, list):
        return {"name": name, "sequence": [described("", item, elements) for item in value]}
    entry = {"name": name, "shape": list(value.shape)}
    if value.dtype == object:
        entry["strings"] = [text if isinstance(text, str) else text.decode() for text in value.reshape(-1)]
    else:
        entry["dtype"] = value.dtype.name
        elements.write(np.ascontiguousarray(value).tobytes())
    return entry


def encoded(values):
    elements = io.BytesIO()
    entries = [described(name, value, elements) for name, value in values.items()]
    return json.dumps(entries).encode() + b"\n" + elements.getvalue()


def record(model, inputs, expected, may_fail):
    label = " ".join(f"{name}{list(value.shape)}" for name, value in inputs.items())
    given = encoded(inputs)
    wanted = None if expected is None else encoded(expected)
    head = {"model": model.name, "label": label, "inputs": len(given),
            "expected": None if wanted is None else len(wanted), "may_fail": may_fail}
    return json.dumps(head).encode() + b"\n" + given + (wanted or b""), label


class Server:
    """The compiled models."""

    def __init__(self, program):
        self.program, self.process = program, None

    def ask(self, run):
        if self.process is None:
            self.process = subprocess.Popen([self.program, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.process.stdin.write(run)
            self.process.stdin.flush()
            line = self.process.stdout.readline()
            if line:
                return json.loads(line)
        except OSError:
            pass
        code = self.process.wait()
        self.process = None
        return {"kind": "dies", "problem": f"exit status {code}"}


def build(folder):
    """The test program with the models of a folder."""
    run = subprocess.run(["cargo", "test", "-p", "onnx-embed-sizes", "--no-run", "--message-format", "json"], cwd=ROOT,
                         env={**os.environ, "SIZES_FROM": str(folder)}, stdout=subprocess.PIPE, check=True)
    lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith(b"{")]
    return next(line["executable"] for line in lines
                if line.get("executable") and line["target"]["name"] == "sizes")


def judged(model, inputs, oracle, server):
    """The answer of our model, and the run as it would be recorded."""
    bytes_of = model.proto.SerializeToString(deterministic=True)
    names = [output.name for output in model.proto.graph.output]
    kind, values = oracle.ask(bytes_of, inputs, "ort")
    named = lambda values: dict(zip(names, values))

    def evaluated():
        if not model.trusts_evaluator(oracle):
            return "unloadable", "it is wrong about the case itself"
        kind, values = oracle.ask(bytes_of, inputs, "reference")
        values = model.plausible(values) if kind == "values" else values
        return ("unloadable", "outputs of other types") if values is None else (kind, values)

    if kind == "values":
        run, label = record(model, inputs, named(values), False)
        answer = server.ask(run)
        if answer["kind"] in ("differs", "refuses"):
            kind, values = evaluated()
            by_text = kind == "refused" and answer["kind"] == "refuses"
            if kind == "values" and answer["kind"] == "differs":
                other, label = record(model, inputs, named(values), False)
                if server.ask(other)["kind"] == "right":
                    return {"kind": "right", "problem": "as the reference evaluator, not as ONNX Runtime"}, other, label
            if by_text:
                answer["problem"] += f" (the reference evaluator refuses it too: {values})"
        return answer, run, label
    if kind == "died":
        run, label = record(model, inputs, None, True)
        answer = server.ask(run)
        return (answer if answer["kind"] in ("panics", "dies") else {"kind": "right"}), None, label
    problem = values
    kind, values = evaluated()
    if kind == "values":
        run, label = record(model, inputs, named(values), True)
    elif kind == "refused":
        run, label = record(model, inputs, None, True)
    else:
        # Neither reference has the operator.
        run, label = record(model, inputs, None, True)
        answer = server.ask(run)
        return (answer if answer["kind"] in ("panics", "dies") else {"kind": "right"}), None, label
    answer = server.ask(run)
    if answer["kind"] != "right":
        answer["problem"] += f" (ONNX Runtime: {problem[-150:]}; evaluator: {values if kind != 'values' else kind})"
    return answer, run, label


def has_dot_products():
    """Whether the processor multiplies bytes without saturation (VNNI)."""
    cpuinfo = Path("/proc/cpuinfo")
    return not cpuinfo.exists() or "vnni" in cpuinfo.read_text()


def explained(model, answer, known):
    for entry in known:
        if entry.get("without_vnni") and has_dot_products():
            continue
        if re.fullmatch(entry["operator"], model.operator[1]) and answer["kind"] in entry["kinds"] and \
                re.search(entry.get("problem", ""), answer["problem"]):
            return True
    return False


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--sizes", type=int, help="the seed of sizes and elements, if not that of the models")
    arguments.add_argument("--minutes", type=float, default=5)
    arguments.add_argument("--models", type=int, default=300)
    arguments.add_argument("--only", default="", help="a regular expression of operators")
    arguments.add_argument("--folder", type=Path, help="where the models are written, which a second run with it finds built")
    arguments.add_argument("--record", action="store_true")
    options = arguments.parse_args()
    draw = random.Random(options.seed)
    known = tomllib.loads((HERE / "explained.toml").read_text()).get("difference", [])
    found = {operator: names for operator, names in cases().items() if re.search(options.only, operator[1])}
    folder = options.folder or Path(tempfile.mkdtemp(prefix="sizes-"))
    taken = chosen(found, draw, len(found) if options.record else options.models)
    if options.record:
        known_cases = {case for _, case in taken}
        taken += [(operator, case) for operator, names in sorted(found.items()) for case in sorted(names)
                  if case in PINNED and case not in known_cases]
    models = written(found, taken, folder)
    program = build(folder)
    models = list(compiled(models, program))
    print(f"{len(models)} models of {len({model.operator for model in models})} operators in {folder}", flush=True)
    draw = random.Random(options.seed if options.sizes is None else options.sizes)
    server, ask = Server(program), Oracle()
    kinds, shown, kept = collections.Counter(), collections.Counter(), collections.defaultdict(list)
    for model in models if options.record else ():
        for inputs in pinned(model):
            answer, run, label = judged(model, inputs, ask, server)
            kinds[answer["kind"]] += 1
            if answer["kind"] == "right" and run is not None:
                kept[model.name].append(run)
            else:
                print(f"pinned: {model.name} {model.case} {label}: {answer}", flush=True)
    end = time.monotonic() + 60 * options.minutes
    turn = 0
    while time.monotonic() < end or (options.record and turn < TURNS_RECORDED):
        turn += 1
        if options.record and all(len(kept[model.name]) >= RUNS_RECORDED for model in models) or turn > 10000:
            break
        for model in models:
            if options.record and (len(kept[model.name]) >= RUNS_RECORDED or turn > TURNS_RECORDED):
                continue
            inputs = drawn(model, draw)
            if inputs is None:
                continue
            answer, run, label = judged(model, inputs, ask, server)
            kind = answer["kind"]
            if kind != "right" and explained(model, answer, known):
                kind = "explained"
            kinds[kind] += 1
            small = sum(value.size for value in inputs.values()) <= MOST_RECORDED
            if kind == "right" and run is not None and small:
                kept[model.name].append(run)
            if kind not in ("right", "explained"):
                shown[model.name, kind] += 1
                if shown[model.name, kind] <= 2:
                    print(f"{kind}: {model.name} {model.case} {label}: {answer['problem'][:500]}", flush=True)
            if time.monotonic() > end and not options.record:
                break
    if options.record:
        write(models, kept)
    print(", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
    sys.exit(any(kind not in ("right", "explained") for kind in kinds))


def write(models, kept):
    """sizes.tar.xz, the same bytes for the same runs."""
    path = HERE / "sizes.tar.xz"
    with tarfile.open(path, "w:xz", format=tarfile.USTAR_FORMAT, preset=9) as archive:
        for model in models:
            for file, data in (("model.onnx", model.proto.SerializeToString(deterministic=True)),
                               ("runs", b"".join(kept[model.name]))):
                info = tarfile.TarInfo(f"{model.name}/{file}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    print(f"{path.name}: {len(models)} models, {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
