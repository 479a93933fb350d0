"""Times models in ONNX Runtime, tract, rten, burn-onnx and onnx-embed, and writes the tables of BENCHMARKS.md.

    python ui-tests/bench/bench.py [--write] [--threads 1,2] [--engines ort,ours] [id..]
    python ui-tests/bench/bench.py --before ../older-checkout [--wasm] [id..]
    python ui-tests/bench/bench.py --wasm [--write] [id..]

Needs onnx, onnxruntime and numpy, and cargo. All engines have the model loaded at once, with each count of threads, and
take turns, so that what else the machine does meets all of them. With `--before` the engines are this checkout and
another one of this project, and the table has the times of both. With `--wasm` programs of this project are for WASI with
SIMD and run in node, with one thread, beside onnxruntime-web: eight models, unless some are named.
"""

import argparse
import json
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from statistics import median

import numpy
import onnx

import burn_onnx
import engines
import tables
import values
import wasm_table

sys.path.insert(0, str(engines.ROOT / "ui-tests/models"))
import record  # noqa: E402

# A larger share of the largest element and an output is wrong.
WRONG = 0.05

# Seconds between the turns of two engines: threads look for more work for a while, on the processors of the next one.
PAUSE = 0.3


class Model:
    def __init__(self, entry, fetched, recorded):
        self.id, self.kind = entry["id"], entry["kind"]
        self.name = entry.get("name", self.id)
        self.quantized = entry.get("quantized", False)
        # The size that the model is one of several rows of, and its name.
        self.grows = entry.get("grows")
        self.recorded = entry.get("from") == "recorded"
        folder = recorded if self.recorded else fetched
        self.path = (folder / self.id / f"{self.id}.onnx").absolute()
        self.entry = entry

    def inputs(self, listed):
        """Arrays by name: those that are recorded, the first rows of a table, or made as the list of models says."""
        table = self.path.with_name("rows.npz")
        if table.is_file():
            with numpy.load(table) as arrays:
                return {name: arrays[name][: self.entry["sizes"]["rows"]] for name in arrays.files}
        if not self.entry.get("sizes") and not self.entry.get("inputs"):
            return self.recorded_inputs()
        sizes = listed.get("sizes", {}) | self.entry.get("sizes", {})
        words = listed.get("inputs", {}) | self.entry.get("inputs", {})
        graph = onnx.load(str(self.path), load_external_data=False).graph
        constants = {tensor.name for tensor in graph.initializer}
        inputs = [value for value in graph.input if value.name not in constants]
        return {value.name: record.array(value, sizes, words.get(value.name, "")) for value in inputs}

    def recorded_inputs(self):
        with numpy.load(self.path.with_name("io.npz")) as arrays:
            return {name[3:]: arrays[name] for name in arrays.files if name.startswith("in/")}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--engines", type=chosen, metavar="ort,ours,..")
    arguments.add_argument("--before", type=Path, metavar="CHECKOUT", help="compare with another checkout of this project")
    arguments.add_argument("--wasm", action="store_true", help="programs for WebAssembly, in node")
    arguments.add_argument("--threads", type=counts, default=[1, 2], metavar="1,2")
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--seconds", type=float, default=0.5, help="of each engine in each round")
    arguments.add_argument("--fetched", type=Path, default=engines.TARGET.parent / "models", metavar="FOLDER")
    arguments.add_argument("--recorded", type=Path, default=engines.ROOT / "../shared/models", metavar="FOLDER")
    arguments.add_argument("--results", type=Path, default=engines.TARGET / "results.json", metavar="FILE")
    arguments.add_argument("--growth", choices=["with", "without", "only"], default="with", help="rows of growing sizes")
    arguments.add_argument("--idle", type=float, metavar="SECONDS", help="measure the memory after a rest")
    arguments.add_argument("--write", action="store_true", help="write the tables into BENCHMARKS.md")
    arguments.add_argument("ids", nargs="*", help="only these models")
    options = arguments.parse_args()
    if options.before:
        engines.CHECKOUTS["before"] = options.before.resolve()
        options.engines = [*(options.engines or ["ours"]), "before"]
    options.engines = options.engines or (["ours", "web"] if options.wasm else engines.USUAL)
    if options.write and options.before:
        sys.exit("BENCHMARKS.md has no table for --before")
    if options.wasm:
        engines.for_wasi()
        options.threads = [1]

    entries = tomllib.loads((engines.HERE / "models.toml").read_text())
    entries = entries["models"] + [row for entry in entries["growth"] for row in grown(entry)]
    entries = [entry for entry in entries if options.growth == "with" or ("grows" in entry) == (options.growth == "only")]
    models = [Model(entry, options.fetched, options.recorded) for entry in entries]
    if options.wasm and not options.ids:
        models = [model for model in models if model.entry.get("wasm")]
    models = [model for model in models if not options.ids or model.id in options.ids]
    for model in models:
        if not model.path.is_file():
            print(f"skipped: {model.path} is not there", file=sys.stderr)
    models = [model for model in models if model.path.is_file()]
    seconds, failures = prepare(models, options.engines)
    packages = tomllib.loads((engines.ROOT / "ui-tests/models/fetched.toml").read_text())["packages"]
    listed = {model["id"]: model for package in packages for model in package["models"]}

    rows = []
    for model in models:
        inputs = model.inputs(listed.get(model.id, {}))
        for row in measure(model, inputs, options, failures):
            row["build_s"] = seconds.get(model.id)
            rows.append(row)
            print(tables.line(row), flush=True)
    engines.TARGET.mkdir(parents=True, exist_ok=True)
    options.results.write_text(json.dumps(rows, indent=1))
    if options.before:
        print(tables.changes(rows))
    else:
        print(wasm_table.table(rows) if options.wasm else tables.summary(rows, options.engines))
    if tabular := [row for row in rows if row["kind"] == "classical"]:
        print(tables.classical(tabular, options.engines))
    if options.write and options.wasm:
        wasm_table.into(engines.ROOT / "BENCHMARKS.md", rows)
    elif options.write:
        tables.into(engines.ROOT / "BENCHMARKS.md", rows, options.engines)


