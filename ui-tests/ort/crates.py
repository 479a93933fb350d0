"""Runs published crates that use `ort` on compiled models and on ONNX Runtime, and compares their answers.

The crates are fetched from crates.io and not changed. The library is that of the package `onnxruntime` of the Python
that runs this script, or the file at ORT_DYLIB_PATH.

    python3 crates.py --files 300 --root /usr
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def cargo(package, *arguments, env=None):
    command = ["cargo", *arguments, "--manifest-path", str(HERE / package / "Cargo.toml")]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=env).stdout


def source(package, crate):
    """Returns the folder of a fetched crate."""
    for found in json.loads(cargo(package, "metadata", "--format-version", "1"))["packages"]:
        if found["name"] == crate:
            return pathlib.Path(found["manifest_path"]).parent
    sys.exit(f"{package} does not depend on {crate}")


def library():
    """Returns the path of ONNX Runtime's library."""
    if given := os.environ.get("ORT_DYLIB_PATH"):
        return given
    import onnxruntime

    folder = pathlib.Path(onnxruntime.__file__).parent / "capi"
    found = sorted(folder.glob("libonnxruntime.so.*"))
    return str(found[0]) if found else sys.exit(f"no library in {folder}")


def executable(package, name, features, env):
    """Builds a program with optimization, about five minutes, and returns the path of a copy of it."""
    lines = cargo(package, "build", "--release", *features, "--message-format", "json", env=env).splitlines()
    built = [json.loads(line).get("executable") for line in lines if line.startswith("{")]
    path = pathlib.Path(next(path for path in reversed(built) if path))
    copy = path.with_name(f"{path.name}-{name}")
    copy.write_bytes(path.read_bytes())
    copy.chmod(0o755)
    return copy


def run(program, arguments, env):
    """Returns the lines that a program prints, and its time of the processor in seconds."""
    before = os.times()
    lines = subprocess.run([program, *arguments], check=True, stdout=subprocess.PIPE, text=True, env=env).stdout
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    return lines.splitlines(), seconds


def some_files(root, count):
    """Returns files below a folder, the same in each run."""
    found = sorted(path for path in pathlib.Path(root).rglob("*") if path.is_file() and not path.is_symlink())
    step = max(1, len(found) // count)
    return [str(path) for path in found[::step][:count]]


def magika(options):
    env = {**os.environ, "MAGIKA_MODEL": str(source("magika", "magika") / "src/model.onnx")}
    files = some_files(options.root, options.files)
    ours = executable("magika", "compiled", [], env)
    features = ["--no-default-features", "--features", "library"]
    theirs = executable("magika", "library", features, env)
    peer_env = {**env, "ORT_DYLIB_PATH": library()}
    answers, seconds = run(ours, files, env)
    expected, peer_seconds = run(theirs, files, peer_env)
    different = [(one, other) for one, other in zip(answers, expected) if one != other]
    print(f"magika 1.1.0: {len(answers)} answers, {len(different)} differ, {seconds:.1f} s, ONNX Runtime {peer_seconds:.1f} s")
    for one, other in different[:20]:
        print(f"  {one}\n  {other}")
    labels = [one for one, other in different if one.split("\t")[1] != other.split("\t")[1]]
    return not labels and len(answers) == len(expected) and len(different) * 100 <= len(answers)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=300, help="number of files that magika looks at")
    parser.add_argument("--root", default="/usr", help="folder of these files")
    options = parser.parse_args()
    sys.exit(0 if magika(options) else 1)


if __name__ == "__main__":
    main()
