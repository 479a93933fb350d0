"""Runs published crates that use `ort` on compiled models and on ONNX Runtime, and compares their answers.

The crates are fetched from crates.io and not changed. The library is that of the package `onnxruntime` of the Python
that runs this script, or the file at ORT_DYLIB_PATH.

    python3 crates.py                                    # all crates
    python3 crates.py magika --files 300 --root /usr     # one of them
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BACKEND = HERE.parent.parent / "runtime/ort"
COLD_STARTS = 5


def text(*command, env=None):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=env).stdout


class Crate:
    """A published crate, and the program in the folder `package` that calls it.

    `release` is the candidate of `ort` 2.0.0 that the crate asks for.
    """

    def __init__(self, package, name, version, release):
        self.package, self.name, self.version = package, name, version
        # The version of the backend for another release of `ort` is a copy, whose path a package cannot know.
        copy = [] if release == 12 else [text("bash", str(BACKEND / "version.sh"), str(release), "copy").strip()]
        self.patch = [part for path in copy for part in ("--config", f'patch.crates-io.onnx-embed-ort.path="{path}"')]

    def cargo(self, *arguments, env=None):
        return text("cargo", *arguments, *self.patch, "--manifest-path", str(HERE / self.package / "Cargo.toml"), env=env)

    def source(self):
        """Returns the folder of the fetched crate."""
        for found in json.loads(self.cargo("metadata", "--format-version", "1"))["packages"]:
            if found["name"] == self.name:
                return pathlib.Path(found["manifest_path"]).parent
        sys.exit(f"{self.package} does not depend on {self.name}")

    def executable(self, name, features, env):
        """Builds a program with optimization, about five minutes, and returns the path of a copy of it."""
        lines = self.cargo("build", "--release", *features, "--message-format", "json", env=env).splitlines()
        built = [json.loads(line).get("executable") for line in lines if line.startswith("{")]
        path = pathlib.Path(next(path for path in reversed(built) if path))
        copy = path.with_name(f"{path.name}-{name}")
        copy.write_bytes(path.read_bytes())
        copy.chmod(0o755)
        return copy

    def compare(self, variables, arguments, nothing, same):
        """Runs both programs, and prints a row of the table in guide/src/migration.md.

        With the arguments `nothing`, a program only loads its models. Whether two different lines are the same answer, `same` says.
        """
        env = {**os.environ, **variables}
        compiled = self.executable("compiled", [], env)
        library = self.executable("library", ["--no-default-features", "--features", "library"], env)
        peer_env = {**env, "ORT_DYLIB_PATH": onnx_runtime()}
        ours, theirs = Run(compiled, arguments, env), Run(library, arguments, peer_env)
        starts = [
            min(Run(program, nothing, known).elapsed for _ in range(COLD_STARTS))
            for program, known in ((compiled, env), (library, peer_env))
        ]
        rounded = [pair for pair in zip(ours.lines, theirs.lines) if pair[0] != pair[1]]
        different = [pair for pair in rounded if not same(*pair)]
        print(
            f"| {self.name} {self.version} | {len(ours.lines)} lines | {len(different)} ({len(rounded)} in a last digit) "
            f"| {ours.processor:.2f} / {theirs.processor:.2f} s | {ours.megabytes:.0f} / {theirs.megabytes:.0f} MB "
            f"| {starts[0] * 1e3:.0f} / {starts[1] * 1e3:.0f} ms |",
            flush=True,
        )
        for one, other in (different or rounded)[:20]:
            print(f"  {one}\n  {other}")
        return bool(ours.lines) and len(ours.lines) == len(theirs.lines) and not different


class Run:
    """The lines that a program prints, its times in seconds, and the most memory that it held."""

    def __init__(self, program, arguments, env):
        with tempfile.NamedTemporaryFile("r") as output:
            command = [sys.executable, str(HERE / "measure.py"), output.name, str(program), *arguments]
            measured = json.loads(text(*command, env=env))
            if measured.pop("status") != 0:
                sys.exit(f"{program} failed")
            self.lines = output.read().splitlines()
        self.elapsed, self.processor, self.megabytes = measured.values()


def onnx_runtime():
    """Returns the path of ONNX Runtime's library."""
    if given := os.environ.get("ORT_DYLIB_PATH"):
        return given
    import onnxruntime

    folder = pathlib.Path(onnxruntime.__file__).parent / "capi"
    found = sorted(folder.glob("libonnxruntime.so.*"))
    return str(found[0]) if found else sys.exit(f"no library in {folder}")


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def near(tolerance):
    """Returns a function that compares lines: numbers may differ by the tolerance, everything else is equal."""

    def same(one, other):
        pairs = list(zip(one.split("\t"), other.split("\t")))
        numbers = [(number(a), number(b)) for a, b in pairs if a != b]
        return one.count("\t") == other.count("\t") and all(
            a is not None and b is not None and abs(a - b) <= tolerance * max(1, abs(b)) for a, b in numbers
        )

    return same


def some_files(root, count):
    """Returns files below a folder, the same in each run."""
    found = sorted(path for path in pathlib.Path(root).rglob("*") if path.is_file() and not path.is_symlink())
    step = max(1, len(found) // count)
    return [str(path) for path in found[::step][:count]]


def magika(options):
    crate = Crate("magika", "magika", "1.1.0", 12)
    variables = {"MAGIKA_MODEL": str(crate.source() / "src/model.onnx")}
    return crate.compare(variables, some_files(options.root, options.files), [], near(0.0011))


def wakeword(_):
    crate = Crate("wakeword", "livekit-wakeword", "0.1.3", 11)
    source = crate.source()
    fixtures = source / "tests/fixtures"
    arguments = [str(fixtures / name) for name in ("hey_livekit.onnx", "positive.wav", "negative.wav")]
    return crate.compare({"WAKEWORD_SOURCE": str(source)}, arguments, arguments[:1], near(0.00011))


def speech(_):
    crate = Crate("speech", "voice_activity_detector", "0.2.1", 10)
    variables = {"SPEECH_MODEL": str(crate.source() / "src/silero_vad.onnx")}
    return crate.compare(variables, ["300"], [], near(0.0011))


def notes(_):
    crate = Crate("notes", "basic-pitch-rs", "0.1.0", 14)
    variables = {"NOTES_MODEL": str(crate.source() / "model/nmp.onnx")}
    return crate.compare(variables, ["60"], [], near(0.0011))


def embeddings(_):
    crate = Crate("embeddings", "fastembed", "7.7.0", 15)
    example = HERE.parent.parent / "examples/embeddings"
    text(sys.executable, str(example / "fetch.py"))
    arguments = [str(example / "model"), str(example / "sentences.txt")]
    return crate.compare({}, arguments, arguments[:1], near(0.0011))


def main():
    programs = {"magika": magika, "wakeword": wakeword, "notes": notes, "speech": speech, "embeddings": embeddings}
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="*", choices=[[], *programs], help="folders beside this script")
    parser.add_argument("--files", type=int, default=300, help="number of files that magika looks at")
    parser.add_argument("--root", default="/usr", help="folder of these files")
    options = parser.parse_args()
    failed = [name for name in options.programs or programs if not programs[name](options)]
    sys.exit(f"different answers: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
