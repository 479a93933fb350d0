"""Compares random graphs, into which the examples of rules are planted, with ONNX Runtime.

    python ui-tests/property/agree.py                          # 100 graphs
    python ui-tests/property/agree.py --seed 7 --count 2000    # others

The graphs are those of `cargo test -p onnx-embed-property`, which compares them with and without simplification. Here both forms
must agree with ONNX Runtime, without its own optimizations. Graphs that it refuses, or whose inputs it refuses, are left out and
counted. Needs onnx, onnxruntime and numpy, and cargo.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy
import onnxruntime

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()

# Graphs of one program.
TOGETHER = 100

TYPES = {
    "tensor(float)": numpy.float32,
    "tensor(double)": numpy.float64,
    "tensor(float16)": numpy.float16,
    "tensor(int64)": numpy.int64,
    "tensor(int32)": numpy.int32,
    "tensor(int16)": numpy.int16,
    "tensor(int8)": numpy.int8,
    "tensor(uint8)": numpy.uint8,
    "tensor(uint16)": numpy.uint16,
    "tensor(uint32)": numpy.uint32,
    "tensor(uint64)": numpy.uint64,
    "tensor(bool)": numpy.bool_,
}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--count", type=int, default=100)
    arguments = arguments.parse_args()
    folder = TARGET / "grown"
    shutil.rmtree(folder, ignore_errors=True)
    grow = ["cargo", "run", "--quiet", "--package", "onnx-embed-property-graphs", "--bin", "grow", "--"]
    subprocess.run([*grow, str(arguments.seed), str(arguments.count), str(folder)], cwd=ROOT, check=True)
    onnxruntime.set_default_logger_severity(4)
    left_out, kept = Counter(), []
    for path in sorted(folder.glob("*/*.onnx")):
        problem = record(path, arguments.seed)
        if problem:
            left_out[problem] += 1
        else:
            kept.append(path.parent)
    for problem, count in left_out.most_common():
        print(f"left out: {count} by ONNX Runtime, {problem}")
    print(f"{len(kept)} of {arguments.count} graphs are compared")
    failed = len(kept) < arguments.count // 2
    for first in range(0, len(kept), TOGETHER):
        for words in [], ["--no-simplify"]:
            verify = ["cargo", "run", "--quiet", "--bin", "cargo-onnx-embed", "--", "verify", *words]
            done = subprocess.run([*verify, *map(str, kept[first : first + TOGETHER])], cwd=ROOT)
            failed |= done.returncode != 0
    sys.exit(1 if failed else 0)


def record(path, seed):
    """Writes io.npz next to the graph, or returns why it has none."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as problem:
        return words(problem)
    random = numpy.random.default_rng([seed, int(path.stem[1:])])
    inputs = {}
    for port in session.get_inputs():
        if port.type not in TYPES:
            return f"which has no input of type {port.type} here"
        sizes = [size if isinstance(size, int) else 3 for size in port.shape]
        dtype = TYPES[port.type]
        if dtype == numpy.bool_ or numpy.issubdtype(dtype, numpy.integer):
            inputs[port.name] = random.integers(0, 2 if dtype == numpy.bool_ else 4, sizes).astype(dtype)
        else:
            inputs[port.name] = random.uniform(-3, 3, sizes).astype(dtype)
    names = [port.name for port in session.get_outputs()]
    try:
        outputs = dict(zip(names, session.run(names, inputs), strict=True))
    except Exception as problem:
        return words(problem)
    arrays = {f"in/{name}": array for name, array in inputs.items()}
    arrays |= {f"out/{name}": array for name, array in outputs.items()}
    numpy.savez(path.with_name("io.npz"), **arrays)
    return ""


def words(problem):
    """The kind of a problem, without names and numbers."""
    text = str(problem)
    for word in "NOT_IMPLEMENTED", "INVALID_ARGUMENT", "INVALID_GRAPH", "RUNTIME_EXCEPTION", "FAIL":
        if word in text:
            return word
    return type(problem).__name__


if __name__ == "__main__":
    main()
