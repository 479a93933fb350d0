"""Runs models of one operator on sizes drawn at random, and compares with ONNX Runtime and the reference evaluator.

    python ui-tests/sizes/sizes.py --seed 7 --minutes 10      random models of the conformance fixtures, random sizes
    python ui-tests/sizes/sizes.py --seed 7 --folder F --sizes 8     the same models, other sizes; F is built once
    python ui-tests/sizes/sizes.py --record                   writes sizes.tar.xz, which `cargo test` repeats

Needs onnx, onnxruntime, numpy and ml_dtypes, and cargo. A model is a conformance case of one node whose inputs have open
sizes. Sizes are drawn from 0 to 9 around those of the case: equal sizes changed together, one axis changed in all inputs,
one axis of one input (so that inputs disagree), or all. Elements are drawn from those of the case, so that indices, scales
and shapes are mostly legal.

What is wrong, by kind: `differs` (other values, or values of another type or shape), `accepts` (values where both
references refuse), `refuses` (an error where ONNX Runtime computes), `panics`, `dies` (the process ended). Known
differences from both references are in `explained.toml`.
"""

import argparse
import collections
import io
import json
import os
import random
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from pathlib import Path

import numpy as np

from models import ROOT, cases, chosen, compiled, drawn, pinned, written, PINNED
from references import Oracle

HERE = Path(__file__).resolve().parent
# Elements of all values of a recorded run.
MOST_RECORDED = 160
RUNS_RECORDED = 4
TURNS_RECORDED = 8


def described(name, value, elements):
    if isinstance(value, list):
        return {"name": name, "sequence": [described("", item, elements) for item in value]}
    entry = {"name": name, "shape": list(value.shape)}
    if value.dtype == object:
        entry["strings"] = [text if isinstance(text, str) else text.decode() for text in value.reshape(-1)]
    else:
        entry["dtype"] = value.dtype.name
        elements.write(np.ascontiguousarray(value).tobytes())
    return entry


def encoded(values):
    elements = io.BytesIO()
    entries = [described(name, value, elements) for name, value in values.items()]
    return json.dumps(entries).encode() + b"\n" + elements.getvalue()


def record(model, inputs, expected, may_fail):
    label = " ".join(f"{name}{list(value.shape)}" for name, value in inputs.items())
    given = encoded(inputs)
    wanted = None if expected is None else encoded(expected)
    head = {"model": model.name, "label": label, "inputs": len(given),
            "expected": None if wanted is None else len(wanted), "may_fail": may_fail}
    return json.dumps(head).encode() + b"\n" + given + (wanted or b""), label


