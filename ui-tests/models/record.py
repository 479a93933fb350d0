"""Makes inputs for a model and records what ONNX Runtime answers, as `cargo onnx-embed verify` reads it."""

import hashlib
import math
from pathlib import Path

import numpy
import onnx
import onnxruntime
from onnx import TensorProto

INTEGERS = "biu"

# Beyond this an output is noise, and a comparison with it says nothing.
LARGEST_FLOOR = 0.03


class Unclear(Exception):
    """What the list must say about a model."""


def record(path, sizes, inputs):
    """The arrays of `io.npz`, and how far ONNX Runtime is from itself without optimizations."""
    graph = onnx.load(str(path), load_external_data=False).graph
    held = {tensor.name for tensor in graph.initializer}
    wanted = [value for value in graph.input if value.name not in held]
    unknown = set(inputs) - {value.name for value in graph.input}
    if unknown:
        raise Unclear(f"has no input {', '.join(sorted(unknown))}")
    feed = {value.name: array(value, sizes, inputs.get(value.name, "")) for value in wanted}
    level = onnxruntime.GraphOptimizationLevel
    optimized = run(path, feed, level.ORT_ENABLE_ALL)
    plain = run(path, feed, level.ORT_ENABLE_EXTENDED if saturates() else level.ORT_DISABLE_ALL)
    floor = max((distance(optimized[name], plain[name]) for name in optimized), default=0.0)
    if floor > LARGEST_FLOOR:
        raise Unclear(f"ONNX Runtime is {floor:.1%} from itself: find inputs that mean something")
    arrays = {f"in/{name}": plain_text(value) for name, value in feed.items()}
    arrays |= {f"out/{name}": value for name, value in optimized.items()}
    return arrays, floor


def manifest(into, floors):
    """Says where each model is and what difference means nothing, for `verify`."""
    path = into / "manifest.tsv"
    lines = path.read_text().splitlines()[1:] if path.is_file() else []
    held = {line.split("\t")[0]: line for line in lines}
    held |= {id: f"{id}\t{id}/{id}.onnx\t{floor:.3g}" for id, floor in floors.items()}
    into.mkdir(parents=True, exist_ok=True)
    lines = ["id\tfile\tort_noopt_vs_opt_relmax", *(held[id] for id in sorted(held))]
    path.write_text("\n".join(lines) + "\n")


def saturates():
    """Whether ONNX Runtime adds products of unsigned and signed bytes in 16 bits, which saturate: on x86 without VNNI."""
    processor = Path("/proc/cpuinfo")
    flags = processor.read_text().split() if processor.exists() else []
    return "avx2" in flags and not any("vnni" in flag for flag in flags)


def run(path, feed, level):
    options = onnxruntime.SessionOptions()
    # Products of bytes are exact on every processor, from the extended level on.
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    outputs = {}
    for name, value in zip(names, session.run(names, feed)):
        outputs.update(flat(name, value))
    return outputs


def flat(name, value):
    """A tensor as it is; a map, or a sequence of maps, as its keys and rows of values."""
    if isinstance(value, numpy.ndarray):
        return {name: plain_text(value)}
    rows = value if isinstance(value, list) else [value]
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise Unclear(f"the output {name} is neither a tensor nor maps")
    keys = sorted(rows[0])
    values = [[row[key] for key in keys] for row in rows]
    return {f"{name}#keys": numpy.array(keys), f"{name}#vals": numpy.array(values, numpy.float32)}


def plain_text(value):
    return value.astype(str) if value.dtype == object else value


def distance(one, other):
    """The largest difference as a share of the largest element."""
    if one.dtype.kind != "f" or one.shape != other.shape or not one.size:
        return 0.0
    one, other = one.astype(numpy.float64), other.astype(numpy.float64)
    same = (one == other) | (numpy.isnan(one) & numpy.isnan(other))
    apart = numpy.where(same, 0.0, numpy.abs(one - other))
    largest = numpy.max(numpy.abs(other), where=numpy.isfinite(other), initial=0.0)
    share = numpy.max(apart) / largest if largest else 0.0
    return float(share) if math.isfinite(share) else 0.0


