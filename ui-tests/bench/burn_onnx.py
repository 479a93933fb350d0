"""Programs of burn-onnx for `bench.py`: its source for a model, and around it what calls it with the model's types."""

import json
import re
import subprocess

import onnx

import engines

SOURCES = engines.HERE / "burn"


def build(models):
    """The seconds that each model's program took, by id, and why others have none."""
    folder = engines.TARGET / "burn"
    engines.write_package(folder / "import", SOURCES / "import", {})
    engines.write_workspace(folder, ["import"])
    engines.cargo(["build", "--release", "--package", "bench-burn-import"], folder)
    failures, made = {}, []
    for model in models:
        try:
            write_program(folder / model.id, model)
            made.append(model)
        except engines.Failed as problem:
            failures[model.id] = str(problem)
    engines.write_workspace(folder, ["import", *(model.id for model in made)])
    seconds, others = engines.build_each("bench-burn", made, folder)
    return seconds, failures | others


def write_program(home, model):
    importer = engines.TARGET / "target/release/bench-burn-import"
    source = home / "model" / f"{model.id}.rs"
    if not source.is_file():
        words = [importer, model.path, source.parent]
        done = subprocess.run(words, capture_output=True, text=True, errors="replace")
        if done.returncode or not source.is_file():
            raise engines.Failed(last_words(done.stderr + done.stdout))
    inputs, outputs = signature(source.read_text())
    graph = onnx.load(str(model.path), load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    read = [value.name for value in graph.input if value.name not in constants]
    written = [value.name for value in graph.output]
    if len(read) != len(inputs) or len(written) != len(outputs):
        raise engines.Failed(f"takes {len(inputs)} inputs and gives {len(outputs)} outputs")
    words = {
        "ID": model.id,
        "BENCH": engines.HERE,
        "INPUTS": listed(inputs),
        "OUTPUTS": listed(outputs),
        "READ": listed(f"Input::read(values, {json.dumps(name)})?" for name in read),
        "PASS": ", ".join(f"inputs.{place}" for place in range(len(read))),
        "GIVE": "outputs" if len(written) > 1 else "(outputs,)",
        "WRITE": ", ".join(f"outputs.{place}.write({json.dumps(name)})?" for place, name in enumerate(written)),
    }
    engines.write_package(home, SOURCES, words)


def last_words(text):
    lines = [line for line in text.splitlines() if line.strip()]
    at = next((line for line in range(len(lines)) if "panicked at" in lines[line]), len(lines) - 2)
    return " ".join(lines[at + 1 : at + 2])[:300] or "burn-onnx wrote nothing"


def signature(source):
    """The types that `Model::forward` takes and gives."""
    text = source[source.rindex("impl Model {") :]
    found = re.search(r"pub fn forward\(\s*&self,?(.*?)\)\s*->\s*(.*?)\s*\{", text, re.DOTALL)
    if not found:
        raise engines.Failed("burn-onnx wrote no `forward`")
    inputs = [parameter.split(":", 1)[1].strip() for parameter in parts(found[1])]
    given = found[2]
    return inputs, parts(given[1:-1]) if given.startswith("(") else [given]


def parts(text):
    """What stands between the commas that are in no brackets."""
    found, depth, last = [], 0, ""
    for letter in text:
        depth += (letter in "<[(") - (letter in ">])")
        if letter == "," and depth == 0:
            found.append(last)
            last = ""
        else:
            last += letter
    return [part.strip() for part in [*found, last] if part.strip()]


def listed(items):
    return "".join(f"{item}, " for item in items).strip()
