"""The programs that `bench.py` times: how they are built and talked to."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "bench"
# Engines for boosted trees only, which run if they are named.
BOOSTED = {"library": "LightGBM or XGBoost", "lleaves": "lleaves"}
# Scripts of the engines that are called from Python. They have no program of their own.
FROM_PYTHON = {"ort": "ort.py", "openvino": "open_vino.py"} | dict.fromkeys(BOOSTED, "boosted.py")
# Engines with whose outputs those of the others are compared: the first one that runs.
REFERENCES = ("ort", "web")
# Engines whose outputs are not compared.
UNCOMPARED = {"ort", *BOOSTED}
NAMES = {
    "ort": "ONNX Runtime",
    "ours": "onnx-embed",
    "openvino": "OpenVINO",
    "tract": "tract",
    "rten": "rten",
    "burn": "burn-onnx",
} | BOOSTED
# The engine of `bench.py --wasm` beside ours.
NAMES["web"] = "onnxruntime-web"
# Engines that run if nothing else is said.
USUAL = [name for name in NAMES if name not in {"web", *BOOSTED}]

# The checkouts of this project that programs are built from, by engine: `bench.py --before` adds one.
CHECKOUTS = {"ours": ROOT}

# What cargo compiles programs of checkouts for, if not for this machine: `bench.py --wasm` names WASI.
FOR = []
WASI = "wasm32-wasip1"


class Failed(Exception):
    """Why a program does not run a model, in a line."""


def build_peers(engines):
    if "web" in engines:
        install_web()
    if {"tract", "rten"} & set(engines):
        cargo(["build", "--release", "--workspace"], HERE)


def install_web():
    """The folder of onnxruntime-web, which npm installs."""
    folder = TARGET / "web/npm"
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "package.json", (HERE / "web/package.json").read_text())
    words = ["npm", "install", "--no-fund", "--no-audit", "--ignore-scripts"]
    subprocess.run(words, cwd=folder, check=True, stdout=sys.stderr)
    return folder / "node_modules/onnxruntime-web"


def build_checkout(engine, models):
    """Programs of a checkout for the models, by their id: the seconds that each took, without what they share."""
    folder, checkout = TARGET / engine, CHECKOUTS[engine]
    members = []
    for model in models:
        words = {"ID": model.id, "BENCH": HERE, "ROOT": checkout, "MODEL": model.path}
        write_package(folder / model.id, HERE / "ours", words)
        members.append(model.id)
    write_workspace(folder, members, checkout)
    target = target_of(engine)
    cargo(["build", "--release", *FOR, "--package", "bench-protocol", "--package", "onnx-embed"], folder, target)
    return build_each("bench", models, folder, target, FOR)


def for_wasi():
    """Programs of checkouts are compiled for WASI from here on, with its SIMD, and run in node."""
    FOR.extend(["--target", WASI])
    os.environ["CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS"] = "-C target-feature=+simd128"


def target_of(engine):
    """Where the programs of an engine are built: packages of two checkouts have one name."""
    return TARGET / ("target-before" if engine == "before" else "target")


def build_each(prefix, models, folder, target=TARGET / "target", words=()):
    seconds, failures = {}, {}
    for model in models:
        start = time.perf_counter()
        try:
            cargo(["build", "--release", *words, "--package", f"{prefix}-{model.id}"], folder, target)
            seconds[model.id] = time.perf_counter() - start
        except Failed as problem:
            failures[model.id] = str(problem)
    return seconds, failures


def write_workspace(folder, members, checkout=ROOT):
    write(folder / "Cargo.toml", f'[workspace]\nresolver = "3"\nmembers = {json.dumps(members)}\n')
    write(folder / "Cargo.lock", (checkout / "Cargo.lock").read_text(), unless_there=True)


def write_package(home, sources, words):
    """A package of the texts in `sources`, in which words between `@` stand for others."""
    (home / "src").mkdir(parents=True, exist_ok=True)
    for source, to in (("Cargo.toml.in", "Cargo.toml"), ("main.rs.in", "src/main.rs")):
        text = (sources / source).read_text()
        for word, value in words.items():
            text = text.replace(f"@{word}@", str(value))
        write(home / to, text)


def write(path, text, unless_there=False):
    if path.is_file() and (unless_there or path.read_text() == text):
        return
    path.write_text(text)


def cargo(words, folder, target=TARGET / "target"):
    environment = os.environ | {"CARGO_TARGET_DIR": str(target)}
    done = subprocess.run(["cargo", *words], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("error")]
        raise Failed(lines[0] if lines else done.stderr[-400:])


def program(engine, model):
    if engine in FROM_PYTHON:
        return [sys.executable, str(HERE / FROM_PYTHON[engine]), *([engine] if engine in BOOSTED else [])]
    if engine == "web":
        module = TARGET / "web/npm/node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.wasm"
        return ["node", str(HERE / "ort_web.mjs"), str(module)]
    if engine in CHECKOUTS and FOR:
        path = target_of(engine) / WASI / "release" / f"bench-{model.id}.wasm"
        return ["node", "--no-warnings", str(HERE / "wasm.mjs"), str(path)]
    names = dict.fromkeys(CHECKOUTS, f"bench-{model.id}") | {"burn": f"bench-burn-{model.id}"}
    return [str(target_of(engine) / "release" / names.get(engine, f"bench-{engine}"))]


def bytes_of(engine, model):
    """The size of the program without symbols."""
    path = Path(program(engine, model)[-1])
    if path.suffix == ".wasm":
        return path.stat().st_size
    stripped = path.with_suffix(".stripped")
    subprocess.run(["strip", "-o", stripped, path], check=True)
    size = stripped.stat().st_size
    stripped.unlink()
    return size


def read_anew(engine, model):
    """Lets what runs next read the program and the model from the disk, as where they are installed.

    Pages that a linker has written are larger, and a fault maps all of one: up to a seventh of a program's memory.
    """
    files = [word for word in program(engine, model) if Path(word).is_file()]
    for path in {Path(files[-1]), model.path}:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Running:
    """An engine that has loaded a model."""

    def __init__(self, engine, model, inputs, outputs, threads):
        count = str(threads)
        environment = os.environ | {"RAYON_NUM_THREADS": count, "RTEN_NUM_THREADS": count}
        words = [*program(engine, model), str(model.path), str(inputs), str(outputs), count]
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        self.loaded = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        try:
            answer = json.loads(line)
        except json.JSONDecodeError:
            self.process.kill()
            messages = self.process.stderr.read().strip().splitlines()
            raise Failed(messages[-1][:300] if messages else "died") from None
        if "problem" in answer:
            self.process.kill()
            raise Failed(answer["problem"])
        return answer

    def round(self, seconds):
        return self.asked(f"{seconds}")

    def idle(self, seconds):
        return self.asked(f"idle {seconds}")

    def asked(self, line):
        try:
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            # The answer says why.
            pass
        return self.answer()

    def end(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