class Server:
    """The compiled models."""

    def __init__(self, program):
        self.program, self.process = program, None

    def ask(self, run):
        if self.process is None:
            self.process = subprocess.Popen([self.program, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.process.stdin.write(run)
            self.process.stdin.flush()
            line = self.process.stdout.readline()
            if line:
                return json.loads(line)
        except OSError:
            pass
        code = self.process.wait()
        self.process = None
        return {"kind": "dies", "problem": f"exit status {code}"}


def build(folder):
    """The test program with the models of a folder."""
    run = subprocess.run(["cargo", "test", "-p", "onnx-embed-sizes", "--no-run", "--message-format", "json"], cwd=ROOT,
                         env={**os.environ, "SIZES_FROM": str(folder)}, stdout=subprocess.PIPE, check=True)
    lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith(b"{")]
    return next(line["executable"] for line in lines
                if line.get("executable") and line["target"]["name"] == "sizes")


def judged(model, inputs, oracle, server):
    """The answer of our model, and the run as it would be recorded."""
    bytes_of = model.proto.SerializeToString(deterministic=True)
    names = [output.name for output in model.proto.graph.output]
    kind, values = oracle.ask(bytes_of, inputs, "ort")
    named = lambda values: dict(zip(names, values))

    def evaluated():
        if not model.trusts_evaluator(oracle):
            return "unloadable", "it is wrong about the case itself"
        kind, values = oracle.ask(bytes_of, inputs, "reference")
        values = model.plausible(values) if kind == "values" else values
        return ("unloadable", "outputs of other types") if values is None else (kind, values)

    if kind == "values":
        run, label = record(model, inputs, named(values), False)
        answer = server.ask(run)
        if answer["kind"] in ("differs", "refuses"):
            kind, values = evaluated()
            by_text = kind == "refused" and answer["kind"] == "refuses"
            if kind == "values" and answer["kind"] == "differs":
                other, label = record(model, inputs, named(values), False)
                if server.ask(other)["kind"] == "right":
                    return {"kind": "right", "problem": "as the reference evaluator, not as ONNX Runtime"}, other, label
            if by_text:
                answer["problem"] += f" (the reference evaluator refuses it too: {values})"
        return answer, run, label
    if kind == "died":
        run, label = record(model, inputs, None, True)
        answer = server.ask(run)
        return (answer if answer["kind"] in ("panics", "dies") else {"kind": "right"}), None, label
    problem = values
    kind, values = evaluated()
    if kind == "values":
        run, label = record(model, inputs, named(values), True)
    elif kind == "refused":
        run, label = record(model, inputs, None, True)
    else:
        # Neither reference has the operator.
        run, label = record(model, inputs, None, True)
        answer = server.ask(run)
        return (answer if answer["kind"] in ("panics", "dies") else {"kind": "right"}), None, label
    answer = server.ask(run)
    if answer["kind"] != "right":
        answer["problem"] += f" (ONNX Runtime: {problem[-150:]}; evaluator: {values if kind != 'values' else kind})"
    return answer, run, label


def has_dot_products():
    """Whether the processor multiplies bytes without saturation (VNNI)."""
    cpuinfo = Path("/proc/cpuinfo")
    return not cpuinfo.exists() or "vnni" in cpuinfo.read_text()


def near(problem, most):
    """Whether a problem names two numbers that differ by at most `most`."""
    number = r"(?:Some\()?(-?[\d.]+(?:e-?\d+)?)\)?"
    found = re.search(f": {number}, expected {number}", problem)
    return bool(found) and abs(float(found[1]) - float(found[2])) <= most


def explained(model, label, answer, known):
    for entry in known:
        if entry.get("without_vnni") and has_dot_products():
            continue
        if re.fullmatch(entry["operator"], model.operator[1]) and answer["kind"] in entry["kinds"] and \
                re.search(entry.get("problem", ""), answer["problem"]) and re.search(entry.get("inputs", ""), label) and \
                re.search(entry.get("case", ""), model.case) and \
                ("within" not in entry or near(answer["problem"], entry["within"])):
            return True
    return False


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--sizes", type=int, help="the seed of sizes and elements, if not that of the models")
    arguments.add_argument("--minutes", type=float, default=5)
    arguments.add_argument("--models", type=int, default=300)
    arguments.add_argument("--only", default="", help="a regular expression of operators")
    arguments.add_argument("--folder", type=Path, help="where the models are written, which a second run with it finds built")
    arguments.add_argument("--record", action="store_true")
    options = arguments.parse_args()
    draw = random.Random(options.seed)
    known = tomllib.loads((HERE / "explained.toml").read_text()).get("difference", [])
    found = {operator: names for operator, names in cases().items() if re.search(options.only, operator[1])}
    folder = options.folder or Path(tempfile.mkdtemp(prefix="sizes-"))
    taken = chosen(found, draw, len(found) if options.record else options.models)
    if options.record:
        known_cases = {case for _, case in taken}
        taken += [(operator, case) for operator, names in sorted(found.items()) for case in sorted(names)
                  if case in PINNED and case not in known_cases]
    models = written(found, taken, folder)
    program = build(folder)
    models = list(compiled(models, program))
    print(f"{len(models)} models of {len({model.operator for model in models})} operators in {folder}", flush=True)
    draw = random.Random(options.seed if options.sizes is None else options.sizes)
    server, ask = Server(program), Oracle()
    kinds, shown, kept = collections.Counter(), collections.Counter(), collections.defaultdict(list)
    for model in models if options.record else ():
        for inputs in pinned(model):
            answer, run, label = judged(model, inputs, ask, server)
            kinds[answer["kind"]] += 1
            if answer["kind"] == "right" and run is not None:
                kept[model.name].append(run)
            else:
                print(f"pinned: {model.name} {model.case} {label}: {answer}", flush=True)
    end = time.monotonic() + 60 * options.minutes
    turn = 0
    while time.monotonic() < end or (options.record and turn < TURNS_RECORDED):
        turn += 1
        if options.record and all(len(kept[model.name]) >= RUNS_RECORDED for model in models) or turn > 10000:
            break
        for model in models:
            if options.record and (len(kept[model.name]) >= RUNS_RECORDED or turn > TURNS_RECORDED):
                continue
            inputs = drawn(model, draw)
            if inputs is None:
                continue
            answer, run, label = judged(model, inputs, ask, server)
            kind = answer["kind"]
            if kind != "right" and explained(model, label, answer, known):
                kind = "explained"
            kinds[kind] += 1
            small = sum(value.size for value in inputs.values()) <= MOST_RECORDED
            if kind == "right" and run is not None and small:
                kept[model.name].append(run)
            if kind not in ("right", "explained"):
                shown[model.name, kind] += 1
                if shown[model.name, kind] <= 2:
                    print(f"{kind}: {model.name} {model.case} {label}: {answer['problem'][:500]}", flush=True)
            if time.monotonic() > end and not options.record:
                break
    if options.record:
        write(models, kept)
    print(", ".join(f"{count} {kind}" for kind, count in kinds.most_common()))
    sys.exit(any(kind not in ("right", "explained") for kind in kinds))


def write(models, kept):
    """sizes.tar.xz, the same bytes for the same runs."""
    path = HERE / "sizes.tar.xz"
    with tarfile.open(path, "w:xz", format=tarfile.USTAR_FORMAT, preset=9) as archive:
        for model in models:
            for file, data in (("model.onnx", model.proto.SerializeToString(deterministic=True)),
                               ("runs", b"".join(kept[model.name]))):
                info = tarfile.TarInfo(f"{model.name}/{file}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    print(f"{path.name}: {len(models)} models, {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
