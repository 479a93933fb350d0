"""Pictures of colored shapes before textured backgrounds, and line drawings of the same shapes."""

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

KINDS = ["circle", "ring", "moon", "square", "triangle", "star", "heart", "cross", "arrow", "drop"]
SMOOTH = 3
"""Edges are drawn at this multiple of the size and scaled down."""


def outline(kind):
    """The corners of a shape within the unit circle, clockwise."""
    if kind in ("circle", "ring"):
        return _arc(0, 2, 48)
    if kind == "moon":
        outer = _arc(0.3, 1.7, 32)
        inner = _arc(1.62, 0.38, 24) * 0.8 + [0.32, 0]
        return np.concatenate([outer, inner])
    if kind == "square":
        return _arc(0.25, 2.25, 4, end=False)
    if kind == "triangle":
        return _arc(1.5, 3.5, 3, end=False)
    if kind == "star":
        points = _arc(1.5, 3.5, 10, end=False)
        points[1::2] *= 0.42
        return points
    if kind == "heart":
        t = np.linspace(0, 2 * np.pi, 40)
        y = 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)
        return np.stack([16 * np.sin(t) ** 3, -y - 2], 1) / 17
    if kind == "cross":
        a, b = 0.3, 0.95
        corner = [(a, b), (a, a), (b, a), (b, -a), (a, -a), (a, -b)]
        return np.array(corner + [(-x, -y) for x, y in corner])
    if kind == "arrow":
        upper = [(1, 0), (0.25, 0.75), (0.25, 0.27), (-0.95, 0.27)]
        return np.array(upper + [(x, -y) for x, y in upper[:0:-1]])
    if kind == "drop":
        belly = _arc(0.15, 1.85, 32) * 0.62 + [-0.35, 0]
        return np.concatenate([belly, [[1, 0]]])
    raise ValueError(kind)


def background(random, height, width):
    """`[height, width, 3]` from 0 to 1: a gradient with clouds, stripes or grain."""
    y, x = np.mgrid[0:height, 0:width] / max(height, width)
    first, second = random.random(3), random.random(3)
    angle = random.uniform(0, 2 * np.pi)
    along = np.cos(angle) * x + np.sin(angle) * y
    mix = 0.5 + 0.5 * along
    texture = random.integers(3)
    if texture == 0:
        mix = 0.5 + 0.5 * np.sin(random.uniform(10, 50) * along + random.uniform(0, 6))
    elif texture == 1:
        cells = random.integers(3, 9)
        clouds = Image.fromarray((random.random((cells, cells)) * 255).astype(np.uint8))
        mix = np.asarray(clouds.resize((width, height), Image.Resampling.BICUBIC)) / 255
    strength = random.uniform(0.1, 0.6)
    return first + strength * mix[..., None] * (second - first)


def place(image, random, kind, center, radius):
    """Draws a shape of any color and angle into `image` and gives its box: left, top, right, bottom."""
    height, width = image.shape[:2]
    mask = Image.new("L", (width * SMOOTH, height * SMOOTH))
    points = _transform(outline(kind), random, radius) + center
    draw = ImageDraw.Draw(mask)
    draw.polygon([tuple(point) for point in points * SMOOTH], fill=255)
    if kind == "ring":
        hole = (points - center) * random.uniform(0.45, 0.65) + center
        draw.polygon([tuple(point) for point in hole * SMOOTH], fill=0)
    alpha = np.asarray(mask.resize((width, height), Image.Resampling.BOX))[..., None] / 255
    left, top = np.clip(points.min(0).astype(int), 0, None)
    behind = image[top : int(center[1] + radius), left : int(center[0] + radius)].mean((0, 1))
    color = random.random(3)
    while np.abs(color - behind).sum() < 0.7:
        color = random.random(3)
    shade = 1 + random.uniform(-0.25, 0.25) * (np.mgrid[0:height, 0:width][0] - center[1])[..., None] / radius
    image[:] = image * (1 - alpha) + np.clip(color * shade, 0, 1) * alpha
    return [*points.min(0), *points.max(0)]


def picture(random, kind, side=64):
    """One shape somewhere in a square picture, `[side, side, 3]` from 0 to 1."""
    image = background(random, side, side)
    radius = side * random.uniform(0.24, 0.42)
    center = side / 2 + random.uniform(-1, 1, 2) * (side * 0.46 - radius)
    place(image, random, kind, center, radius)
    grain = random.uniform(0, 0.05)
    return np.clip(image + random.normal(0, grain, image.shape), 0, 1).astype(np.float32)


def sketch(random, kind, side=64):
    """A shape drawn with a pen by an unsteady hand, as a picture of black and white."""
    paper = Image.new("L", (side * SMOOTH, side * SMOOTH), 255)
    draw = ImageDraw.Draw(paper)
    radius = side * random.uniform(0.26, 0.42)
    center = side / 2 + random.uniform(-1, 1, 2) * (side * 0.46 - radius)
    points = _transform(outline(kind), random, radius)
    strokes = [points, points * random.uniform(0.45, 0.65)] if kind == "ring" else [points]
    pen = random.uniform(1.2, 2.5) * SMOOTH
    for points in strokes:
        points = points + center + random.normal(0, 0.015 * radius, points.shape)
        closed = [tuple(point) for point in np.concatenate([points, points[:2]]) * SMOOTH]
        draw.line(closed, fill=0, width=round(pen), joint="curve")
    paper = paper.filter(ImageFilter.GaussianBlur(0.5)).resize((side, side), Image.Resampling.BOX)
    return paper.point(lambda value: 255 * (value > 140)).convert("1")


def _arc(start, stop, count, end=True):
    """Points of the unit circle; angles are multiples of pi."""
    t = np.linspace(start * np.pi, stop * np.pi, count, endpoint=end)
    return np.stack([np.cos(t), np.sin(t)], 1)


def _transform(points, random, radius):
    angle = random.uniform(0, 2 * np.pi)
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    squeeze = random.uniform(0.75, 1, 2)
    return points * squeeze @ rotation.T * radius
