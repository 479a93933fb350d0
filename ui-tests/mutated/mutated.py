"""Changes models at random, and lists those that compile although onnx.checker and ONNX Runtime refuse them.

    python ui-tests/mutated/mutated.py                                # 1,000 changed models, in two minutes
    python ui-tests/mutated/mutated.py --count 10000 --seed 3 FOLDER  # more, of the models of a folder too

Models are those of `ui-tests/models` and of the folders that all three accept. Each is changed in one to three places: attributes, names, types, sizes,
elements, operators, versions, and the order of nodes. What `accepted.tsv` lists may compile: a pattern of ONNX Runtime's message,
a pattern of the checker's, and the reason. Other models stay in `target/mutated`. A model that ends the compiler, or takes more
than 20 seconds, fails too.

Needs onnx, onnxruntime and numpy, and cargo.
"""

import argparse
import json
import os
import random
import re
import select
import subprocess
import sys
from pathlib import Path

import onnx
from onnx import AttributeProto, TensorProto

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()

# Models above this size take ONNX Runtime too long.
MOST_BYTES = 300_000

# Seconds for a verdict.
LIMIT = 20

NUMBERS = [0, 1, -1, 2, -2, 3, 7, 64, 255, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63)]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folders", nargs="*", type=Path)
    arguments.add_argument("--count", type=int, default=1000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = arguments.parse_args()
    if arguments.worker:
        return judge()
    accepted = [line.split("\t") for line in (HERE / "accepted.tsv").read_text().splitlines()[1:]]
    folder = TARGET / "mutated"
    folder.mkdir(parents=True, exist_ok=True)
    build = ["cargo", "build", "--quiet", "--package", "onnx-embed-fuzz-targets", "--bin", "verdicts"]
    subprocess.run(build, cwd=ROOT, check=True)
    ours = Judge([str(TARGET / "debug/verdicts")])
    theirs = Judge([sys.executable, "-W", "ignore", __file__, "--worker"])
    paths = read_all([ROOT / "ui-tests/models", *arguments.folders])
    models = [(path.stem, model) for path, model in paths if ours.of(path) == "compiles" and theirs.of(path) == '["", ""]']
    counts = {"both refuse": 0, "the checker refuses": 0, "ONNX Runtime refuses": 0, "both accept": 0}
    compiled = dict.fromkeys(counts, 0)
    problems, used = 0, set()
    for number in range(arguments.count):
        chance = random.Random(arguments.seed * 1_000_003 + number)
        name, model = chance.choice(models)
        changed = onnx.ModelProto()
        changed.CopyFrom(model)
        done = [mutate(changed, chance) for _ in range(chance.randint(1, 3))]
        path = folder / f"{arguments.seed}-{number}.onnx"
        path.write_bytes(broken(changed.SerializeToString(), chance) if chance.random() < 0.05 else changed.SerializeToString())
        verdict, others = ours.of(path), theirs.of(path)
        checker, runtime = json.loads(others) if others.startswith("[") else ["", others]
        kind = [["both accept", "ONNX Runtime refuses"], ["the checker refuses", "both refuse"]]
        kind = kind[bool(checker)][bool(runtime)]
        counts[kind] += 1
        compiled[kind] += verdict == "compiles"
        reason = None
        if verdict == "compiles" and kind == "both refuse":
            matching = [row for row in accepted if re.search(row[0], runtime) and re.search(row[1], checker)]
            used.update(row[2] for row in matching)
            reason = None if matching else "it compiles"
        elif verdict in ("ended", "too slow"):
            reason = f"the compiler is {verdict}"
        if reason:
            problems += 1
            print(f"{path.name}, {name}, changed by {', '.join(done)}: {reason}\n    ONNX Runtime: {runtime}\n    checker: {checker}")
        else:
            path.unlink()
    for kind, count in counts.items():
        print(f"{kind}: {count} models, of which {compiled[kind]} compile")
    print(f"{len(models)} models, {arguments.count} changed ones, {problems} problems")
    for reason in sorted(used):
        print(f"accepted: {reason}")
    sys.exit(1 if problems else 0)


def read_all(folders):
    """Models and their paths."""
    for folder in folders:
        for path in sorted(folder.rglob("*.onnx")):
            if path.stat().st_size <= MOST_BYTES:
                try:
                    model = onnx.load(str(path), load_external_data=False)
                except Exception:
                    continue
                if model.graph.node:
                    yield path, model


class Judge:
    """A program that answers a path with a line. It starts again after it ended."""

    def __init__(self, words):
        self.words, self.process = words, None

    def of(self, path):
        if self.process is None:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(self.words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        try:
            self.process.stdin.write(f"{path}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        ready, _, _ = select.select([self.process.stdout], [], [], LIMIT)
        line = self.process.stdout.readline() if ready else ""
        if line:
            return line.rstrip("\n")
        self.process.kill()
        self.process.wait()
        self.process = None
        return "ended" if ready else "too slow"


def judge():
    """Prints the messages of the checker and of ONNX Runtime for each path on the standard input, empty for none."""
    import onnxruntime

    # What libraries print goes elsewhere.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1

    def message(run):
        try:
            run()
        except Exception as problem:
            return " ".join(str(problem).split())[:400] or type(problem).__name__
        return ""

    for path in map(str.strip, sys.stdin):
        checker = message(lambda: onnx.checker.check_model(path, full_check=True))
        runtime = message(lambda: onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]))
        print(json.dumps([checker, runtime]), file=answers, flush=True)


def mutate(model, chance):
    """Changes a model in one place, and returns the name of the change."""
    change = chance.choice(CHANGES)
    try:
        change(model, chance)
    except (IndexError, ValueError):
        # The model has nothing to change there.
        pass
    return change.__name__


def number(chance):
    return chance.choice([*NUMBERS, chance.randint(-9, 9)])


def name_of(model, chance):
    graph = model.graph
    names = [name for node in graph.node for name in [*node.input, *node.output]]
    names += [value.name for value in [*graph.input, *graph.initializer]]
    return chance.choice([*names, "", "no_such_value"])


def attribute_number(model, chance):
    attribute = chance.choice([attribute for node in model.graph.node for attribute in node.attribute])
    if attribute.type == AttributeProto.INT:
        attribute.i = number(chance)
    elif attribute.type == AttributeProto.INTS:
        if attribute.ints and chance.random() < 0.6:
            attribute.ints[chance.randrange(len(attribute.ints))] = number(chance)
        else:
            attribute.ints.append(number(chance))
    elif attribute.type == AttributeProto.FLOAT:
        attribute.f = chance.choice([0.0, -1.0, float("nan"), float("inf"), 1e-30])
    elif attribute.type == AttributeProto.STRING:
        attribute.s = chance.choice([b"", b"SAME_UPPER", b"no_such_choice", b"\xff"])


def attribute_type(model, chance):
    attribute = chance.choice([attribute for node in model.graph.node for attribute in node.attribute])
    attribute.type = chance.choice([kind for kind in AttributeProto.AttributeType.values()])


def attribute_name(model, chance):
    attribute = chance.choice([attribute for node in model.graph.node for attribute in node.attribute])
    attribute.name = chance.choice(["axis", "axes", "no_such_attribute", "", "to", "perm"])


def attribute_absent(model, chance):
    node = chance.choice([node for node in model.graph.node if node.attribute])
    del node.attribute[chance.randrange(len(node.attribute))]


def attribute_twice(model, chance):
    node = chance.choice([node for node in model.graph.node if node.attribute])
    node.attribute.add().CopyFrom(chance.choice(node.attribute))


def input_name(model, chance):
    node = chance.choice([node for node in model.graph.node if node.input])
    node.input[chance.randrange(len(node.input))] = name_of(model, chance)


def input_absent(model, chance):
    node = chance.choice([node for node in model.graph.node if node.input])
    del node.input[chance.randrange(len(node.input))]


def input_more(model, chance):
    chance.choice(model.graph.node).input.append(name_of(model, chance))


def output_name(model, chance):
    node = chance.choice(model.graph.node)
    node.output[chance.randrange(len(node.output))] = name_of(model, chance)


def output_more(model, chance):
    chance.choice(model.graph.node).output.append(chance.choice(["more", name_of(model, chance)]))


def operator(model, chance):
    others = [node.op_type for node in model.graph.node]
    more = ["Add", "MatMul", "Conv", "Reshape", "Softmax", "Gather", "If", "Loop", "NoSuchOperator", ""]
    chance.choice(model.graph.node).op_type = chance.choice([*others, *more])


def domain(model, chance):
    chance.choice(model.graph.node).domain = chance.choice(["", "ai.onnx", "com.microsoft", "ai.onnx.ml", "no.such.domain"])


def version(model, chance):
    chance.choice(model.opset_import).version = chance.choice([1, 5, 6, 7, 9, 10, 11, 12, 13, 14, 17, 20, 25, 99, 0, -1])


def import_absent(model, chance):
    del model.opset_import[chance.randrange(len(model.opset_import))]


def node_absent(model, chance):
    del model.graph.node[chance.randrange(len(model.graph.node))]


def node_twice(model, chance):
    model.graph.node.add().CopyFrom(chance.choice(model.graph.node))


def node_order(model, chance):
    nodes = list(model.graph.node)
    nodes.insert(chance.randrange(len(nodes)), nodes.pop(chance.randrange(len(nodes))))
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def element_type(model, chance):
    value = chance.choice([*model.graph.input, *model.graph.output])
    value.type.tensor_type.elem_type = chance.choice([kind for kind in TensorProto.DataType.values()])


def size(model, chance):
    value = chance.choice([*model.graph.input, *model.graph.output])
    dims = value.type.tensor_type.shape.dim
    chance.choice(dims).dim_value = number(chance)


def rank(model, chance):
    value = chance.choice([*model.graph.input, *model.graph.output])
    dims = value.type.tensor_type.shape.dim
    if dims and chance.random() < 0.5:
        del dims[chance.randrange(len(dims))]
    else:
        dims.add().dim_value = chance.choice([0, 1, 2, 3])


def tensor_size(model, chance):
    tensor = chance.choice(model.graph.initializer)
    if tensor.dims and chance.random() < 0.7:
        tensor.dims[chance.randrange(len(tensor.dims))] = number(chance)
    else:
        tensor.dims.append(chance.choice([0, 1, 2]))


def tensor_type(model, chance):
    chance.choice(model.graph.initializer).data_type = chance.choice([kind for kind in TensorProto.DataType.values()])


def tensor_bytes(model, chance):
    tensor = chance.choice([tensor for tensor in model.graph.initializer if tensor.raw_data])
    data = tensor.raw_data
    tensor.raw_data = chance.choice([data[:-1], data + b"\0", b"", bytes([chance.randrange(256)]) * len(data)])


def initializer_absent(model, chance):
    del model.graph.initializer[chance.randrange(len(model.graph.initializer))]


def initializer_twice(model, chance):
    model.graph.initializer.add().CopyFrom(chance.choice(model.graph.initializer))


def graph_input(model, chance):
    if chance.random() < 0.5:
        del model.graph.input[chance.randrange(len(model.graph.input))]
    else:
        model.graph.input.add().CopyFrom(chance.choice([*model.graph.input, *model.graph.output]))


def graph_output(model, chance):
    if chance.random() < 0.5:
        del model.graph.output[chance.randrange(len(model.graph.output))]
    else:
        chance.choice(model.graph.output).name = name_of(model, chance)


def ir_version(model, chance):
    model.ir_version = chance.choice([0, 1, 2, 3, 4, 7, 10, 99, -1])


CHANGES = [
    attribute_number, attribute_number, attribute_type, attribute_name, attribute_absent, attribute_twice,
    input_name, input_name, input_absent, input_more, output_name, output_more,
    operator, operator, domain, version, import_absent,
    node_absent, node_twice, node_order,
    element_type, size, rank,
    tensor_size, tensor_type, tensor_bytes, initializer_absent, initializer_twice,
    graph_input, graph_output, ir_version,
]  # fmt: skip


def broken(data, chance):
    """Some bytes changed."""
    data = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


if __name__ == "__main__":
    main()
