"""How far models are from what one thread could do at best: their products over its peak, their weights over its bandwidth.

    python ui-tests/bench/floors.py [--write] [id..]

Reads the times that `bench.py` has left in its file of results.
"""

import argparse
import json
import subprocess
import tempfile
import tomllib
from math import prod
from pathlib import Path

import numpy
import onnx
import onnx.numpy_helper
import onnxruntime

import engines
from bench import Model
from tables import replaced

MODELS = ["light_resnet50", "paraphrase_minilm"]
HEAD = """| model | products, millions | weights, MB | floor, ms | ONNX Runtime | onnx-embed |
| --- | ---: | ---: | ---: | ---: | ---: |"""


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--fetched", type=Path, default=engines.TARGET.parent / "models", metavar="FOLDER")
    arguments.add_argument("--recorded", type=Path, default=engines.ROOT / "../shared/models", metavar="FOLDER")
    arguments.add_argument("--results", type=Path, default=engines.TARGET / "results.json", metavar="FILE")
    arguments.add_argument("--write", action="store_true", help="write the table into BENCHMARKS.md")
    arguments.add_argument("ids", nargs="*", default=MODELS)
    options = arguments.parse_args()

    engines.cargo(["build", "--release", "--package", "bench-floor"], engines.HERE)
    program = engines.TARGET / "target/release/bench-floor"
    machine = json.loads(subprocess.run([program], check=True, capture_output=True, text=True).stdout)
    entries = tomllib.loads((engines.HERE / "models.toml").read_text())["models"]
    packages = tomllib.loads((engines.ROOT / "ui-tests/models/fetched.toml").read_text())["packages"]
    listed = {model["id"]: model for package in packages for model in package["models"]}
    measured = {(row["model"], row["threads"]): row["engines"] for row in json.loads(options.results.read_text())}
    lines = [
        f"One thread does {machine['gflops']:.0f} GFLOP/s and reads {machine['gigabytes']:.1f} GB/s at best.\n",
        HEAD,
    ]
    for entry in entries:
        if entry["id"] in options.ids:
            model = Model(entry, options.fetched, options.recorded)
            products, weights = work(model, model.inputs(listed.get(model.id, {})))
            floor = max(2 * products / machine["gflops"] / 1e6, weights / machine["gigabytes"] / 1e6)
            times = [measured[model.name, 1][engine]["ms"] for engine in ("ort", "ours")]
            cells = [f"{time:.1f} ms, {time / floor:.2f}" for time in times]
            lines.append(
                f"| {model.name} | {products / 1e6:.0f} | {weights / 1e6:.1f} | {floor:.1f} | {cells[0]} | {cells[1]} |"
            )
    table = "\n".join(lines)
    print(table)
    if options.write:
        path = engines.ROOT / "BENCHMARKS.md"
        path.write_text(replaced(path.read_text(), "floors", table))


def work(model, feed):
    """Multiplications of convolutions and products of matrices, and bytes of the weights."""
    proto = onnx.load(str(model.path))
    weights = {tensor.name: list(tensor.dims) for tensor in proto.graph.initializer}
    size = sum(onnx.numpy_helper.to_array(tensor).nbytes for tensor in proto.graph.initializer)
    nodes = [node for node in proto.graph.node if node.op_type in ("Conv", "Gemm", "MatMul")]
    # Weights may be results of nodes.
    names = {name for node in nodes for name in (*node.input[:2], node.output[0])}
    wanted = names - weights.keys() - feed.keys()
    known = {value.name for value in proto.graph.output}
    proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in sorted(wanted - known))
    shapes = weights | {name: list(numpy.shape(value)) for name, value in feed.items()}
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        onnx.save(proto, file.name)
        session = onnxruntime.InferenceSession(file.name, providers=["CPUExecutionProvider"])
        names = sorted(wanted)
        shapes |= {name: list(value.shape) for name, value in zip(names, session.run(names, feed))}
    return sum(products(node, shapes) for node in nodes), size


def products(node, shapes):
    positions = prod(shapes[node.output[0]])
    if node.op_type == "Conv":
        return positions * prod(shapes[node.input[1]][1:])
    transposed = any(attribute.name == "transA" and attribute.i for attribute in node.attribute)
    return positions * shapes[node.input[0]][-2 if transposed else -1]


if __name__ == "__main__":
    main()
