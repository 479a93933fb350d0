"""Has ONNX Runtime run changed copies of a model: `other_weights.py IO.npz FOLDER..`.

Each folder holds a copy, `cargo onnx-embed verify --other-weights` wrote it. What ONNX Runtime answers
for the recorded inputs is written beside it, with its optimisations to `io.npz`, and without them to
`plain.npz`; nothing where it does not run the copy.
"""

import sys
from pathlib import Path

import numpy
import onnxruntime

import record


def main(recording, folders):
    held = numpy.load(recording)
    feed = {name[3:]: value(held[name]) for name in held.files if name.startswith("in/")}
    level = onnxruntime.GraphOptimizationLevel
    levels = {"io.npz": level.ORT_ENABLE_ALL, "plain.npz": level.ORT_DISABLE_ALL}
    for folder in map(Path, folders):
        [model] = folder.glob("*.onnx")
        try:
            answers = {name: record.run(model, feed, level) for name, level in levels.items()}
        except Exception as error:
            (folder / "refused.txt").write_text(str(error))
            continue
        for name, outputs in answers.items():
            numpy.savez(folder / name, **{f"out/{name}": value for name, value in outputs.items()})


def value(array):
    return array.astype(object) if array.dtype.kind == "U" else array


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