def array(value, sizes, text):
    """One input: the list's words for it are a shape like `2x80`, then what its elements are."""
    tensor = value.type.tensor_type
    if not value.type.HasField("tensor_type"):
        raise Unclear(f"the input {value.name} is no tensor")
    words = text.split(maxsplit=1)
    if words and all(part.isdecimal() for part in words[0].split("x")):
        shape = [int(part) for part in words[0].split("x")]
        words = words[1:]
    else:
        shape = [size(value.name, dim, sizes) for dim in tensor.shape.dim]
    words = " ".join(words)
    if tensor.elem_type == TensorProto.STRING:
        if not words.startswith("="):
            raise Unclear(f"the input {value.name} needs `=text,text`")
        return numpy.resize(numpy.array(words[1:].split(","), object), shape)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    seed = hashlib.sha256(value.name.encode()).digest()
    random = numpy.random.default_rng(list(seed))
    return elements(value.name, random, shape, dtype, words).astype(dtype)


def size(name, dim, sizes):
    if dim.HasField("dim_value") and dim.dim_value >= 0:
        return dim.dim_value
    if dim.dim_param in sizes:
        return sizes[dim.dim_param]
    raise Unclear(f"the input {name} needs a size for {dim.dim_param or 'an unnamed dimension'}")


def elements(name, random, shape, dtype, words):
    if words.startswith("="):
        return numpy.resize(numpy.array([float(word) for word in words[1:].split(",")]), shape)
    if ".." in words:
        low, high = (float(end) for end in words.split(".."))
        draw = random.integers if dtype.kind in INTEGERS else random.uniform
        return draw(low, high, shape)
    if words == "audio":
        time = numpy.arange(shape[-1]) / 16000
        tones = sum(numpy.sin(2 * math.pi * pitch * time) / pitch for pitch in (110, 220, 523, 1760))
        return 40 * tones + 0.02 * random.standard_normal(shape)
    kind, *scale = words.split() or [""]
    if kind not in ("", "normal", "image", "text", "mask") or len(scale) > (kind in ("image", "text")):
        raise Unclear(f"`{words}` of the input {name} means nothing")
    pictures = len(shape) == 4 and (shape[1] in (1, 3) or shape[3] in (1, 3))
    if kind == "mask" or dtype == bool:
        return numpy.ones(shape)
    if kind in ("image", "text") or pictures and not kind and dtype.kind == "f":
        return picture(random, shape, page if kind == "text" else patches) * float(*scale or [1])
    if dtype.kind != "f":
        raise Unclear(f"the integers of the input {name} need a range like `0..30000`")
    return random.standard_normal(shape)


def picture(random, shape, draw):
    """What is drawn, in every channel alike, and a little noise; from 0 to 1."""
    last = shape[-1] in (1, 3, 4)
    height, width = shape[-3:-1] if last else shape[-2:]
    drawn = draw(random, height, width)
    drawn = drawn[:, :, None] if last else drawn
    return drawn + random.uniform(-0.1, 0.1, shape)


def patches(random, height, width):
    coarse = random.uniform(0.1, 0.9, (-(-height // 8), -(-width // 8)))
    return coarse.repeat(8, 0).repeat(8, 1)[:height, :width]


def page(random, height, width):
    """Lines of dark strokes on paper, as text detectors look for."""
    drawn = numpy.full((height, width), 0.9)
    for top in range(8, height - 24, 28):
        for left in range(12, width - 20, 14):
            strokes = random.uniform(0, 1, (6, 4)) < 0.5
            strokes &= random.uniform() < 0.85
            drawn[top : top + 18, left : left + 12] -= 0.8 * strokes.repeat(3, 0).repeat(3, 1)
    return drawn
