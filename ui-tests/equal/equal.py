"""Compares the bits of deterministic models on several processors.

    python ui-tests/equal/equal.py FOLDER [id..]            # all models of `models.txt` in a folder, or some
    python ui-tests/equal/equal.py FOLDER --time 0.2        # also how long they take beside plain ones
    python ui-tests/equal/equal.py FOLDER --targets native  # without programs for 64-bit Arm and WebAssembly

A model of FOLDER has a folder of its own, with a .onnx file and io.npz. Each is compiled with `#[onnx(deterministic)]` for this
machine, for 64-bit Arm, which QEMU emulates, and for WebAssembly with SIMD, in node. Its outputs must have the same bits with
AVX-512, AVX2, Neon, simd128 and portable code, with 1, 2 and 4 threads, and a row of a batch of eight those of the row alone.

Needs numpy and onnx, and on Debian qemu-user-static, gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and nodejs.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy
import onnx

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute() / "equal"

DTYPES = {
    "float32": "F32",
    "float64": "F64",
    "float16": "F16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
    "bool": "Bool(onnx_embed::burn::tensor::BoolStore::Native)",
}

# Rows of a batch, and the one that is compared.
ROWS, ROW = 8, 3

# Settings by target: what the environment holds, and numbers of threads.
SETTINGS = {
    "native": [("avx512", [1, 2, 4]), ("avx2", [1, 2]), ("portable", [1, 2])],
    "aarch64-unknown-linux-gnu": [("neon", [1])],
    "wasm32-wasip1": [("simd128", [1])],
}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("ids", nargs="*")
    arguments.add_argument("--targets", default=",".join(SETTINGS), help="some of " + ", ".join(SETTINGS))
    arguments.add_argument("--time", type=float, metavar="SECONDS", help="of each turn")
    arguments = arguments.parse_args()
    lines = [line.split() for line in (HERE / "models.txt").read_text().splitlines()]
    # Rows of these models are computed together.
    together = {id for id, *word in lines if word == ["together"]}
    ids = arguments.ids or [id for id, *_ in lines]
    models = [read(arguments.folder / id, id not in together) for id in ids]
    write(models, bool(arguments.time))
    found, problems = {}, []
    for target in arguments.targets.split(","):
        try:
            program = build(target)
        except subprocess.CalledProcessError as failure:
            problems.append(f"{target}: {failure}")
            continue
        for name, threads in SETTINGS[target]:
            try:
                lines = run(program, target, name, [str(count) for count in threads])
            except subprocess.CalledProcessError as failure:
                problems.append(f"{name}: {(failure.stderr or '')[-2000:]}")
                continue
            for line in lines:
                model, case, output, count, digest = line.split(" ")
                key = (model, output, "one row" if case in ("row", "batch") else case)
                found.setdefault(key, {})[f"{name}, {count} threads, {case}"] = digest
    equal = report(found, len(models))
    for problem in problems:
        print(problem)
    if arguments.time:
        print("\nmodel, ms plain, ms deterministic, ratio")
        lines = run(TARGET / "release/equal", "native", "avx512", ["time", str(arguments.time)])
        print("\n".join(lines))
        ratios = sorted(float(line.split(" ")[3]) for line in lines)
        mean = numpy.exp(numpy.mean(numpy.log(ratios)))
        print(f"geometric mean {mean:.3f}, median {ratios[len(ratios) // 2]:.3f}, greatest {ratios[-1]:.3f}")
    sys.exit(0 if equal and not problems else 1)


def read(folder, divides):
    """Path, name, and cases of a model: names and arrays of its inputs."""
    files = sorted(folder.glob("*.onnx"))
    if not files or not (folder / "io.npz").is_file():
        sys.exit(f"{folder} has no .onnx file and io.npz")
    with numpy.load(folder / "io.npz") as arrays:
        inputs = {name[3:]: arrays[name] for name in arrays.files if name.startswith("in/")}
    if any(str(array.dtype) not in DTYPES for array in inputs.values()):
        sys.exit(f"{folder.name} has inputs of other types than numbers and booleans")
    cases = {"all": (inputs, None)}
    graph = onnx.load(str(files[0]), load_external_data=False).graph
    if divides:
        cases |= rows(graph, inputs)
    return files[0].absolute(), re.sub(r"\W", "_", folder.name), cases


def rows(graph, inputs):
    """A row alone, and among others, if all inputs and outputs begin with an axis of the same name."""
    ports = [port for port in graph.input if port.name in inputs] + list(graph.output)
    names = {port.type.tensor_type.shape.dim[0].dim_param if port.type.tensor_type.shape.dim else "" for port in ports}
    if len(names) != 1 or "" in names or any(array.ndim == 0 or not len(array) for array in inputs.values()):
        return {}
    random = numpy.random.default_rng(1)
    batch = {}
    for name, array in inputs.items():
        others = [array[:1].copy() for _ in range(ROWS)]
        for at, other in enumerate(others):
            if at != ROW and array.dtype.kind == "f":
                other *= random.uniform(0.5, 1.5, other.shape).astype(array.dtype)
        batch[name] = numpy.concatenate(others)
    alone = {name: array[:1] for name, array in inputs.items()}
    return {"row": (alone, None), "batch": (batch, [ROW, ROWS])}


def write(models, plain):
    """The sources of the program."""
    folder = TARGET / "program"
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "inputs").mkdir(exist_ok=True)
    lines, subjects = [], []
    for path, name, cases in models:
        for kind, option in [("exact", "#[onnx(deterministic)]"), ("plain", "")][: 1 + plain]:
            lines.append(f"mod {kind}_{name} {{ onnx_embed::onnx_model! {{ {option} pub struct Model = {quoted(path)}; }} }}")
        of_plain = f"Some({loader('plain', name)})" if plain else "None"
        listed = []
        for case, (inputs, row) in cases.items():
            values = []
            for at, (port, array) in enumerate(inputs.items()):
                file = folder / "inputs" / f"{name}.{case}.{at}"
                file.write_bytes(numpy.ascontiguousarray(array).tobytes())
                dtype = f"DType::{DTYPES[str(array.dtype)]}"
                sizes = ", ".join(map(str, array.shape))
                bytes = f"include_bytes!({quoted(file)})"
                values.append(f"Input {{ name: {quoted(port)}, dtype: {dtype}, sizes: &[{sizes}], bytes: {bytes} }}")
            row = f"Some({row})" if row else "None"
            listed.append(f"Case {{ name: {quoted(case)}, row: {row}, inputs: &[{', '.join(values)}] }}")
        load = loader("exact", name)
        cases = ", ".join(listed)
        subjects.append(f"Subject {{ name: {quoted(name)}, load: {load}, plain: {of_plain}, cases: &[{cases}] }},")
    table = ["static SUBJECTS: &[Subject] = &[", *subjects, "];"]
    code = "\n".join([(HERE / "program.rs").read_text(), *lines, *table, ""])
    (folder / "src/main.rs").write_text(code)
    (folder / "Cargo.toml").write_text(
        '[package]\nname = "equal"\nversion = "0.0.0"\nedition = "2024"\n\n'
        f"[dependencies]\nonnx-embed = {{ path = {quoted(ROOT / 'runtime')}, features = [\"deterministic\"] }}\n\n"
        "[workspace]\n"
    )
    lock = folder / "Cargo.lock"
    if not lock.exists():
        lock.write_bytes((ROOT / "Cargo.lock").read_bytes())


def loader(kind, name):
    return f"|device| boxed({kind}_{name}::Model::new(device))"


def quoted(text):
    return '"' + str(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def build(target):
    words, environment = [], dict(os.environ, CARGO_TARGET_DIR=str(TARGET))
    if target != "native":
        words = ["--target", target]
        subprocess.run(["rustup", "target", "add", target], check=True, capture_output=True)
    environment["CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER"] = "aarch64-linux-gnu-gcc"
    environment["CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS"] = "-C target-feature=+simd128"
    subprocess.run(["cargo", "build", "--release", *words], cwd=TARGET / "program", env=environment, check=True)
    suffix = ".wasm" if target.startswith("wasm") else ""
    return TARGET / ("" if target == "native" else target) / f"release/equal{suffix}"


def run(program, target, name, words):
    before = {
        "aarch64-unknown-linux-gnu": ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"],
        "wasm32-wasip1": ["node", "--no-warnings", str(ROOT / "ui-tests/bench/wasm.mjs")],
    }.get(target, [])
    environment = dict(os.environ, ONNX_EMBED_INSTRUCTIONS=name)
    done = subprocess.run([*before, str(program), *words], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def report(found, models):
    """Prints outputs that differ. Returns True if there are none, and each setting has run."""
    differing = {}
    for (model, output, case), digests in found.items():
        kinds = {}
        for setting, digest in digests.items():
            kinds.setdefault(digest, []).append(setting)
        if len(kinds) > 1:
            differing.setdefault(model, []).append((output, case, kinds))
    for model, outputs in differing.items():
        print(model)
        for output, case, kinds in outputs:
            groups = " | ".join("; ".join(settings) for settings in kinds.values())
            print(f"    {output}, {case}: {groups}")
    settings = max((len(digests) for digests in found.values()), default=0)
    batched = len({model for model, _, case in found if case == "one row"})
    print(f"{models - len(differing)} of {models} models equal in bits with {settings} settings; {batched} with batches")
    return not differing and len({model for model, _, _ in found}) == models


if __name__ == "__main__":
    main()
