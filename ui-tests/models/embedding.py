"""Measures what rustc takes for embedded weights: `python ui-tests/models/embedding.py MEGABYTES..`.

For each size a model of products with random weights is written to `target/embedding`, compiled as a library in a
release build by `cargo onnx-embed verify`, and compared with ONNX Runtime. It fails if the peak of rustc's memory is at
or above three times the file and 500 MB. `CARGO_BUILD_JOBS` sets the number of jobs, `--dev` builds without
optimization. Requires `onnx`, `numpy` and `onnxruntime`.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "target" / "embedding"
WIDTH = 1024


def write(megabytes):
    """A model of about this size, with inputs and outputs beside it."""
    random = np.random.default_rng(megabytes)
    count = max(1, round(megabytes * 1e6 / (4 * WIDTH * WIDTH)))
    nodes, weights, value = [], [], "x"
    for at in range(count):
        weight = random.standard_normal((WIDTH, WIDTH), np.float32) / WIDTH**0.5
        weights.append(numpy_helper.from_array(weight, f"layers.{at}.weight"))
        nodes.append(helper.make_node("MatMul", [value, f"layers.{at}.weight"], [f"product_{at}"]))
        value = "y" if at == count - 1 else f"value_{at}"
        nodes.append(helper.make_node("Tanh", [f"product_{at}"], [value]))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", WIDTH]) for name in "xy"]
    graph = helper.make_graph(nodes, "products", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    folder = FOLDER / f"products_{megabytes}"
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    x = random.standard_normal((2, WIDTH), np.float32)
    [y] = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    np.savez(folder / "io.npz", **{"in/x": x, "out/y": y})
    return folder


def main(arguments):
    sizes = [int(size) for size in arguments if size != "--dev"]
    profile = [] if "--dev" in arguments else ["--release"]
    failed = False
    for folder in map(write, sizes):
        command = ["cargo", "run", "-q", "--bin", "cargo-onnx-embed", "--", "verify", folder, "--json", *profile]
        answer = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE)
        [row] = json.loads(answer.stdout)["models"]
        if row["verdict"] != "ok":
            sys.exit(f"{folder.name}: {row['reason']}")
        size = (folder / "model.onnx").stat().st_size
        peak, limit = row["rustc"]["peak_bytes"], 3 * size + 500e6
        failed |= peak >= limit
        print(f"{folder.name}: rustc takes {peak / 1e6:.0f} MB for {size / 1e6:.0f} MB, below {limit / 1e6:.0f} MB: {peak < limit}")
    sys.exit(failed)


main(sys.argv[1:])
