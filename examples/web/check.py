"""Draws digits on the page in headless Chromium and reads what it answers."""

import gzip
import json
import time
from pathlib import Path
from statistics import median

from browser import Browser

HERE = Path(__file__).resolve().parent

# Pen positions between two points of strokes.txt.
STEPS = 8

# Seconds until a page has answered: in the development profile code is not optimized.
LONGEST = 180


def check(program, address, devices, folder, only=None):
    """What is wrong on the devices, whose figures are printed."""
    problems = []
    for device in devices:
        with Browser(program) as browser:
            problems += visit(browser, address, device, folder, only)
    return problems


def visit(browser, address, device, folder, only):
    browser.visit("about:blank")
    if device == "webgpu":
        browser.visit(f"{address}icon.svg")
        if not browser.evaluate("navigator.gpu?.requestAdapter().then(adapter => !!adapter) ?? false"):
            print("webgpu: skipped, this browser offers no adapter")
            return []
    browser.visit(f"{address}?device={device}")
    if problem := wait(browser):
        return [f"{device}: {problem}"]
    first = browser.evaluate("performance.getEntriesByName('answer')[0].toJSON()")
    ready = first["startTime"] + first["duration"]
    problems, times, read = [], [], 0
    for digit, strokes in digits().items():
        if only and digit not in only:
            continue
        answer, took = draw(browser, strokes)
        times += took
        read += answer == digit
        if answer != digit:
            problems.append(f"{device}: {digit} was read as {answer}")
    problems += [f"{device}: {text}" for text in browser.complaints()]
    sizes = size(folder / device)
    print(f"{device}: {read} digits of {len(only or digits())} read right")
    print(f"  size        {sizes[0] / 1e6:.2f} MB, gzip {sizes[1] / 1e3:.0f} kB")
    print(f"  first answer {ready:.0f} ms after navigation")
    print(f"  later ones  {median(times):.1f} ms, median of {len(times)}, while drawing")
    return problems


def draw(browser, strokes, touch=False):
    """Clears the paper, draws, and gives the answer and the times of all answers on the way."""
    browser.key("Escape")
    wait(browser)
    box = browser.evaluate("document.getElementById('pad').getBoundingClientRect().toJSON()")
    for stroke in strokes:
        # In the middle of the paper, 70 % of its height.
        points = [
            (box["x"] + box["width"] * (0.15 + 0.7 * x), box["y"] + box["height"] * (0.15 + 0.7 * y))
            for x, y in stroke
        ]
        browser.stroke(points, touch)
    if problem := wait(browser):
        return problem, []
    times = browser.evaluate("performance.getEntriesByName('answer').map(answer => answer.duration)")
    return browser.evaluate("document.getElementById('digit').textContent"), times


def wait(browser):
    """Waits until the page has answered what is drawn; what it says where it cannot."""
    end = time.monotonic() + LONGEST
    state = "[document.querySelector('.answer').ariaBusy, document.getElementById('time').className"
    state += ", document.getElementById('time').textContent]"
    while time.monotonic() < end:
        busy, kind, text = browser.evaluate(f"document.readyState == 'complete' && window === top ? {state} : [0, 0, 0]")
        if kind == "failed":
            return " ".join([text, *browser.complaints()])
        if busy == "false":
            return None
        time.sleep(0.02)
    return f"no answer in {LONGEST} s"


def size(folder):
    """Bytes of the module and its JavaScript, as they are and compressed."""
    files = [path.read_bytes() for path in sorted(folder.iterdir()) if path.suffix in (".js", ".wasm")]
    return sum(map(len, files)), sum(len(gzip.compress(file, 9)) for file in files)


def digits():
    """The strokes of strokes.txt by digit, each a list of pen positions from 0 to 1."""
    lines = (HERE / "strokes.txt").read_text().splitlines()
    parts = (line.split(":") for line in lines if not line.startswith("#"))
    return {digit: [curve(stroke) for stroke in text.split("/")] for digit, text in parts}


def curve(text):
    """Pen positions along a Catmull-Rom curve through points, which ends where one stands twice."""
    points = [tuple(int(number) / 100 for number in word.split(",")) for word in text.split()]
    positions = points[:1]
    for at in range(len(points) - 1):
        start, end = points[at], points[at + 1]
        if start == end:
            continue
        before, after = points[max(at - 1, 0)], points[min(at + 2, len(points) - 1)]
        for step in range(1, STEPS + 1):
            t = step / STEPS
            mix = (-t + 2 * t**2 - t**3, 2 - 5 * t**2 + 3 * t**3, t + 4 * t**2 - 3 * t**3, t**3 - t**2)
            corners = zip(before, start, end, after)
            positions.append(tuple(sum(m * c for m, c in zip(mix, corner)) / 2 for corner in corners))
    return positions


def picture(program, address, path, device="flex", digit="3", **view):
    """Writes a screenshot of the page with a digit on it."""
    with Browser(program) as browser:
        browser.visit(f"{address}?device={device}", **view)
        if problem := wait(browser):
            raise RuntimeError(problem)
        draw(browser, digits()[digit], view.get("touch", False))
        # Bars move for a moment.
        time.sleep(0.5)
        browser.screenshot(path)
        print(f"wrote {path} ({path.stat().st_size / 1e3:.0f} kB)")
