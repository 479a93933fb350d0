"""Changes conditions and results of the compiler one at a time, and lists the changes that no test notices.

    python ui-tests/mutants/mutants.py                       # 200 mutants of rules, inference and sizes
    python ui-tests/mutants/mutants.py --count 0             # all of them, about half an hour
    python ui-tests/mutants/mutants.py --only passes/rules/  # those of files whose path holds a text
    python ui-tests/mutants/mutants.py --numbers 17 20       # some of them, with the output of their tests

One build has all mutants, each chosen by the environment. The tests of `ir` are run with one mutant at a time, until one
fails. Survivors that `explained.tsv` lists (file, function, change, reason) are no failures: the change has no effect that
anybody could observe. Needs cargo alone.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute() / "mutants"
TREE = TARGET / "tree"

# Rules of simplification, inference of types and sizes, and sizes.
CHANGED = ["ir/src/passes", "ir/src/infer", "ir/src/dim"]

# Tests of other things, and of the texts of the sources.
LEFT_OUT = ("contributing-", "external-", "hostile-", "imports-", "messages-", "reproducible-", "scopes-", "signed-")

COLUMNS = ["number", "file", "line", "function", "change"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--count", type=int, default=200)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--numbers", type=int, nargs="+", default=[])
    arguments.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = arguments.parse_args()
    mutants = instrument()
    programs = build(mutants)
    reached, limit = baseline(programs)
    chosen = [row for row in mutants if arguments.only in row["file"]]
    if arguments.numbers:
        chosen = [row for row in mutants if row["number"] in arguments.numbers]
    if arguments.count and len(chosen) > arguments.count:
        chosen = sorted(random.Random(arguments.seed).sample(chosen, arguments.count), key=lambda row: row["number"])
    explained = read(HERE / "explained.tsv", ["file", "function", "change", "reason"])
    reasons = {(row["file"], row["function"], row["change"]) for row in explained}
    counts = {"killed": 0, "explained": 0, "survived": 0, "not reached": 0}

    def judge(row):
        number = str(row["number"])
        tests = [(program, reached[program][number]) for program in programs if number in reached[program]]
        if not tests:
            return "not reached"
        return "killed" if killed(row["number"], tests, limit, quiet=not arguments.numbers) else "survived"

    with ThreadPoolExecutor(arguments.jobs) as pool:
        for row, kind in zip(chosen, pool.map(judge, chosen), strict=True):
            if kind != "killed" and (row["file"], row["function"], row["change"]) in reasons:
                kind = "explained"
            counts[kind] += 1
            if kind in ("survived", "not reached"):
                print(f"{kind}: {row['number']} {row['file']}:{row['line']} {row['function']}: {row['change']}", flush=True)
    print(f"{len(chosen)} of {len(mutants)} mutants: " + ", ".join(f"{count} {kind}" for kind, count in counts.items()))
    return counts["survived"] + counts["not reached"] > 0


def read(path, columns):
    lines = path.read_text().splitlines()[1:] if path.exists() else []
    return [dict(zip(columns, line.split("\t"), strict=True)) for line in lines]


def instrument(without=()):
    """Copies the checkout and rewrites the files. Returns the mutants."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, files.split("\0")):
        source, copy = ROOT / name, TREE / name
        if source.is_symlink() or not source.exists():
            continue
        # Unchanged files keep their times, for cargo.
        if not copy.exists() or copy.stat().st_mtime != source.stat().st_mtime or name.startswith("ir/src/"):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)
    chosen = sorted(str(path.relative_to(TREE)) for place in CHANGED for path in rust_files(TREE / place))
    shutil.copy(HERE / "mutant.rs", TREE / "ir/src/mutant.rs")
    root = TREE / "ir/src/lib.rs"
    root.write_text(root.read_text().replace("mod attempts;", "mod attempts;\npub mod mutant;", 1))
    command = ["cargo", "run", "--quiet", "--manifest-path", HERE / "Cargo.toml", "--target-dir", TARGET / "tool", "--"]
    excluded = {"ONNX_EMBED_WITHOUT": ",".join(map(str, sorted(without)))}
    done = subprocess.run(
        [*command, *chosen], cwd=TREE, env={**os.environ, **excluded}, check=True, stdout=subprocess.PIPE, text=True
    )
    rows = [dict(zip(COLUMNS, line.split("\t"), strict=True)) for line in done.stdout.splitlines()]
    return [{**row, "number": int(row["number"])} for row in rows if int(row["number"]) not in without]


