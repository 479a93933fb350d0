"""Random models of every operator at every version, compared with ONNX Runtime and the reference evaluator.

    COUNT=3 SEED=7 python ui-tests/differential/differential.py            3 models for each version of each operator
    COUNT=30 python ui-tests/differential/differential.py --only '^Reduce'   more for some
    python ui-tests/differential/differential.py --short                     what `.ci/full` runs

Requires cargo and `pip install onnx==1.23.2 onnxruntime==1.32.0 numpy ml_dtypes`. README.md explains what is drawn and what
counts as a difference; `expected.tsv` lists the known ones.
"""

import argparse
import os
import re
import shutil
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import onnx

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "sizes"))

import known
import program
from generator import Generator
from judge import bits, differences
from specs import load

# Operators with random results, subgraphs, or inputs that programs are not given.
LEFT_OUT = {"Bernoulli": "random", "Multinomial": "random", "RandomNormal": "random", "RandomNormalLike": "random",
            "RandomUniform": "random", "RandomUniformLike": "random", "If": "subgraph", "Loop": "subgraph",
            "Scan": "subgraph", "SequenceMap": "subgraph", "Gradient": "subgraph", "ImageDecoder": "files"}
SETTINGS = {"": {}, "plain": {"ONNX_EMBED_PLAIN": "1"}, "avx2": {"ONNX_EMBED_INSTRUCTIONS": "avx2"},
            "portable": {"ONNX_EMBED_INSTRUCTIONS": "portable"}}
# Models of each version from which on each known difference is expected to occur.
WHOLE = 10
# Models of a program, each in two forms: rustc takes memory for all of them.
BATCH = 200


def write(samples, folder):
    """Each model in two forms, in folders of their own."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for sample in samples:
        models_of = {"inputs": [sample.model(sample.inputs, (), True)] * sample.open + [sample.model(sample.inputs)],
                     "constants": [sample.model(sample.inputs, sample.constants)]}
        for form in sample.forms:
            models = models_of[form]
            home = folder / f"{sample.name}_{form}"
            home.mkdir(parents=True)
            (home / "runs").write_bytes(b"")
            record(sample, () if form == "inputs" else sample.constants, home)
            for at, model in enumerate(models):
                onnx.save(model, home / f"{at}.onnx")


def record(sample, constants, home):
    """`io.npz` of the first run, as `cargo onnx-embed verify` reads it. NumPy lacks some types and sequences."""
    values = next((values for kind, values in sample.answers[0].values() if kind == "values"))
    arrays = {f"in/{name}": value for name, value in sample.inputs.items() if name not in constants}
    arrays |= {f"out/{name}": value for name, value in zip(sample.node.output, values)}
    if all(isinstance(value, np.ndarray) and value.dtype.kind in "biuf" for value in arrays.values()):
        np.savez(home / "io.npz", **arrays)


def verdicts(sample, files, refused, servers):
    """Differences of a model: its form, the setting, the kind and the problem."""
    for form in sample.forms:
        name = f"{sample.name}_{form}"
        if name in refused:
            yield form, "", "compiler", refused[name]
            continue
        if name not in files:
            raise RuntimeError(f"{name} is neither compiled nor refused")
        runs = list(zip(sample.runs, sample.answers))
        for inputs, answers in runs if form == "inputs" else runs[:1]:
            given = inputs if form == "inputs" else {
                name: value for name, value in inputs.items() if name not in sample.constants}
            first = None
            for setting, server in servers.items():
                kind, found = server.ask(name, given)
                answer = kind, bits(found)
                if answer == first:
                    continue
                first = first or answer
                for verdict in compared(sample, kind, found, answers):
                    yield form, setting, *verdict


def compared(sample, kind, found, answers):
    """Whether our answer is that of both references: kind and text of each disagreement."""
    names = list(sample.node.output)
    texts, right = {}, []
    for who, (theirs, values) in answers.items():
        if theirs == "values":
            expected = dict(zip(names, values))
            text = differences(found, expected, sample.elementwise) if kind == "values" else f"{kind}: {found}"
            if text:
                texts[who] = text
            else:
                right.append(who)
    if kind in ("panics", "dies"):
        return [("fault", f"{kind}: {found}")]
    if len(texts) == 2:
        return [("both", "; ".join(f"{who}: {text}" for who, text in texts.items()))]
    return [(who if right else f"only {who}", text) for who, text in texts.items()]


def batch(samples, folder, scope, report):
    """Builds and runs models, and reports their differences."""
    start = time.monotonic()
    write(samples, folder)
    binary, wrong = program.build(folder, scope)
    files, refused = program.compiled(binary)
    built = time.monotonic()
    servers = {name: program.Server(binary, setting) for name, setting in SETTINGS.items()}
    for sample in samples:
        for verdict in verdicts(sample, files, refused | wrong, servers):
            report.difference(sample, *verdict)
    for server in servers.values():
        server.end()
    print(f"{len(samples)} models: built in {built - start:.0f} s, run in {time.monotonic() - built:.0f} s", flush=True)


def parsed():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", default="", help="regular expression of operators, written `domain:Name` outside ai.onnx")
    arguments.add_argument("--versions", default=".*", help="regular expression of versions")
    arguments.add_argument("--folder", type=Path, help="where the models of the last batch are written and stay")
    arguments.add_argument("--short", action="store_true", help="one form of each model")
    return arguments.parse_args()


def main():
    options = parsed()
    count, seed = int(os.environ.get("COUNT", 1)), int(os.environ.get("SEED", 1))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    load()
    generator = Generator(seed, options.short)
    chosen = [(operator, version, at) for operator, versions in generator.versions.items() for version in versions
              for at in range(count)
              if re.search(options.only, ":".join(filter(None, operator))) and operator[1] not in LEFT_OUT
              and re.fullmatch(options.versions, str(version))]
    folder = options.folder or Path(tempfile.mkdtemp(prefix="differential-"))
    is_part = options.only or options.versions != ".*" or options.short
    # What `.ci/run` has built has the features of the workspace.
    scope = ["--workspace"] if options.short else ["-p", program.PACKAGE]
    report = known.Report(HERE / "expected.tsv", is_whole=count >= WHOLE and not is_part)
    for first in range(0, len(chosen), BATCH):
        samples = []
        for operator, version, at in chosen[first:first + BATCH]:
            sample = generator.sample(operator, version, at)
            if isinstance(sample, str):
                report.undrawn(operator, version, sample)
            else:
                samples.append(sample)
                report.drawn(operator, version, sample)
        if samples:
            batch(samples, folder / "models", scope, report)
    generator.oracle.end()
    print(f"{generator.redrawn} draws were not valid, and were repeated")
    sys.exit(report.finish())


if __name__ == "__main__":
    main()
