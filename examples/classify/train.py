"""Trains the classifier of shapes and writes `shapes.onnx`, `labels.txt` and pictures that it has not seen.

    pip install -r ../training/requirements.txt
    python train.py                                # some 5 minutes on two cores
"""

import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import optax
from PIL import Image

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "training"))

from network import Compute, Export, fit  # noqa: E402
from shapes import KINDS, background, picture, place  # noqa: E402

# Those of ImageNet, by which most published classifiers are trained. `src/main.rs` has them too.
MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)
PICTURES, STEPS, BATCH = 16_000, 2_500, 64


def forward(ops, x):
    for number, channels in enumerate((12, 24, 48, 56), 1):
        stride = 1 if number == 4 else 2
        x = ops.conv(x, f"conv{number}", channels, stride=stride)
        x = ops.relu(ops.norm(x, f"norm{number}"))
    x = ops.max_pool(x)
    x = ops.conv(x, "conv5", 56)
    x = ops.relu(ops.norm(x, "norm5"))
    return ops.linear(ops.mean(x), "head", len(KINDS))


def main():
    random = np.random.default_rng(1)
    images, labels = pictures(PICTURES, random)
    weights = {}
    forward(Compute(weights, random), images[:1])

    def loss(weights, batch):
        ops = Compute(weights, training=True)
        x, kinds = batch
        return optax.softmax_cross_entropy_with_integer_labels(forward(ops, x), kinds).mean(), ops.running

    weights = fit(loss, weights, batches(images, labels, random), STEPS)
    export = Export(weights)
    export.node("Softmax", [forward(export, "image")], "probabilities", name="softmax", axis=1)
    path = HERE / "shapes.onnx"
    image, probabilities = {"image": ["batch", 3, 64, 64]}, {"probabilities": ["batch", len(KINDS)]}
    export.save(path, image, probabilities, {"labels": ",".join(KINDS)})
    (HERE / "labels.txt").write_text("\n".join(KINDS) + "\n")

    images, labels = pictures(2_000, np.random.default_rng(2))
    logits = forward(Compute(weights), images)
    print(f"{path.stat().st_size} bytes, accuracy on 2000 unseen pictures {np.mean(logits.argmax(1) == labels):.2%}")
    samples()


def pictures(count, random):
    labels = random.integers(0, len(KINDS), count)
    images = np.stack([picture(random, KINDS[label]) for label in labels])
    return np.ascontiguousarray(((images - MEAN) / STD).transpose(0, 3, 1, 2), np.float32), labels


def batches(images, labels, random):
    """Random pictures, mirrored and transposed, which leaves their kinds as they are."""
    while True:
        chosen = random.integers(0, len(images), BATCH)
        x = images[chosen]
        x = x[:, :, :: random.choice([-1, 1]), :: random.choice([-1, 1])]
        yield jnp.asarray(x.swapaxes(2, 3) if random.random() < 0.5 else x), jnp.asarray(labels[chosen])


def samples():
    """`unseen.png`: a column of 64x64 pictures for each label; `pictures/`: three of other sizes."""
    random = np.random.default_rng(3)
    rows = [np.concatenate([picture(random, kind) for kind in KINDS], 1) for _ in range(6)]
    write(HERE / "unseen.png", np.concatenate(rows))
    (HERE / "pictures").mkdir(exist_ok=True)
    for kind, (width, height) in {"star": (96, 96), "heart": (120, 90), "arrow": (48, 48)}.items():
        image = background(random, height, width)
        place(image, random, kind, np.array([width, height]) / 2, 0.4 * min(width, height))
        write(HERE / "pictures" / f"{kind}.png", np.clip(image, 0, 1))


def write(path, image):
    Image.fromarray((image * 255).astype(np.uint8)).quantize(128).save(path, optimize=True)


if __name__ == "__main__":
    main()