def rust_files(place):
    """The files of a module, except its tests."""
    files = [place.with_suffix(".rs"), *place.rglob("*.rs")]
    return [path for path in files if path.exists() and "tests" not in path.parts and path.stem != "tests"]


def build(mutants):
    """Builds the tests. Leaves out the mutants that do not compile, such as differences of texts. Returns the programs."""
    without = set()
    for _ in range(8):
        command = ["cargo", "test", "--no-run", "--message-format=json", "-p", "onnx-embed-ir", "--target-dir", TARGET / "build"]
        done = subprocess.run(command, cwd=TREE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        messages = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode == 0:
            mutants[:] = [row for row in mutants if row["number"] not in without]
            programs = [message["executable"] for message in messages if message.get("executable")]
            return [program for program in programs if not Path(program).name.startswith(LEFT_OUT)]
        errors = [message["message"] for message in messages if message["reason"] == "compiler-message"]
        found = {number for error in errors if error["level"] == "error" for number in numbers_at(error)}
        if not found - without:
            sys.exit("\n".join(error["rendered"] for error in errors if error["level"] == "error")[:3000])
        without |= found
        instrument(without)
    sys.exit("the mutants do not compile")


def numbers_at(error):
    """The mutants whose code an error is about: the last ones that begin before it."""
    for span in error["spans"]:
        path = TREE / span["file_name"]
        if not span["is_primary"] or not path.exists():
            continue
        before = path.read_bytes()[: span["byte_end"]].decode(errors="ignore")
        at = before.rfind("crate::mutant::is(")
        if at >= 0:
            yield int(before[at:].split("(")[1].split("u32")[0])


def baseline(programs):
    """Runs the tests without a mutant. Returns the tests of each program that reach each mutant, and a limit of seconds."""
    # Programs that did not change are not run again.
    path = TARGET / "baseline.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    keys = {program: f"{program} {os.stat(program).st_mtime_ns}" for program in programs}
    found = {program: known.get(key) or reached_by(program) for program, key in keys.items()}
    path.write_text(json.dumps({key: found[program] for program, key in keys.items()}))
    programs.sort(key=lambda program: found[program]["seconds"])
    limit = 30 + 10 * max(row["seconds"] for row in found.values())
    return {program: row["reached"] for program, row in found.items()}, limit


def reached_by(program):
    """The tests that reach each mutant, and the seconds of all tests. No tests stand for all, if threads reach it."""
    path = TARGET / "reached"
    path.unlink(missing_ok=True)
    start = time.monotonic()
    run(program, [], {"ONNX_EMBED_REACHED": str(path)}, check=True)
    seconds = time.monotonic() - start
    listed = subprocess.run([program, "--list"], cwd=TREE / "ir", check=True, capture_output=True, text=True).stdout
    tests = {line.removesuffix(": test") for line in listed.splitlines() if line.endswith(": test")}
    reached, threads = {}, set()
    for line in path.read_text().splitlines() if path.exists() else []:
        number, name = line.split("\t")
        reached.setdefault(number, []).append(name)
        if name not in tests:
            threads.add(number)
    return {"reached": {**reached, **dict.fromkeys(threads, [])}, "seconds": seconds}


def killed(number, programs, limit, quiet=True):
    """Runs the tests that reach a mutant, which `programs` has for each program."""
    for program, tests in programs:
        arguments = ["--exact", *tests] if tests else []
        try:
            done = run(program, arguments, {"ONNX_EMBED_MUTANT": str(number)}, timeout=limit, quiet=quiet)
        except subprocess.TimeoutExpired:
            return True
        if done.returncode != 0:
            return True
    return False


def run(program, arguments, environment, quiet=True, **options):
    output = subprocess.DEVNULL if quiet else None
    return subprocess.run(
        [program, *arguments], cwd=TREE / "ir", env={**os.environ, **environment}, stdout=output, stderr=output, **options
    )


if __name__ == "__main__":
    sys.exit(main())
