"""Digits written by a simulated hand.

Every digit is a few pen strokes: curves through control points. A sample moves the points, bends and slants
the whole, scales it to a 20x20 box, centers it by mass in 28x28 as MNIST does, and inks it, white on black.
Requires numpy.
"""

import numpy as np

SIDE = 28
BOX = 20.0
STEPS = 120  # pen positions per digit: less than half a pixel apart

# Points as `x,y` in hundredths, x to the right and y downward. A point written twice is a corner;
# `/` lifts the pen.
TEMPLATES = {
    0: [
        "50,0 20,15 8,50 20,86 50,100 80,86 92,50 80,15 50,0",
        "60,4 32,6 12,35 12,70 35,98 66,92 88,62 84,25 55,2 40,8",
        "48,0 28,18 22,50 30,84 50,100 70,82 76,50 68,16 46,1",
    ],
    1: [
        "50,0 50,50 50,100",
        "56,0 52,50 46,100",
        "26,26 40,16 54,0 54,0 54,50 54,100",
        "24,28 54,0 54,0 54,50 54,100 / 22,100 54,100 84,100",
        "34,14 52,0 52,0 52,50 52,100",
        "6,48 32,26 58,0 58,0 56,50 54,100",
        "30,0 42,48 50,100 / 26,100 52,100 88,98",
    ],
    2: [
        "12,24 28,5 54,0 80,12 82,34 62,60 36,82 10,100 10,100 50,100 92,98",
        "14,20 42,0 76,8 82,30 60,62 32,90 14,96 14,80 32,78 58,92 94,94",
        "10,14 48,0 80,16 72,46 40,76 12,98 12,98 52,94 90,100",
        "16,8 44,2 78,4 78,4 50,50 14,98 14,98 50,98 88,96",
    ],
    3: [
        "14,12 40,0 72,6 78,26 62,44 40,48 40,48 70,54 86,74 68,96 36,100 10,88",
        "12,2 48,2 84,2 84,2 62,24 42,42 42,42 74,48 88,72 68,96 36,100 10,86",
        "18,10 46,0 76,10 72,34 46,48 44,50 74,56 82,78 58,98 24,98 8,92",
        "12,18 34,2 66,2 82,20 64,42 50,47 50,47 80,58 90,78 70,98 40,98 14,82",
    ],
    4: [
        "30,0 22,30 12,60 12,60 50,60 92,58 / 68,24 66,62 62,100",
        "64,0 36,32 8,66 8,66 50,66 94,66 / 66,2 66,50 66,100",
        "16,2 12,28 20,50 44,54 78,48 / 82,0 80,50 74,100",
        "70,100 70,50 70,0 70,0 40,34 8,70 8,70 50,70 94,70",
        "22,4 18,30 18,54 18,54 50,54 78,52 / 78,6 78,50 78,100",
    ],
    5: [
        "84,2 54,2 24,4 24,4 20,24 18,46 18,46 46,36 78,48 84,74 62,98 32,100 10,88",
        "26,4 22,26 20,44 20,44 50,40 80,56 80,82 52,100 12,94 / 26,4 54,2 88,0",
        "88,0 60,4 36,4 36,4 28,24 20,42 20,42 52,46 76,66 66,90 38,100 8,94",
        "78,6 50,4 30,6 24,22 26,40 48,48 72,60 78,80 58,98 30,98 12,90",
    ],
    6: [
        "74,2 44,16 20,46 12,74 28,96 58,100 82,84 76,60 50,52 24,62 14,80",
        "62,0 36,24 20,54 18,82 42,100 72,92 80,70 58,56 34,64 20,84",
        "84,8 56,0 28,18 12,54 18,86 46,100 78,90 84,66 58,52 28,60 16,74",
        "44,0 30,26 22,60 26,90 50,100 72,88 70,66 50,58 30,68 24,84",
    ],
    7: [
        "10,4 48,4 90,2 90,2 68,34 50,68 40,100",
        "12,18 14,4 14,4 50,4 88,4 88,4 66,44 44,100",
        "10,4 48,4 86,2 86,2 64,40 40,100 / 32,54 56,52 82,50",
        "12,10 40,2 70,4 82,10 74,34 58,66 50,100",
        "14,2 50,4 84,0 84,0 80,34 74,66 70,100",
        "22,6 48,2 74,4 74,4 66,34 54,68 44,100 / 8,50 48,46 90,42",
        "10,22 30,4 52,10 74,2 74,2 66,36 52,70 44,100 / 18,56 52,48 88,46",
    ],
    8: [
        "78,12 50,0 22,14 28,36 54,50 80,70 74,92 46,100 20,88 22,68 50,50 76,32 80,14 66,3",
        "50,0 26,8 22,28 50,46 78,28 74,8 50,0 / 50,46 18,62 16,86 50,100 84,86 82,62 50,46",
        "70,8 40,2 28,22 46,42 68,60 70,86 46,100 26,86 32,62 54,44 74,22 70,8",
        "86,4 56,2 26,10 22,30 52,46 76,66 68,92 40,98 26,82 42,58 68,36 86,6",
    ],
    9: [
        "80,14 54,0 24,10 14,34 32,52 62,48 80,26 80,14 80,14 76,56 68,100",
        "76,24 60,2 28,6 16,30 36,50 66,42 78,18 78,18 80,50 66,86 40,100 18,94",
        "82,6 46,2 18,20 22,44 52,48 78,28 84,4 84,4 72,50 58,100",
        "74,12 46,0 22,18 26,44 54,52 76,34 76,10 78,50 78,100",
        "74,16 50,0 26,10 26,34 50,44 72,30 74,16 74,16 80,52 72,88 48,100 22,90",
        "80,4 48,2 24,20 36,40 66,36 80,8 80,8 78,50 74,94 74,94 46,100 18,96",
    ],
}


