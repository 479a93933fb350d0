"""Writes samples/: small JPEG files, and what Pillow, which has libjpeg-turbo, decodes them to."""

import io
from pathlib import Path

import numpy as np
from PIL import Image

FOLDER = Path(__file__).parent / "samples"


def picture(width, height):
    """Colors that change slowly, squares, and noise."""
    random = np.random.default_rng(width * height)
    y, x = np.mgrid[:height, :width]
    pixels = np.stack([x * 255 // width, y * 255 // height, (x * 7 + y * 3) % 256], -1)
    squares = random.integers(0, 256, (height // 5 + 1, width // 5 + 1, 3))
    squares = np.kron(squares, np.ones((5, 5, 1), int))[:height, :width]
    pixels = np.where((x > y)[..., None], pixels, squares)
    noise = random.integers(0, 256, pixels.shape)
    pixels = np.where((x + y > 36)[..., None], noise, pixels)
    return Image.fromarray(pixels.astype(np.uint8))


def frame(data):
    """Where the segment with sizes and factors begins."""
    at = 2
    while not 0xC0 <= data[at + 1] <= 0xC2:
        at += 2 + int.from_bytes(data[at + 2:at + 4])
    return at


def write(name, size, factors=None, gray=False, **options):
    """With `factors`, the same blocks as ones of other factors, which Pillow does not write."""
    file = io.BytesIO()
    stored = size if factors is None else factors[1]
    image = picture(*stored)
    (image.convert("L") if gray else image).save(file, "jpeg", **options)
    data = bytearray(file.getvalue())
    if factors is not None:
        at = frame(data)
        data[at + 5:at + 9] = size[1].to_bytes(2) + size[0].to_bytes(2)
        data[at + 11] = factors[0]
    (FOLDER / f"{name}.jpg").write_bytes(data)
    Image.open(io.BytesIO(data)).convert("RGB").save(FOLDER / f"{name}.ppm")


FOLDER.mkdir(exist_ok=True)
write("444", (19, 21), subsampling="4:4:4")
write("422", (21, 19), subsampling="4:2:2")
write("420", (35, 21), subsampling="4:2:0")
write("440", (15, 29), (0x12, (32, 15)), subsampling="4:2:2")
write("411", (61, 15), (0x41, (32, 32)), subsampling="4:2:0")
write("420_narrow", (4, 9), subsampling="4:2:0")
write("420_coarse", (33, 17), subsampling="4:2:0", quality=2)
write("420_progressive", (37, 26), subsampling="4:2:0", quality=90, progressive=True)
write("422_restarts", (33, 34), subsampling="4:2:2", restart_marker_blocks=2)
write("gray", (23, 17), gray=True)
write("gray_progressive_restarts", (41, 18), gray=True, progressive=True, restart_marker_rows=1)
write("rgb", (17, 13), keep_rgb=True, quality=60)
write("tables", (31, 18), quality=97, optimize=True)
