"""Compiled models: the test program of `ui-tests/sizes`, which computes what is written to it."""

import io
import json
import os
import re
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = "onnx-embed-sizes"


def build(folder, scope):
    """The program with the models of a folder, and the models that rustc refuses, which are removed from the folder.

    `scope` are the arguments of cargo that choose packages, and with them the features of dependencies.
    """
    command = ["cargo", "test", *scope, "--test", "sizes", "--no-run", "--message-format", "json"]
    refused = {}
    while True:
        run = subprocess.run(command, cwd=ROOT, env={**os.environ, "SIZES_FROM": str(folder)}, capture_output=True, text=True)
        lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
        if run.returncode == 0:
            program = next(line["executable"] for line in lines
                           if line.get("executable") and f"#{PACKAGE}@" in line["package_id"])
            return program, refused
        wrong = {}
        for line in lines:
            message = line.get("message", {})
            if line["reason"] == "compiler-message" and message["level"] == "error":
                for name in modules(message):
                    wrong.setdefault(name, message["message"])
        if not wrong:
            raise RuntimeError(run.stderr[-3000:])
        refused |= wrong
        for name in wrong:
            (folder / name).rename(folder.parent / f"refused_{name}")


def modules(message):
    """Modules of `models.rs` that an error is about."""
    spans, found = list(message["spans"]), set()
    while spans:
        span = spans.pop()
        for text in span["text"]:
            found.update(re.findall(r"^\s*mod (\w+) \{", text["text"]))
        if span.get("expansion"):
            spans.append(span["expansion"]["span"])
    return found


def encoded(values):
    """Values by name as the program reads them."""
    elements = io.BytesIO()
    entries = [entry(name, value, elements) for name, value in values.items()]
    return json.dumps(entries).encode() + b"\n" + elements.getvalue()


def entry(name, value, elements):
    if isinstance(value, list):
        return {"name": name, "sequence": [entry("", item, elements) for item in value]}
    found = {"name": name, "shape": list(value.shape)}
    if value.dtype == object:
        return found | {"strings": [text if isinstance(text, str) else text.decode() for text in value.reshape(-1)]}
    elements.write(np.ascontiguousarray(value).tobytes())
    return found | {"dtype": value.dtype.name}


def decoded(data):
    """Values by name that the program writes."""
    line, elements = data.split(b"\n", 1)
    stream = io.BytesIO(elements)
    return {found["name"]: value_of(found, stream) for found in json.loads(line)}


class Optional:
    """An optional value."""

    def __init__(self, value=None):
        self.value = value


def value_of(found, stream):
    if "sequence" in found:
        return [value_of(item, stream) for item in found["sequence"]]
    if "optional" in found:
        return Optional(*(value_of(item, stream) for item in found["optional"]))
    if "keys" in found:
        return dict(zip(found["keys"], [value_of(item, stream) for item in found["values"]]))
    if "strings" in found:
        return np.array(found["strings"], object).reshape(found["shape"])
    dtype = np.dtype(ml_dtypes.bfloat16) if found["dtype"] == "bfloat16" else np.dtype(found["dtype"])
    count = int(np.prod(found["shape"], dtype=int))
    return np.frombuffer(stream.read(count * dtype.itemsize), dtype).reshape(found["shape"])


class Server:
    """The program with a setting of the environment. It starts again after a model ends it."""

    def __init__(self, program, setting):
        self.program, self.setting, self.process = program, setting, None

    def ask(self, name, inputs):
        """Outputs by name, or what went wrong: `refuses`, `panics` or `dies`, and the text."""
        if self.process is None:
            self.process = subprocess.Popen([self.program, "--serve", "--values"], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                            env={**os.environ, **self.setting})
        given = encoded(inputs)
        head = {"model": name, "label": "", "inputs": len(given), "expected": None, "may_fail": True}
        try:
            self.process.stdin.write(json.dumps(head).encode() + b"\n" + given)
            self.process.stdin.flush()
            line = self.process.stdout.readline()
            if line:
                answer = json.loads(line)
                if answer["kind"] == "values":
                    return "values", decoded(self.process.stdout.read(answer["length"]))
                return answer["kind"], answer["problem"]
        except OSError:
            pass
        code = self.process.wait()
        self.process = None
        return "dies", f"exit status {code}"

    def end(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def compiled(program):
    """Files of the models in a program, and why others do not compile, by name."""
    ask = lambda flag: subprocess.run([program, flag], capture_output=True, text=True, check=True).stdout.splitlines()
    files = dict(line.split("\t") for line in ask("--files"))
    return files, dict(json.loads(line) for line in ask("--refused"))