def chosen(text):
    if unknown := set(text.split(",")) - engines.NAMES.keys():
        raise argparse.ArgumentTypeError(f"there is no engine {', '.join(sorted(unknown))}")
    return text.split(",")


def counts(text):
    return [int(count) for count in text.split(",")]


def grown(entry):
    """A row for each model and each size of the dimension that has several."""
    name, sizes = next((name, sizes) for name, sizes in entry["sizes"].items() if isinstance(sizes, list))
    for model in entry.get("ids") or [entry["id"]]:
        for size in sizes:
            yield entry | {"id": model, "sizes": entry["sizes"] | {name: size}, "grows": [entry["grows"], size]}


def prepare(models, names):
    """The seconds that each program of ours took to build, and why there is none, by engine and model."""
    models = list({model.id: model for model in models}.values())
    engines.build_peers(names)
    failures, seconds = {}, {}
    for engine in reversed(engines.CHECKOUTS):
        if engine in names:
            seconds, failures[engine] = engines.build_checkout(engine, models)
    if "burn" in names:
        failures["burn"] = burn_onnx.build(models)[1]
    return seconds, failures


def measure(model, inputs, options, failures):
    """What each engine takes for a model with each count of threads, or why it does not run it: a row for each count."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        values.write(folder / "inputs", inputs)
        starts = {threads: start(model, folder, threads, options, failures) for threads in options.threads}
    running = [(threads, engine) for threads in starts for engine in starts[threads][0]]
    rounds = {key: [] for key in running}
    for number in range(options.rounds):
        # Each second round in the other order: what an engine leaves in the caches meets both neighbors.
        for threads, engine in running[:] if number % 2 == 0 else running[::-1]:
            processes, results = starts[threads]
            try:
                time.sleep(PAUSE)
                rounds[threads, engine].append(processes[engine].round(options.seconds))
            except engines.Failed as problem:
                results[engine] = {"problem": str(problem)}
                running.remove((threads, engine))
    if options.idle:
        for threads, engine in running:
            processes, results = starts[threads]
            results[engine] |= processes[engine].idle(options.idle)
    for threads, engine in running:
        processes, results = starts[threads]
        processes[engine].end()
        results[engine] |= figures(rounds[threads, engine], threads)
        if engine not in engines.FROM_PYTHON:
            results[engine]["program_bytes"] = engines.bytes_of(engine, model)
        results[engine]["wrong"] = bool(results[engine].get("distance", 0.0) > WRONG)
    weights = sum(file.stat().st_size for file in model.path.parent.iterdir() if file.suffix != ".npz")
    about = {"model": model.name, "kind": model.kind, "quantized": model.quantized, "grows": model.grows}
    about["weights_bytes"] = weights
    return [about | {"threads": threads, "engines": results} for threads, (_, results) in starts.items()]


def start(model, folder, threads, options, failures):
    """The engines that have loaded a model, and what each says of it."""
    running, results = {}, {}
    for engine in options.engines:
        try:
            if problem := failures.get(engine, {}).get(model.id):
                raise engines.Failed(problem)
            called = engine, model, folder / "inputs", folder / engine, threads
            engines.read_anew(engine, model)
            engines.Running(*called).end()
            time.sleep(PAUSE)
            running[engine] = engines.Running(*called)
            results[engine] = dict(running[engine].loaded)
        except engines.Failed as problem:
            results[engine] = {"problem": str(problem)}
    reference = next((engine for engine in engines.REFERENCES if engine in running), None)
    expected = values.read(folder / reference) if reference else None
    for engine in running:
        if expected is not None and engine not in {reference, *engines.UNCOMPARED}:
            results[engine]["distance"] = values.distance(values.read(folder / engine), expected)
    return running, results


def figures(rounds, threads):
    key = "cpu_ms" if threads == 1 else "median_ms"
    return {
        "ms": median(round[key] for round in rounds),
        "wall_ms": median(round["median_ms"] for round in rounds),
        "least_ms": min(round["least_ms"] for round in rounds),
        "faults": median(round["faults"] for round in rounds),
        "peak_bytes": rounds[-1]["peak_bytes"],
    }


if __name__ == "__main__":
    main()
