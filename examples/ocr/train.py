"""Trains a reader of printed lines and writes `lines.onnx`, and pages that it has not seen.

    pip install -r ../training/requirements.txt
    python train.py                                # some 7 minutes of processor time

Needs the fonts DejaVu (Debian: fonts-dejavu).
"""

import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import onnxruntime
import optax
from PIL import Image

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "training"))

from lines import CHARACTERS, HEIGHT, WIDTH, line, page  # noqa: E402
from network import Compute, Export, fit  # noqa: E402

LINES, STEPS, BATCH = 16_000, 2_400, 32
LONGEST, STEP = 24, 4
"""Characters of a line, and pixels for which the network gives one answer."""


def forward(ops, x):
    """Scores `[batch, 1 + characters, 1, width / 4]`: convolutions lower the height to 1, and others look sideways."""
    layers = [(16, 3, 2), (32, 3, (2, 1)), (56, 3, 2), (64, 3, (2, 1)), (80, (2, 3), 1), (80, (1, 7), 1), (80, (1, 7), 1)]
    for number, (channels, size, stride) in enumerate(layers, 1):
        x = ops.conv(x, f"conv{number}", channels, size, stride)
        x = ops.relu(ops.norm(x, f"norm{number}"))
    return ops.conv(x, "head", 1 + len(CHARACTERS), 1, bias=True)


def main():
    random = np.random.default_rng(1)
    data = batches(random)
    weights = {}
    forward(Compute(weights, random), jnp.zeros((1, 1, HEIGHT, WIDTH)))

    def loss(weights, batch):
        ops = Compute(weights, training=True)
        x, hidden, labels, ends = batch
        scores = forward(ops, x)[:, :, 0].swapaxes(1, 2)
        return optax.ctc_loss(scores, hidden, labels, ends).mean() / 10, ops.running

    weights = fit(loss, weights, data, STEPS)
    path = HERE / "lines.onnx"
    export(weights, path)
    measure(path)
    samples()


def batches(random):
    """Pictures, which of their steps are behind the line, characters, and which of these are behind the text."""
    pictures = np.zeros((LINES, 1, HEIGHT, WIDTH), np.uint8)
    widths, labels = np.zeros(LINES, int), np.zeros((LINES, LONGEST), np.int32)
    for at in range(LINES):
        text, picture = line(random)
        widths[at] = picture.shape[1]
        pictures[at, 0, :, : widths[at]] = picture * 255
        labels[at, : len(text)] = [1 + CHARACTERS.index(letter) for letter in text]
    hidden = np.arange(WIDTH // STEP) >= -(-widths[:, None] // STEP)
    while True:
        chosen = random.integers(0, LINES, BATCH)
        x = pictures[chosen].astype(np.float32) / 255
        yield x, hidden[chosen].astype(np.float32), labels[chosen], (labels[chosen] == 0).astype(np.float32)


def export(weights, path):
    ops = Export(weights)
    x = ops.node("Squeeze", [forward(ops, "lines"), ops.constant("height", np.array([2]))])
    x = ops.node("Transpose", [x], perm=[0, 2, 1])
    ops.node("Softmax", [x], "probabilities", name="softmax", axis=-1)
    labels = {"characters": CHARACTERS}
    shape = ["batch", 1, HEIGHT, "width"]
    ops.save(path, {"lines": shape}, {"probabilities": ["batch", "steps", 1 + len(CHARACTERS)]}, labels)


def measure(path):
    run, random = onnxruntime.InferenceSession(path).run, np.random.default_rng(2)
    wrong, letters, whole, count = 0, 0, 0, 1_000
    for _ in range(count):
        text, picture = line(random)
        found = read(run(None, {"lines": picture[None, None].astype(np.float32)})[0][0])
        mistakes = distance(found, text)
        wrong, letters, whole = wrong + mistakes, letters + len(text), whole + (mistakes == 0)
        if mistakes and random.random() < 0.1:
            print(f"  {text!r} is read as {found!r}")
    print(f"{path.stat().st_size} bytes; of {count} unseen lines {whole / count:.1%} and of their characters {1 - wrong / letters:.2%} right")


def read(probabilities):
    best = probabilities.argmax(1)
    return "".join(CHARACTERS[k - 1] for at, k in enumerate(best) if k and (at == 0 or best[at - 1] != k))


def distance(found, text):
    """Letters to insert, to remove or to replace."""
    row = list(range(len(text) + 1))
    for i, a in enumerate(found, 1):
        last, row = row, [i]
        for j, b in enumerate(text, 1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (a != b)))
    return row[-1]


RECEIPT = ["Corner Bakery & Cafe", "12 Mill Road, Bath", "", "2026-11-23 08:41 #5093", "", "2 Espresso        5.60"]
RECEIPT += ["1 Rye bread 750g  4.25", "3 Croissants      6.90", "1 Orange juice    3.80", "Discount 10%     -2.06", ""]
RECEIPT += ["TOTAL          $ 18.49", "Paid by card **** 7712", "", "Thank you! Come again."]
LETTER = ["Dear Ms. Quigley,", "the parcel (no. 48-1176)", "was left at gate B7", "on Friday, at 16:35.", "Questions? 020 7946 0018"]


def samples():
    """`pages/`: what the program shows and its tests read, with what stands on each."""
    (HERE / "pages").mkdir(exist_ok=True)
    random = np.random.default_rng(3)
    for name, lines, options in [("receipt", RECEIPT, {}), ("letter", LETTER, {"font": "Serif", "size": 26, "blur": 0.9})]:
        picture = Image.fromarray(page(lines, random, **options)).quantize(64)
        picture.save(HERE / "pages" / f"{name}.png", optimize=True)
        (HERE / "pages" / f"{name}.txt").write_text("".join(" ".join(text.split()) + "\n" for text in lines if text))
    texts, pictures = zip(*(line(random) for _ in range(24)))
    rows = [np.pad(picture, [(8, 8), (16, 16 + WIDTH - picture.shape[1])]) for picture in pictures]
    gray = Image.fromarray((235 - 200 * np.concatenate(rows)).astype(np.uint8)).quantize(32)
    gray.save(HERE / "pages" / "unseen.png", optimize=True)
    (HERE / "pages" / "unseen.txt").write_text("".join(text + "\n" for text in texts))


if __name__ == "__main__":
    main()
