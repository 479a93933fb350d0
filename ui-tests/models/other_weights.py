"""Has ONNX Runtime run changed copies of a model: `other_weights.py [--noise | --exact] IO.npz FOLDER..`.

Each folder holds a copy, `cargo onnx-embed verify --other-weights` wrote it. What ONNX Runtime answers
for the recorded inputs is written beside it, with its optimizations to `io.npz`, and without them to
`plain.npz`; nothing where it does not run the copy. With `--noise` each float of the inputs is moved by
at most 2**-22 of itself, otherwise for each folder. `--exact` writes to `exact.npz` instead what the graph
gives in double precision, if that can be evaluated.
"""

import sys
from pathlib import Path

import numpy
import onnxruntime

# Python runs with `-I`, which leaves out the folder of the script.
sys.path.append(str(Path(__file__).resolve().parent))

import exact
import record

NOISE = 2.0**-22


def main(option, recording, folders):
    held = numpy.load(recording)
    feed = {name[3:]: value(held[name]) for name in held.files if name.startswith("in/")}
    level = onnxruntime.GraphOptimizationLevel
    levels = {"io.npz": level.ORT_ENABLE_ALL, "plain.npz": level.ORT_DISABLE_ALL}
    for number, folder in enumerate(map(Path, folders)):
        [model] = folder.glob("*.onnx")
        if option == "--exact":
            write_exact(folder, model, feed)
            continue
        random = numpy.random.default_rng(number)
        inputs = {name: moved(value, random) for name, value in feed.items()} if option else feed
        try:
            answers = {name: record.run(model, inputs, level) for name, level in levels.items()}
        except Exception as error:
            (folder / "refused.txt").write_text(str(error))
            continue
        for name, outputs in answers.items():
            numpy.savez(folder / name, **{f"out/{name}": value for name, value in outputs.items()})


def write_exact(folder, model, feed):
    try:
        answers = exact.exact(model, feed)
    except (Exception, SystemExit) as error:
        (folder / "inexact.txt").write_text(str(error))
        return
    doubles = {name: value for name, value in answers.items() if value.dtype == numpy.float64}
    numpy.savez(folder / "exact.npz", **{f"exact/{name}": value for name, value in doubles.items()})


def value(array):
    return array.astype(object) if array.dtype.kind == "U" else array


def moved(array, random):
    if array.dtype not in (numpy.float32, numpy.float64):
        return array
    factors = 1 + NOISE * random.uniform(-1, 1, array.shape)
    return (array * factors).astype(array.dtype)


if __name__ == "__main__":
    option, arguments = "", sys.argv[1:]
    if arguments[0].startswith("--"):
        option, *arguments = arguments
    main(option, arguments[0], arguments[1:])
