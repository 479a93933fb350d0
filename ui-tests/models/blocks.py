"""Writes `blocks/`: parts of four architectures as PyTorch exports them, a small detector, and what ONNX Runtime answers.

Requires `onnx`, `numpy` and `onnxruntime`: `python ui-tests/models/blocks.py`. Names, scopes and the
operators that stand for one step are those of `torch.onnx.export`; only sizes are small. What they
expand to is in `ir/tests/golden/`; `cargo onnx-embed verify` compares the answers.
"""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).parent / "blocks"


class Export:
    """A graph, node by node, each named after the module that is open."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights, self.counts, self.scope = [], {}, {}, []

    def __call__(self, kind, *inputs, outputs=1, to=None, **attributes):
        path = "".join(f"/{scope}" for scope in self.scope) + f"/{kind}"
        count = self.counts[path] = self.counts.get(path, -1) + 1
        name = f"{path}_{count}" if count else path
        made = to or [f"{name}_output_{at}" for at in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), made, name, **attributes))
        return made[0] if len(made) == 1 else made

    def weight(self, name, *shape, scale=0.3, around=0.0):
        self.weights[name] = (around + self.random.normal(0, scale, shape)).astype(np.float32)
        return name

    def positive(self, name, *shape):
        self.weights[name] = self.random.uniform(0.5, 1.5, shape).astype(np.float32)
        return name

    def number(self, value, dtype=np.float32):
        """A constant, in a node of its own as the exporter has it."""
        return self("Constant", value=numpy_helper.from_array(np.array(value, dtype)))

    def integers(self, *values):
        return self.number(values, np.int64)

    def size(self, x, at):
        return self("Gather", self("Shape", x), self.number(at, np.int64), axis=0)

    def shape(self, *sizes):
        """Sizes as one tensor: numbers, and those that the run tells."""
        parts = [self("Unsqueeze", s, self.integers(0)) if isinstance(s, str) else self.integers(s) for s in sizes]
        return self("Concat", *parts, axis=0)

    def linear(self, name, x, width, to, transposed=None):
        """Its weight lies the other way round, under a name without meaning."""
        with_bias = transposed is None
        self.scope.append(name)
        weight = self.weight(transposed or f"onnx::MatMul_{len(self.nodes) + 100}", width, to)
        x = self("MatMul", x, weight)
        if with_bias:
            x = self("Add", self.weight(".".join(self.scope) + ".bias", to), x)
        self.scope.pop()
        return x

    def save(self, name, opset, inputs, outputs, values):
        def ports(all):
            return [helper.make_tensor_value_info(n, t, s) for n, t, s in all]

        weights = [numpy_helper.from_array(v, n) for n, v in self.weights.items()]
        graph = helper.make_graph(self.nodes, "main_graph", ports(inputs), ports(outputs), weights)
        opsets = [helper.make_opsetid("", opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="pytorch")
        onnx.checker.check_model(model, full_check=True)
        folder = HERE / name
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save(model, folder / f"{name}.onnx")
        session = onnxruntime.InferenceSession(model.SerializeToString())
        names = [output.name for output in session.get_outputs()]
        found = session.run(names, values)
        arrays = {f"in/{key}": value for key, value in values.items()}
        arrays |= {f"out/{key}": value for key, value in zip(names, found)}
        np.savez_compressed(folder / "io.npz", **arrays)


def bert():
    """One layer of BERT: opset 14, in which a layer norm is spelled out; the last is an operator of 17."""
    e, width, heads = Export(1), 8, 2
    e.scope = ["layer.0"]
    x = hidden = "hidden_states"

    def heads_of(name):
        """A projection, and its heads."""
        e.scope += ["attention", "self"]
        made = e.linear(name, x, width, width)
        made = e("Reshape", made, e.shape(e.size(made, 0), e.size(made, 1), heads, width // heads))
        made = e("Transpose", made, perm=[0, 2, 3, 1] if name == "key" else [0, 2, 1, 3])
        del e.scope[1:]
        return made

    def norm(x):
        e.scope.append("LayerNorm")
        mean = e("ReduceMean", x, axes=[-1])
        centered = e("Sub", x, mean)
        variance = e("ReduceMean", e("Pow", centered, e.number(2)), axes=[-1])
        made = e("Div", centered, e("Sqrt", e("Add", variance, e.number(1e-12))))
        name = ".".join(e.scope)
        made = e("Mul", made, e.weight(f"{name}.weight", width, around=1, scale=0.1))
        made = e("Add", made, e.weight(f"{name}.bias", width))
        e.scope.pop()
        return made

    query, key, value = heads_of("query"), heads_of("key"), heads_of("value")
    e.scope += ["attention", "self"]
    scores = e("Div", e("MatMul", query, key), e.number(np.sqrt(width / heads)))
    weights = e("Softmax", e("Add", scores, "attention_mask"), axis=-1)
    mixed = e("Transpose", e("MatMul", weights, value), perm=[0, 2, 1, 3])
    mixed = e("Reshape", mixed, e.shape(e.size(mixed, 0), e.size(mixed, 1), width))
    e.scope[-1:] = ["output"]
    x = norm(e("Add", e.linear("dense", mixed, width, width), hidden))
    e.scope[1:] = ["intermediate"]
    up = e.linear("dense", x, width, 2 * width)
    e.scope.append("intermediate_act_fn")
    gelu = e("Add", e("Erf", e("Div", up, e.number(np.sqrt(2)))), e.number(1))
    up = e("Mul", e("Mul", up, gelu), e.number(0.5))
    e.scope[1:] = ["output"]
    x = e("Add", e.linear("dense", up, 2 * width, width), x)
    name = ".".join(e.scope) + ".LayerNorm"
    scale, bias = e.weight(f"{name}.weight", width, around=1, scale=0.1), e.weight(f"{name}.bias", width)
    e.scope.append("LayerNorm")
    # The mask is spelled out with axes as attributes, which ends at opset 17, where the operator begins.
    e("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-12, to=["last_hidden_state"])
    batch, tokens = 2, 5
    mask = np.where(np.arange(tokens) < [[[[5]]], [[[3]]]], 0, np.finfo(np.float32).min).astype(np.float32)
    e.save(
        "bert_layer",
        17,
        [(hidden, 1, ["batch", "sequence", width]), ("attention_mask", 1, ["batch", 1, 1, "sequence"])],
        [("last_hidden_state", 1, ["batch", "sequence", width])],
        {hidden: e.random.normal(0, 1, (batch, tokens, width)).astype(np.float32), "attention_mask": mask},
    )


def mobilenet():
    """An inverted residual of MobileNetV2, exported in training form: norms are operators still."""
    e, width, inner = Export(2), 4, 8

    def step(at, x, shape, groups=1, activation=True):
        e.scope += ["conv", f"conv.{at}"] + (["0"] if activation else [])
        name = f"features.1.conv.{at}"
        weight = e.weight((name + ".0" if activation else name) + ".weight", *shape)
        size = shape[-1]
        pads = [size // 2] * 4
        x = e("Conv", x, weight, kernel_shape=[size, size], pads=pads, group=groups, strides=[1, 1], dilations=[1, 1])
        del e.scope[2:]
        norm = f"{name}.1" if activation else f"features.1.conv.{at + 1}"
        e.scope.append(norm.removeprefix("features.1."))
        parameters = [e.weight(f"{norm}.weight", shape[0], around=1), e.weight(f"{norm}.bias", shape[0])]
        parameters += [e.weight(f"{norm}.running_mean", shape[0]), e.positive(f"{norm}.running_var", shape[0])]
        x = e("BatchNormalization", x, *parameters, epsilon=1e-5, momentum=0.9)
        if activation:
            e.scope[-1:] = [f"conv.{at}", f"conv.{at}.2"]
            x = e("Clip", x, e.number(0), e.number(6))
        del e.scope[1:]
        return x

    e.scope = ["features.1"]
    x = step(0, "input", (inner, width, 1, 1))
    x = step(1, x, (inner, 1, 3, 3), inner)
    x = step(2, x, (width, inner, 1, 1), activation=False)
    e("Add", "input", x, to=["output"])
    e.save(
        "mobilenet_block",
        17,
        [("input", 1, ["batch", width, "height", "width"])],
        [("output", 1, ["batch", width, "height", "width"])],
        {"input": e.random.normal(0, 1, (2, width, 7, 6)).astype(np.float32)},
    )


def yolo():
    """The head of YOLOv8 on one level: boxes out of distributions of distances, and classes."""
    e, width, classes, side = Export(3), 8, 3, 4
    boxes, scores = yolo_head(e, "features", width, classes, side)
    e("Concat", boxes, scores, axis=1, to=["output0"])
    e.save(
        "yolo_head",
        17,
        [("features", 1, ["batch", width, side, side])],
        [("output0", 1, ["batch", 4 + classes, side * side])],
        {"features": e.random.normal(0, 1, (2, width, side, side)).astype(np.float32)},
    )


def silu(e, scope, x, channels, to, size=3, stride=1):
    """A convolution of YOLOv8 with its activation."""
    e.scope += [scope, "conv"]
    name = ".".join(e.scope)
    parameters = [e.weight(f"{name}.weight", to, channels, size, size), e.weight(f"{name}.bias", to)]
    x = e("Conv", x, *parameters, kernel_shape=[size, size], pads=[size // 2] * 4, strides=[stride, stride])
    e.scope[-1:] = ["act"]
    x = e("Mul", x, e("Sigmoid", x))
    del e.scope[-2:]
    return x


def detector():
    """A small YOLOv8 whole: its stem, a block of each kind, its head, and what keeps the best boxes."""
    e, width, classes, side = Export(5), 16, 3, 8
    x = silu(e, "model.0", "images", 3, 4, stride=2)
    x = silu(e, "model.1", x, 4, 8, stride=2)
    e.scope.append("model.2")
    both = silu(e, "cv1", x, 8, 8, 1)
    first, last = e("Split", both, e.integers(4, 4), outputs=2, axis=1)
    e.scope.append("m.0")
    far = silu(e, "cv2", silu(e, "cv1", last, 4, 4), 4, 4)
    far = e("Add", last, far)
    e.scope.pop()
    x = silu(e, "cv2", e("Concat", first, last, far, axis=1), 12, 8, 1)
    e.scope.pop()
    x = silu(e, "model.3", x, 8, width, stride=2)
    e.scope.append("model.9")
    pooled = [silu(e, "cv1", x, width, 8, 1)]
    for _ in range(3):
        pooled.append(e("MaxPool", pooled[-1], kernel_shape=[5, 5], pads=[2] * 4, strides=[1, 1]))
    x = silu(e, "cv2", e("Concat", *pooled, axis=1), 32, width, 1)
    e.scope.pop()
    boxes, scores = yolo_head(e, x, width, classes, side)
    e.scope = []
    boxes = e("Transpose", boxes, perm=[0, 2, 1])
    kept = e(
        "NonMaxSuppression", boxes, scores, e.number([100], np.int64), e.number([0.4], np.float32),
        e.number([0.6], np.float32), center_point_box=1,
    )
    image, label, place = (e("Gather", kept, e.integers(at), axis=1) for at in range(3))
    e("GatherND", boxes, e("Concat", image, place, axis=1), to=["boxes"])
    e("GatherND", scores, kept, to=["scores"])
    e("Squeeze", label, e.integers(1), to=["classes"])
    e.save(
        "detector",
        17,
        [("images", 1, ["batch", 3, 8 * side, 8 * side])],
        [("boxes", 1, ["kept", 4]), ("scores", 1, ["kept"]), ("classes", 7, ["kept"])],
        {"images": e.random.uniform(0, 1, (2, 3, 8 * side, 8 * side)).astype(np.float32)},
    )


def yolo_head(e, x, width, classes, side):
    """Boxes as centers and sizes, and scores, of one level."""
    bins = 4

    def conv(scope, x, channels, to, size=3, activation=True):
        e.scope += scope
        name = "model.22." + ".".join(e.scope[2:]).replace("cv2.0.cv2.0", "cv2.0")
        parameters = [e.weight(f"{name}.weight", to, channels, size, size), e.weight(f"{name}.bias", to)]
        x = e("Conv", x, *parameters, kernel_shape=[size, size], pads=[size // 2] * 4, strides=[1, 1])
        if activation:
            e.scope[-1:] = ["act"]
            x = e("Mul", x, e("Sigmoid", x))
        del e.scope[1:]
        return x

    e.scope = ["model.22"]
    boxes = conv(["cv2.0", "cv2.0.0", "conv"], x, width, width)
    boxes = conv(["cv2.0", "cv2.0.2"], boxes, width, 4 * bins, 1, False)
    scores = conv(["cv3.0", "cv3.0.0", "conv"], x, width, width)
    scores = conv(["cv3.0", "cv3.0.2"], scores, width, classes, 1, False)
    both = e("Concat", boxes, scores, axis=1)
    batch = e.size(both, 0)
    flat = e("Reshape", both, e.shape(batch, 4 * bins + classes, -1))
    boxes, scores = e("Split", flat, e.integers(4 * bins, classes), outputs=2, axis=1)
    e.scope.append("dfl")
    bins_last = e("Reshape", boxes, e.shape(e.size(boxes, 0), 4, bins, e.size(boxes, 2)))
    bins_last = e("Softmax", e("Transpose", bins_last, perm=[0, 2, 1, 3]), axis=1)
    e.weights["model.22.dfl.conv.weight"] = np.arange(bins, dtype=np.float32).reshape(1, bins, 1, 1)
    e.scope.append("conv")
    distances = e("Conv", bins_last, "model.22.dfl.conv.weight", kernel_shape=[1, 1])
    e.scope.pop()
    distances = e("Reshape", distances, e.shape(e.size(boxes, 0), 4, e.size(boxes, 2)))
    e.scope.pop()
    near = e("Slice", distances, e.integers(0), e.integers(2), e.integers(1))
    far = e("Slice", distances, e.integers(2), e.integers(4), e.integers(1))
    row = np.arange(side) + 0.5
    anchors = np.stack([np.tile(row, side), np.repeat(row, side)])[None]
    first = e("Sub", e.number(anchors), near)
    last = e("Add", e.number(anchors), far)
    middle = e("Div", e("Add", first, last), e.number(2))
    sizes = e("Sub", last, first)
    boxes = e("Mul", e("Concat", middle, sizes, axis=1), e.number(8))
    return boxes, e("Sigmoid", scores)


def llama():
    """A layer of Llama with two queries to each key, and a cache."""
    e, width, heads, groups, head = Export(4), 16, 4, 2, 4
    e.scope = ["layers.0"]
    batch, seen = "batch", "past"

    def norm(name, x):
        e.scope.append(name)
        mean = e("ReduceMean", e("Pow", x, e.number(2)), axes=[-1])
        root = e("Sqrt", e("Add", mean, e.number(1e-6)))
        made = e("Mul", x, e("Div", e.number(1), root))
        made = e("Mul", e.weight(".".join(e.scope) + ".weight", width, around=1, scale=0.1), made)
        e.scope.pop()
        return made

    def turned(x):
        """Half of each vector turned against the other."""
        size = e.size(x, 3)
        half = e("Div", size, e.number(2, np.int64))
        first = e("Slice", x, e.integers(0), e("Unsqueeze", half, e.integers(0)), e.integers(3), e.integers(1))
        ends = e.integers(np.iinfo(np.int64).max)
        last = e("Slice", x, e("Unsqueeze", half, e.integers(0)), ends, e.integers(3), e.integers(1))
        across = e("Concat", e("Neg", last), first, axis=-1)
        return e("Add", e("Mul", x, cos), e("Mul", across, sin))

    def repeated(x):
        """Each key for all of its queries."""
        sizes = [e.size(x, at) for at in (0, 1, 2, 3)]
        wide = e("Unsqueeze", x, e.integers(2))
        times = e.shape(sizes[0], sizes[1], heads // groups, sizes[2], sizes[3])
        wide = e("Expand", wide, times)
        return e("Reshape", wide, e.shape(sizes[0], heads, sizes[2], sizes[3]))

    x = norm("input_layernorm", "hidden_states")
    e.scope.append("self_attn")

    def heads_of(name, count):
        made = e.linear(f"{name}_proj", x, width, count * head, f"onnx::MatMul_{name}")
        made = e("Reshape", made, e.shape(e.size("hidden_states", 0), e.size("hidden_states", 1), count, head))
        return e("Transpose", made, perm=[0, 2, 1, 3])

    query, key, value = heads_of("q", heads), heads_of("k", groups), heads_of("v", groups)
    cos, sin = (e("Unsqueeze", name, e.integers(1)) for name in ("cos", "sin"))
    query, key = turned(query), turned(key)
    key = e("Concat", "past_key", key, axis=-2, to=["present_key"])
    value = e("Concat", "past_value", value, axis=-2, to=["present_value"])
    key, value = repeated(key), repeated(value)
    scores = e("MatMul", query, e("Transpose", key, perm=[0, 1, 3, 2]))
    scores = e("Mul", scores, e.number(head**-0.5))
    weights = e("Softmax", e("Add", scores, "attention_mask"), axis=-1)
    mixed = e("Transpose", e("MatMul", weights, value), perm=[0, 2, 1, 3])
    sizes = e.size("hidden_states", 0), e.size("hidden_states", 1)
    mixed = e("Reshape", mixed, e.shape(*sizes, -1))
    mixed = e.linear("o_proj", mixed, heads * head, width, "onnx::MatMul_o")
    e.scope.pop()
    hidden = e("Add", "hidden_states", mixed)
    x = norm("post_attention_layernorm", hidden)
    e.scope.append("mlp")
    gate = e.linear("gate_proj", x, width, 24, "onnx::MatMul_gate")
    e.scope.append("act_fn")
    gate = e("Mul", gate, e("Sigmoid", gate))
    e.scope.pop()
    up = e.linear("up_proj", x, width, 24, "onnx::MatMul_up")
    down = e.linear("down_proj", e("Mul", gate, up), 24, width, "onnx::MatMul_down")
    e.scope.pop()
    e("Add", hidden, down, to=["output"])
    batch, tokens, past = 2, 3, 4
    angles = (past + np.arange(tokens))[:, None] * 100.0 ** -(np.arange(head // 2) / (head // 2))
    angles = np.broadcast_to(np.concatenate([angles, angles], 1), (batch, tokens, head)).astype(np.float32)
    hidden = np.triu(np.full((tokens, past + tokens), np.finfo(np.float32).min), past + 1)
    cache = ["batch", groups, "past", head]
    all = ["batch", groups, "total", head]
    e.save(
        "llama_layer",
        17,
        [
            ("hidden_states", 1, ["batch", "sequence", width]),
            ("attention_mask", 1, ["batch", 1, "sequence", "total"]),
            ("cos", 1, ["batch", "sequence", head]),
            ("sin", 1, ["batch", "sequence", head]),
            ("past_key", 1, cache),
            ("past_value", 1, cache),
        ],
        [("output", 1, ["batch", "sequence", width]), ("present_key", 1, all), ("present_value", 1, all)],
        {
            "hidden_states": e.random.normal(0, 1, (batch, tokens, width)).astype(np.float32),
            "attention_mask": np.broadcast_to(hidden, (batch, 1, tokens, past + tokens)).astype(np.float32),
            "cos": np.cos(angles),
            "sin": np.sin(angles),
            "past_key": e.random.normal(0, 1, (batch, groups, past, head)).astype(np.float32),
            "past_value": e.random.normal(0, 1, (batch, groups, past, head)).astype(np.float32),
        },
    )


for block in (bert, mobilenet, yolo, detector, llama):
    block()
