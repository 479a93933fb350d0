"""Programs of compiled models: a cargo workspace of crates that call the macro, and values to and from them."""

import dataclasses
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

import ml_dtypes
import numpy as np

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
ROOT = pathlib.Path(os.environ.get("ONNX_EMBED_SCOREBOARD", CHECKOUT / "target" / "scoreboard"))
FEATURES = os.environ.get("FEATURES", "flex,regex,image").split(",")
# Models of one crate: rustc works on as many crates at a time as there are cores.
BATCH = 100
SECONDS = 600
ANSWER = "onnx-embed-runner: "
# Element types that Burn lacks travel in these, which hold them exactly.
CARRIERS = {"int2": "int8", "int4": "int8", "uint2": "uint8", "uint4": "uint8"}


@dataclasses.dataclass
class Optional:
    """An optional value, `None` where there is none."""

    value: object


@dataclasses.dataclass
class Program:
    path: pathlib.Path
    # Why models are not in it, by their keys.
    refused: dict

    def run(self, key, inputs):
        """The outputs of a model by name; an error has what the program says."""
        with tempfile.TemporaryDirectory() as folder:
            taken, given = os.path.join(folder, "in"), os.path.join(folder, "out")
            pathlib.Path(taken).write_bytes(encode(inputs))
            run = {"model": key, "device": "flex", "inputs": taken}
            request = {"run": {"run": run, "outputs": given, "seconds": None}}
            answer = subprocess.run([self.path, json.dumps(request)], capture_output=True, text=True, timeout=SECONDS,
                                    env={**os.environ, "RUST_BACKTRACE": "0"})
            if answer.returncode or ANSWER not in answer.stdout:
                raise RuntimeError(answer.stderr.strip() or f"ended with {answer.returncode}")
            return decode(pathlib.Path(given).read_bytes())


def key(data):
    """A name for a model, also as an identifier of Rust."""
    return "m_" + hashlib.sha256(data).hexdigest()[:16]


def built(name, models):
    """A program of the models, without those that the compiler refuses."""
    for each, data in models.items():
        write(ROOT / "models" / f"{each}.onnx", data)
    left, refused = sorted(models), {}
    while True:
        workspace(name, left)
        problems, errors = build(name)
        if problems is None:
            target = os.environ.get("CARGO_TARGET_DIR", ROOT / "target")
            kept = ROOT / "programs" / name
            kept.parent.mkdir(exist_ok=True)
            shutil.copy2(pathlib.Path(target) / "debug" / f"scoreboard-{name}", kept)
            return Program(kept, refused)
        if not problems:
            raise RuntimeError(errors)
        refused.update(problems)
        left = [each for each in left if each not in problems]


def workspace(name, keys):
    """Writes crates of models, a module each, and the program that links them."""
    batches = [keys[at:at + BATCH] for at in range(0, len(keys), BATCH)]
    names = [f"{name}{at}" for at in range(len(batches))]
    for crate, batch in zip(names, batches):
        folder = ROOT / crate
        write(folder / "Cargo.toml", manifest(crate, []))
        subjects = "".join(f"        {each}::subject(),\n" for each in batch)
        modules = "".join(f"mod {each};\n" for each in batch)
        write(folder / "src" / "lib.rs",
              f"{modules}\npub fn subjects() -> Vec<onnx_embed_runner::Subject> {{\n    vec![\n{subjects}    ]\n}}\n")
        for each in batch:
            path = json.dumps(str(ROOT / "models" / f"{each}.onnx"))
            write(folder / "src" / f"{each}.rs",
                  f"onnx_embed::onnx_model! {{ {path} }}\n\npub fn subject() -> onnx_embed_runner::Subject {{\n    "
                  f"onnx_embed_runner::Subject::new(\"{each}\", |device| Ok(Model::new(device)))\n}}\n")
    program = f"scoreboard-{name}"
    write(ROOT / program / "Cargo.toml", manifest(program, names))
    chained = "".join(f"    all.extend({crate}::subjects());\n" for crate in names)
    write(ROOT / program / "src" / "main.rs",
          f"fn main() -> std::process::ExitCode {{\n    let mut all = Vec::new();\n{chained}    "
          "onnx_embed_runner::main(&all)\n}\n")
    # The profile is that of the checkout for what it does not build itself, so that Burn is built once for both.
    write(ROOT / "Cargo.toml", f"[workspace]\nresolver = \"3\"\nmembers = {json.dumps([program, *names])}\n\n"
          "[profile.dev]\ndebug = false\n")
    shutil.copyfile(CHECKOUT / "Cargo.lock", ROOT / "Cargo.lock")


