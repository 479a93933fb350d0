"""Runs a model with ONNX Runtime, for `cargo onnx-embed record` and `verify --bisect`.

reference.py MODEL INPUTS OUTPUT [--all]

INPUTS is a file of values as `wire.rs` writes it, OUTPUT an npz with `in/NAME` and `out/NAME`. With --all every
value of the graph is an output. The last line of stderr is the error; exit code 3 means that a package is missing.
"""

import json
import sys
import tempfile
from pathlib import Path

try:
    import numpy
    import onnxruntime
    if "--all" in sys.argv:
        import onnx
except ImportError as error:
    sys.exit(print(f"{sys.executable} lacks the package `{error.name}`", file=sys.stderr) or 3)


def values(path):
    """The arrays of a file: a line of JSON, then the elements of all of them."""
    line, _, elements = Path(path).read_bytes().partition(b"\n")
    arrays, start = {}, 0
    for entry in json.loads(line):
        if "strings" in entry:
            array = numpy.array(entry["strings"], dtype=object).reshape(entry["shape"])
        else:
            dtype = numpy.dtype(entry["dtype"])
            count = int(numpy.prod(entry["shape"], dtype=numpy.int64))
            array = numpy.frombuffer(elements, dtype, count, start).reshape(entry["shape"])
            start += count * dtype.itemsize
        arrays[entry["name"]] = array
    return arrays


def flat(name, value):
    """A tensor as it is; a map, or a sequence of maps, as its keys and rows of values."""
    if isinstance(value, numpy.ndarray):
        return {name: value.astype(str) if value.dtype == object else value}
    rows = value if isinstance(value, list) else [value]
    if not rows or not all(isinstance(row, dict) for row in rows):
        sys.exit(f"output `{name}` cannot be recorded, expected a tensor or maps")
    keys = sorted(rows[0])
    numbers = numpy.array([[row[key] for key in keys] for row in rows], numpy.float32)
    return {f"{name}#keys": numpy.array(keys), f"{name}#vals": numbers}


def with_all_outputs(path, folder):
    """Writes a copy of the model next to its external data, with every value of its graph as an output."""
    model = onnx.load(path, load_external_data=False)
    known = {output.name for output in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in known:
                known.add(name)
                model.graph.output.append(onnx.ValueInfoProto(name=name))
    copy = Path(folder) / Path(path).name
    for file in Path(path).parent.iterdir():
        if file.name != copy.name and file.is_file():
            (Path(folder) / file.name).symlink_to(file.resolve())
    onnx.save(model, str(copy))
    return copy


def run(path, feed, everything):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    # On x86 without VNNI, sums of products of unsigned and signed bytes saturate at 16 bits without this.
    options.add_session_config_entry("session.x64quantprecision", "1")
    if everything:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    arrays = {}
    for name, value in zip(names, session.run(names, feed)):
        if everything and not isinstance(value, numpy.ndarray):
            continue
        arrays.update(flat(name, value))
    return arrays


def main(model, inputs, output, *options):
    feed = values(inputs)
    with tempfile.TemporaryDirectory() as folder:
        everything = "--all" in options
        found = run(with_all_outputs(model, folder) if everything else model, feed, everything)
    arrays = {f"in/{name}": value.astype(str) if value.dtype == object else value for name, value in feed.items()}
    arrays |= {f"out/{name}": value for name, value in found.items()}
    with open(output, "wb") as file:
        numpy.savez_compressed(file, **arrays)


main(*sys.argv[1:])
