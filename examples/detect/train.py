"""Trains the detector of shapes and writes `detector.onnx`, with non-maximum suppression in the graph, and scenes.

    pip install -r ../training/requirements.txt
    python train.py                                # some 10 minutes on two cores
"""

import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
from onnx import TensorProto
from PIL import Image

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "training"))

from network import Compute, Export, fit  # noqa: E402
from shapes import background, place  # noqa: E402

KINDS = ["star", "heart", "arrow", "ring"]
SIDE, STRIDE = 160, 8
CELLS = SIDE // STRIDE
SCENES, STEPS, BATCH = 4_000, 2_000, 16
CENTERS = (np.stack(np.mgrid[0:CELLS, 0:CELLS][::-1], -1).reshape(-1, 2) + 0.5).astype(np.float32) * STRIDE


def forward(ops, x):
    """Logits of each kind and distances to the four edges, `[batch, kinds + 4, CELLS, CELLS]`."""
    for number, channels in enumerate((12, 24, 40, 40, 40, 40), 1):
        x = ops.conv(x, f"conv{number}", channels, stride=2 if number <= 3 else 1)
        x = ops.relu(ops.norm(x, f"norm{number}"))
    return ops.conv(x, "head", len(KINDS) + 4, size=1, bias=True)


def main():
    random = np.random.default_rng(1)
    images, kinds, boxes = targets(SCENES, random)
    weights = {"head.bias": jnp.asarray([-4.0] * len(KINDS) + [1.0] * 4, jnp.float32)}
    forward(Compute(weights, random), jnp.zeros((1, 3, SIDE, SIDE)))

    def loss(weights, batch):
        ops = Compute(weights, training=True)
        x, kind, edges = batch
        found = forward(ops, x.astype(jnp.float32) / 255).reshape(BATCH, -1, CELLS * CELLS)
        wanted = jax.nn.one_hot(kind, len(KINDS), axis=1)
        logits, inside = found[:, : len(KINDS)], (kind >= 0)
        share = jax.nn.sigmoid(logits)
        wrong = jnp.abs(wanted - share) ** 2 * (0.35 + 0.4 * wanted)
        focal = (wrong * (jnp.logaddexp(0, logits) - wanted * logits)).sum()
        overlap = intersection_over_union(jnp.exp(found[:, len(KINDS) :]) * STRIDE, edges)
        return (focal + ((1 - overlap) * inside).sum()) / inside.sum(), ops.running

    weights = fit(loss, weights, batches(images, kinds, boxes, random), STEPS)
    path = HERE / "detector.onnx"
    export(weights, path)
    (HERE / "labels.txt").write_text("\n".join(KINDS) + "\n")
    write_scenes()
    measure(path)


def intersection_over_union(a, b):
    """Of boxes that are given as distances from one point to their edges: `[batch, 4, cells]`."""
    area = lambda box: (box[:, 0] + box[:, 2]) * (box[:, 1] + box[:, 3])  # noqa: E731
    common = area(jnp.minimum(a, b))
    return common / (area(a) + area(b) - common + 1e-6)


def scene(random):
    """A picture, and kind and box of the shapes on it, which overlap little."""
    image, found = background(random, SIDE, SIDE), []
    for _ in range(random.integers(2, 7)):
        radius = random.uniform(12, 30)
        center = random.uniform(radius, SIDE - radius, 2)
        if all(np.abs(center - other).max() > radius + size for other, size in found_places(found)):
            kind = random.integers(len(KINDS))
            found.append((kind, place(image, random, KINDS[kind], center, radius)))
    grain = random.uniform(0, 0.04)
    return (np.clip(image + random.normal(0, grain, image.shape), 0, 1) * 255).astype(np.uint8), found


def found_places(found):
    for _, (left, top, right, bottom) in found:
        yield np.array([left + right, top + bottom]) / 2, max(right - left, bottom - top) / 2


def targets(count, random):
    """Scenes with the kind (or -1) and the distances to the edges at each cell."""
    images, kinds, edges = [], np.full((count, CELLS**2), -1), np.ones((count, 4, CELLS**2), np.float32)
    for number in range(count):
        image, found = scene(random)
        images.append(image.transpose(2, 0, 1))
        for kind, (left, top, right, bottom) in found:
            sides = np.stack([*(CENTERS - [left, top]).T, *([right, bottom] - CENTERS).T])
            offset = np.abs(CENTERS - [(left + right) / 2, (top + bottom) / 2]).max(1)
            inside = (sides.min(0) > 0) & (offset < 0.3 * max(right - left, bottom - top))
            kinds[number, inside] = kind
            edges[number][:, inside] = sides[:, inside]
    return np.stack(images), kinds, edges