def manifest(name, crates):
    features = json.dumps(FEATURES)
    lines = [f"[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\npublish = false\n\n[dependencies]",
             f"onnx-embed = {{ path = {json.dumps(str(CHECKOUT / 'runtime'))}, default-features = false, "
             f"features = {features} }}",
             f"onnx-embed-runner.path = {json.dumps(str(CHECKOUT / 'ir/cli/runner'))}"]
    return "\n".join(lines + [f"{crate}.path = \"../{crate}\"" for crate in crates]) + "\n"


def build(name):
    """None, or what is said against models by their keys; and all that cargo says."""
    command = ["cargo", "build", "--keep-going", "--message-format=json", "-p", f"scoreboard-{name}"]
    environment = {"CARGO_TARGET_DIR": str(ROOT / "target"), **os.environ}
    answer = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    if answer.returncode == 0:
        return None, ""
    problems, errors = {}, []
    for line in answer.stdout.splitlines():
        message = json.loads(line).get("message") or {} if line.startswith("{") else {}
        if not isinstance(message, dict) or message.get("level") != "error":
            continue
        errors.append(message["rendered"])
        for span in message["spans"]:
            while span:
                model = pathlib.Path(span["file_name"]).stem
                if model.startswith("m_"):
                    problems.setdefault(model, message["message"])
                # A macro of the crate stands in another file than what called it.
                span = (span.get("expansion") or {}).get("span")
    return problems, "\n".join(errors) or f"cargo ends with {answer.returncode}"


def write(path, content):
    """Writes a file unless it is the same: cargo goes by the time of the last change."""
    data = content.encode() if isinstance(content, str) else content
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def encode(values):
    """A line of JSON, and the elements of all tensors in its order."""
    elements = []
    line = json.dumps([{"name": name, **entry(value, elements)} for name, value in values])
    return line.encode() + b"\n" + b"".join(elements)


def entry(value, elements):
    if isinstance(value, Optional):
        return {"optional": [] if value.value is None else [entry(value.value, elements)]}
    if isinstance(value, list):
        return {"sequence": [entry(item, elements) for item in value]}
    if value.dtype.kind in "OSU":
        texts = [text.decode() if isinstance(text, bytes) else str(text) for text in value.ravel()]
        return {"shape": value.shape, "strings": texts}
    name = value.dtype.name
    carrier = CARRIERS.get(name, "float32" if name.startswith(("float4", "float8")) else name)
    elements.append(np.ascontiguousarray(value).astype(dtype(carrier)).tobytes())
    return {"shape": value.shape, "dtype": carrier}


def decode(data):
    line, _, elements = data.partition(b"\n")
    elements = memoryview(elements)
    found = {}
    for each in json.loads(line):
        found[each["name"]], elements = value(each, elements)
    return found


def value(entry, elements):
    """The value of an entry, and the elements behind it."""
    if "sequence" in entry or "optional" in entry:
        items = []
        for item in entry.get("sequence", entry.get("optional")):
            one, elements = value(item, elements)
            items.append(one)
        return (items if "sequence" in entry else Optional(items[0] if items else None)), elements
    if "keys" in entry:
        found = {}
        for name, item in zip(entry["keys"], entry["values"]):
            found[name], elements = value(item, elements)
        return found, elements
    if "strings" in entry:
        return np.array(entry["strings"], dtype=object).reshape(entry["shape"]), elements
    kind = dtype(entry["dtype"])
    size = int(np.prod(entry["shape"], dtype=np.int64)) * kind.itemsize
    return np.frombuffer(elements[:size], kind).reshape(entry["shape"]), elements[size:]


def dtype(name):
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
