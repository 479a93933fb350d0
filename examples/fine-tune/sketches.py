"""Draws the sketches that the classifier learns: `train.png` and `test.png`, a column for each label.

    pip install -r ../training/requirements.txt
    python sketches.py
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "training"))

from shapes import KINDS, sketch  # noqa: E402

SIDE = 64

for name, rows, seed in (("train", 24, 1), ("test", 12, 2)):
    random = np.random.default_rng(seed)
    sheet = Image.new("1", (SIDE * len(KINDS), SIDE * rows), 1)
    for row in range(rows):
        for column, kind in enumerate(KINDS):
            sheet.paste(sketch(random, kind), (column * SIDE, row * SIDE))
    sheet.save(HERE / f"{name}.png", optimize=True)