def batches(images, kinds, edges, random):
    while True:
        chosen = random.integers(0, len(images), BATCH)
        yield jnp.asarray(images[chosen]), jnp.asarray(kinds[chosen]), jnp.asarray(edges[chosen])


def export(weights, path):
    """The network, then boxes, and of those that overlap the one with the highest score."""
    ops = Export(weights)
    constant = ops.constant
    flat = constant("shape", np.array([len(KINDS) + 4, CELLS**2]))
    found = ops.node("Reshape", [forward(ops, "image"), flat])
    parts = constant("parts", np.array([len(KINDS), 2, 2]))
    ops.nodes.append(_split(found, parts))
    distances = [ops.node("Mul", [ops.node("Exp", [x]), constant("stride", np.float32(STRIDE))]) for x in ("lt", "rb")]
    centers = constant("centres", CENTERS.T)
    corners = [ops.node("Sub", [centers, distances[0]]), ops.node("Add", [centers, distances[1]])]
    boxes = ops.node("Transpose", [ops.node("Concat", corners, axis=0)], perm=[1, 0])
    # Of each cell the likeliest kind alone, so that one object is not found as two kinds.
    likeliest = ops.node("ArgMax", ["logits"], axis=0, keepdims=0)
    first = constant("first_axis", np.array([0]))
    scores = ops.node("ReduceMax", [ops.node("Sigmoid", ["logits"]), first], keepdims=1)
    limits = [("most", np.int64(20)), ("overlap", np.float32(0.45)), ("least", np.float32(0.5))]
    chosen = ops.node(
        "NonMaxSuppression",
        [ops.node("Unsqueeze", [boxes, first]), ops.node("Unsqueeze", [scores, first])]
        + [constant(name, value) for name, value in limits],
        name="suppress",
    )
    cells = ops.node("Gather", [chosen, constant("cell", np.int64(2))], axis=1)
    ops.node("Gather", [boxes, cells], "boxes", axis=0)
    ops.node("Gather", [ops.node("Squeeze", [scores, first]), cells], "scores", axis=0)
    ops.node("Gather", [likeliest, cells], "labels", axis=0)
    outputs = {"boxes": ["found", 4], "scores": ["found"], "labels": (TensorProto.INT64, ["found"])}
    ops.save(path, {"image": [1, 3, SIDE, SIDE]}, outputs, {"labels": ",".join(KINDS)})


def _split(found, parts):
    from onnx import helper

    return helper.make_node("Split", [found, parts], ["logits", "lt", "rb"], "/split/Split", axis=0)


def write_scenes():
    """Six unseen scenes with what is on them, and one of another shape and size."""
    random = np.random.default_rng(3)
    (HERE / "scenes").mkdir(exist_ok=True)
    truth = {}
    for number in range(6):
        image, found = scene(random)
        name = f"{number + 1}.png"
        Image.fromarray(image).quantize(96).save(HERE / "scenes" / name, optimize=True)
        truth[name] = [[KINDS[kind], *(round(float(edge), 1) for edge in box)] for kind, box in found]
    lines = [" ".join(map(str, [name, *box])) for name, found in truth.items() for box in found]
    (HERE / "scenes" / "boxes.txt").write_text("\n".join(lines) + "\n")


def measure(path):
    """The share of shapes that are found with an overlap of at least a half, and of findings that are right."""
    run, random = onnxruntime.InferenceSession(path).run, np.random.default_rng(2)
    shapes = findings = right = 0
    for _ in range(200):
        image, found = scene(random)
        boxes, _, labels = run(None, {"image": image.transpose(2, 0, 1)[None].astype(np.float32) / 255})
        shapes, findings = shapes + len(found), findings + len(boxes)
        for kind, box in found:
            same = labels == kind
            right += any(_overlap(np.array(box), other) > 0.5 for other in boxes[same])
    print(json.dumps({"bytes": path.stat().st_size, "recall": right / shapes, "precision": right / findings}))


def _overlap(a, b):
    area = lambda box: np.prod(np.clip(box[2:] - box[:2], 0, None))  # noqa: E731
    common = area(np.concatenate([np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])]))
    return common / (area(a) + area(b) - common)


if __name__ == "__main__":
    main()