def digits(count, seed):
    """`count` images `[count, 28, 28]` in 0..1 and their labels, ten digits equally often, in random order."""
    random = np.random.default_rng(seed)
    labels = np.arange(count) % 10
    random.shuffle(labels)
    styles = random.integers(0, 1 << 16, count)
    images = np.empty((count, SIDE, SIDE), np.float32)
    for digit, templates in TEMPLATES.items():
        for number, template in enumerate(templates):
            chosen = np.flatnonzero((labels == digit) & (styles % len(templates) == number))
            for part in np.array_split(chosen, len(chosen) // 128 + 1):
                images[part] = _ink(_bend(_write(template, len(part), random), random), random)
    return _wear(images, random), labels


def _write(template, count, random):
    """Pen positions `[count, STEPS, 2]` around the origin, each control point moved a little on its own."""
    strokes = [[_point(word) for word in stroke.split()] for stroke in template.split("/")]
    curves = [curve for stroke in strokes for curve in _corners(stroke)]
    names = sorted({point for curve in curves for point in curve})
    moved = np.array(names) - 0.5 + random.normal(0, 1, (count, len(names), 2)) * random.uniform(
        0.01, 0.05, (count, 1, 1)
    )
    lengths = np.array([_length(curve) for curve in curves])
    shares = np.maximum(4, np.floor(STEPS * lengths / lengths.sum())).astype(int)
    shares[np.argmax(shares)] += STEPS - shares.sum()
    weights = np.zeros((STEPS, len(names)))
    start = 0
    for curve, share in zip(curves, shares):
        weights[start : start + share] = _spline([names.index(point) for point in curve], share, len(names))
        start += share
    return weights @ moved


def _point(word):
    return tuple(int(number) / 100 for number in word.split(","))


def _corners(stroke):
    """Cuts a stroke where a point stands twice."""
    curves = [[stroke[0]]]
    for before, point in zip(stroke, stroke[1:]):
        if before == point:
            curves.append([point])
        else:
            curves[-1].append(point)
    return curves


def _length(curve):
    return sum(np.hypot(x1 - x0, y1 - y0) for (x0, y0), (x1, y1) in zip(curve, curve[1:]))


def _spline(indices, steps, width):
    """Rows that mix control points into a Catmull-Rom curve through all of them."""
    knots = np.linspace(0, len(indices) - 1, steps)
    segment = np.minimum(knots.astype(int), len(indices) - 2)
    t = knots - segment
    mix = [-t + 2 * t**2 - t**3, 2 - 5 * t**2 + 3 * t**3, t + 4 * t**2 - 3 * t**3, t**3 - t**2]
    rows = np.zeros((steps, width))
    for offset, weight in zip((-1, 0, 1, 2), mix):
        neighbor = np.clip(segment + offset, 0, len(indices) - 1)
        np.add.at(rows, (np.arange(steps), np.array(indices)[neighbor]), weight / 2)
    return rows


def _bend(points, random):
    """Turns, slants, stretches and warps each digit smoothly."""
    count = len(points)

    def each(low, high):
        return random.uniform(low, high, (count, 1))

    x, y = points[..., 0] * each(0.55, 1.2), points[..., 1]
    for _ in range(3):
        wave = each(1, 5) * x + each(-5, 5) * y + each(0, 2 * np.pi)
        x, y = x + each(-0.07, 0.07) * np.sin(wave), y + each(-0.07, 0.07) * np.cos(wave)
    x = x - random.normal(0.1, 0.2, (count, 1)) * y
    angle = random.normal(0, 0.1, (count, 1))
    return np.stack([np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y], -1)


def _ink(points, random):
    """Draws pen positions with a round pen whose pressure varies along the way."""
    count = len(points)
    radius = random.uniform(0.55, 2.3, (count, 1))
    low, high = points.min(1, keepdims=True), points.max(1, keepdims=True)
    scale = (BOX - 2 * radius[..., None]) / (high - low).max(2, keepdims=True)
    center = (SIDE - 1) / 2 + random.normal(0, 0.4, (count, 1, 2))
    points = (points - points.mean(1, keepdims=True)) * scale + center
    way = np.linspace(0, 1, STEPS)
    swing = random.uniform(0, 0.25, (count, 1))
    pressure = 1 + swing * np.sin(random.uniform(2, 9, (count, 1)) * way + random.uniform(0, 6.3, (count, 1)))
    pens = (radius * pressure).astype(np.float32)
    grid = np.arange(SIDE, dtype=np.float32)
    across = (points[:, None, :, 0].astype(np.float32) - grid[:, None]) ** 2
    down = (points[:, None, :, 1].astype(np.float32) - grid[:, None]) ** 2 - pens[:, None] ** 2
    nearest = np.stack([(across + down[:, row, None]).min(2) for row in range(SIDE)], 1)
    softness = random.uniform(0.7, 1.6, (count, 1, 1))
    return np.clip(0.5 - nearest / (2 * radius[..., None] * softness), 0, 1)


def _wear(images, random):
    """Blurs, fades and adds grain, each to a different degree; a few are seen through a coarse scanner."""
    count = len(images)
    coarse = random.random(count) < 0.15
    small = images[coarse].reshape(-1, SIDE // 2, 2, SIDE // 2, 2).mean((2, 4))
    images[coarse] = small.repeat(2, 1).repeat(2, 2)
    blur = random.uniform(0, 0.3, (count, 1, 1)) * (random.random((count, 1, 1)) < 0.6)
    blur[coarse] = 0.3
    for axis in (1, 2):
        near = np.roll(images, 1, axis) + np.roll(images, -1, axis)
        images = images * (1 - 2 * blur) + near * blur
    peak = np.maximum(images.max((1, 2), keepdims=True), 1e-3)
    images = images / peak * random.uniform(0.75, 1.0, (count, 1, 1))
    grain = random.uniform(0, 0.06, (count, 1, 1)) * (random.random((count, 1, 1)) < 0.5)
    return np.clip(images + random.standard_normal(images.shape) * grain, 0, 1).astype(np.float32)
