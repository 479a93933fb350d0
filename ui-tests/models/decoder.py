"""Writes `decoder/`: a decoder with open sizes, and what ONNX Runtime answers to ten calls of it.

Requires `onnx`, `numpy` and `onnxruntime`: `python ui-tests/models/decoder.py`. The batch, the number of
tokens and the number of cached ones differ from call to call; `cargo onnx-embed verify` compares them.
"""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper, parser

HERE = Path(__file__).parent / "decoder"
WIDTH, HEADS, WORDS, PLACES, LAYERS = 16, 2, 23, 64, 2
HEAD = WIDTH // HEADS
# Batch, tokens, cached tokens.
CALLS = [(1, 7, 0), (1, 1, 7), (2, 5, 0), (2, 1, 5), (3, 4, 9), (4, 1, 1), (1, 33, 0), (5, 2, 3), (1, 64, 0), (7, 3, 21)]
RANDOM = np.random.default_rng(4)
WEIGHTS = {}


def weight(name, *shape, scale=0.3):
    WEIGHTS[name] = RANDOM.normal(0, scale, shape).astype(np.float32)
    return name


def layer(at, x):
    """One block, as exporters write it: sizes by Shape and Gather, heads by Reshape and Transpose."""
    p = f"l{at}"
    for name, shape in (("qkv", (WIDTH, 3 * WIDTH)), ("out", (WIDTH, WIDTH)), ("up", (WIDTH, 4 * WIDTH)), ("down", (4 * WIDTH, WIDTH))):
        weight(f"{p}_{name}", *shape)
    for name in ("norm1", "norm2"):
        WEIGHTS[f"{p}_{name}"] = (1 + RANDOM.normal(0, 0.1, WIDTH)).astype(np.float32)
    return f"""
    {p}_n = LayerNormalization <axis = -1, epsilon = 1e-5> ({x}, {p}_norm1)
    {p}_all = MatMul ({p}_n, {p}_qkv)
    {p}_q, {p}_k, {p}_v = Split <axis = 2> ({p}_all, thirds)
    {p}_q4 = Reshape ({p}_q, heads)
    {p}_k4 = Reshape ({p}_k, heads)
    {p}_v4 = Reshape ({p}_v, heads)
    {p}_qt = Transpose <perm = [0, 2, 1, 3]> ({p}_q4)
    {p}_kt = Transpose <perm = [0, 2, 1, 3]> ({p}_k4)
    {p}_vt = Transpose <perm = [0, 2, 1, 3]> ({p}_v4)
    present_key_{at} = Concat <axis = 2> (past_key_{at}, {p}_kt)
    present_value_{at} = Concat <axis = 2> (past_value_{at}, {p}_vt)
    {p}_turned = Transpose <perm = [0, 1, 3, 2]> (present_key_{at})
    {p}_scores = MatMul ({p}_qt, {p}_turned)
    {p}_scaled = Div ({p}_scores, root)
    {p}_seen = Where (hidden, far, {p}_scaled)
    {p}_weights = Softmax <axis = -1> ({p}_seen)
    {p}_mixed = MatMul ({p}_weights, present_value_{at})
    {p}_back = Transpose <perm = [0, 2, 1, 3]> ({p}_mixed)
    {p}_flat = Reshape ({p}_back, joined)
    {p}_o = MatMul ({p}_flat, {p}_out)
    {p}_r = Add ({x}, {p}_o)
    {p}_m = LayerNormalization <axis = -1, epsilon = 1e-5> ({p}_r, {p}_norm2)
    {p}_u = MatMul ({p}_m, {p}_up)
    {p}_e = Div ({p}_u, root2)
    {p}_f = Erf ({p}_e)
    {p}_g = Add ({p}_f, one)
    {p}_h = Mul ({p}_u, {p}_g)
    {p}_i = Mul ({p}_h, half)
    {p}_d = MatMul ({p}_i, {p}_down)
    {p}_y = Add ({p}_r, {p}_d)
"""


