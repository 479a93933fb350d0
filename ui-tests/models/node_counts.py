"""Counts nodes of models as they are, behind onnxslim, ONNX Runtime's ENABLE_EXTENDED and ours.

    python node_counts.py FOLDER [COMMAND] > table.md

FOLDER holds folders with a .onnx each; COMMAND is cargo-onnx-embed. A fused operator counts as one,
a constant as none; nodes of nested graphs count too.
"""

import math
import pathlib
import subprocess
import sys
import tempfile

import onnx
import onnxruntime
import onnxslim


def count(graph):
    """The nodes of a graph and of those in it."""
    total = 0
    for node in graph.node:
        total += node.op_type != "Constant"
        for attribute in node.attribute:
            graphs = [attribute.g] if attribute.HasField("g") else []
            total += sum(map(count, [*graphs, *attribute.graphs]))
    return total


def inlined(model):
    """Functions are nodes that are not yet written out."""
    return onnx.inliner.inline_local_functions(model) if model.functions else model


def slim(path):
    return count(onnxslim.slim(str(path)).graph)


def extended(path):
    """What ONNX Runtime saves, for any processor: layouts of one are no simplification."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.log_severity_level = 4
    with tempfile.TemporaryDirectory() as folder:
        options.optimized_model_filepath = f"{folder}/model.onnx"
        onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        return count(onnx.load(options.optimized_model_filepath, load_external_data=False).graph)


def ours(path, command):
    line = subprocess.run(
        [command, "inspect", "--counts", path], capture_output=True, text=True, check=True
    )
    return int(line.stdout.split()[-1])


def attempt(function, *arguments):
    try:
        return function(*arguments)
    except Exception as error:  # The table says which tool refuses which model.
        print(f"{function.__name__} {arguments[0]}: {error}"[:300], file=sys.stderr)
        return None


def mean(pairs):
    """The geometric mean of how many times as many nodes there are, one more than there are."""
    logarithms = [math.log((a + 1) / (b + 1)) for a, b in pairs]
    return math.exp(sum(logarithms) / len(logarithms))


def main():
    folder = pathlib.Path(sys.argv[1])
    command = sys.argv[2] if len(sys.argv) > 2 else "cargo-onnx-embed"
    rows = []
    for path in sorted(folder.glob("*/*.onnx")):
        before = attempt(lambda path: count(inlined(onnx.load(path, load_external_data=False)).graph), path)
        rows.append(
            (path.stem, before, attempt(slim, path), attempt(extended, path), attempt(ours, path, command))
        )
    print("| model | nodes | onnxslim | ONNX Runtime | ours |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, *counts in rows:
        print(f"| {name} | {' | '.join('-' if count is None else str(count) for count in counts)} |")
    for at, name in [(2, "onnxslim"), (3, "ONNX Runtime"), (4, "ours")]:
        pairs = [(row[at], row[1]) for row in rows if row[at] is not None and row[1] is not None]
        print(f"\n{name}: {mean(pairs):.3f} of the nodes of {len(pairs)} models (geometric mean)")
    for at, name in [(2, "onnxslim"), (3, "ONNX Runtime")]:
        pairs = [(row[4], row[at]) for row in rows if row[4] is not None and row[at] is not None]
        print(f"\nours: {mean(pairs):.3f} of those of {name}, {len(pairs)} models")


main()