def model():
    weight("words", WORDS, WIDTH, scale=1), weight("places", PLACES, WIDTH)
    body = "".join(layer(at, "x" if at == 0 else f"l{at - 1}_y") for at in range(LAYERS))
    caches = [(f"{kind}_{at}", kind) for at in range(LAYERS) for kind in ("key", "value")]
    inputs = "".join(f", float[batch, {HEADS}, past, {HEAD}] past_{name}" for name, _ in caches)
    outputs = "".join(f", float[batch, {HEADS}, total, {HEAD}] present_{name}" for name, _ in caches)
    scalars = {"root": np.sqrt(HEAD), "root2": np.sqrt(2), "one": 1, "half": 0.5, "far": -1e4}
    for name, value in scalars.items():
        WEIGHTS[name] = np.array(value, np.float32)
    whole = {"thirds": [WIDTH] * 3, "zero": 0, "first": 1, "second": 2, "axis0": [0], "axes": [1],
             "head": [HEAD], "count": [HEADS], "rest": [-1], "front": [0, 1]}
    for name, value in whole.items():
        WEIGHTS[name] = np.array(value, np.int64)
    text = f"""
    <ir_version: 8, opset_import: ["": 17], producer_name: "decoder.py">
    decoder (int64[batch, tokens] ids, int64[batch, total] mask{inputs}) => (float[batch, tokens, {WORDS}] scores{outputs}, float[batch, {WIDTH}] mean) {{
    shape = Shape (ids)
    b = Gather (shape, zero)
    t = Gather (shape, first)
    past_shape = Shape (past_key_0)
    past = Gather (past_shape, second)
    total = Add (past, t)
    b1 = Unsqueeze (b, axis0)
    t1 = Unsqueeze (t, axis0)
    heads = Concat <axis = 0> (b1, t1, count, head)
    joined = Concat <axis = 0> (b1, t1, rest)
    at = Range (past, total, first)
    place = Gather (places, at)
    word = Gather (words, ids)
    x = Add (word, place)
    column = Unsqueeze (at, axes)
    all = Range (zero, total, first)
    row = Unsqueeze (all, axis0)
    later = Greater (row, column)
    later4 = Unsqueeze (later, front)
    valid = Cast <to = 9> (mask)
    absent = Not (valid)
    absent3 = Unsqueeze (absent, axes)
    absent4 = Unsqueeze (absent3, axes)
    hidden = Or (later4, absent4)
    {body}
    last = Identity (l{LAYERS - 1}_y)
    turned = Transpose <perm = [1, 0]> (words)
    scores = MatMul (last, turned)
    mean = ReduceMean <axes = [1], keepdims = 0> (last)
    }}"""
    held = parser.parse_model(text)
    held.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in WEIGHTS.items())
    onnx.checker.check_model(held)
    return held


def inputs(batch, tokens, past):
    mask = np.ones((batch, past + tokens), np.int64)
    for row in range(1, batch):
        # Padding on the left, but never all that the first token sees.
        mask[row, : min(row, past)] = 0
    held = {"ids": RANDOM.integers(0, WORDS, (batch, tokens)), "mask": mask}
    for at in range(LAYERS):
        for kind in ("key", "value"):
            held[f"past_{kind}_{at}"] = RANDOM.normal(0, 1, (batch, HEADS, past, HEAD)).astype(np.float32)
    return held


def main():
    HERE.mkdir(exist_ok=True)
    (HERE / "decoder.onnx").write_bytes(model().SerializeToString())
    session = onnxruntime.InferenceSession(HERE / "decoder.onnx")
    for at, call in enumerate(CALLS, 1):
        held = inputs(*call)
        names = [output.name for output in session.get_outputs()]
        answers = dict(zip(names, session.run(names, held)))
        arrays = {f"in/{name}": value for name, value in held.items()} | {f"out/{name}": value for name, value in answers.items()}
        np.savez_compressed(HERE / f"io{at if at > 1 else ''}.npz", **arrays)


if __name__ == "__main__":
    main()
