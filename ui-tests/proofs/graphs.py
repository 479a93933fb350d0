"""Runs the graphs of a rule, as the compiler has them before and after it, on symbolic elements."""

import re
from math import floor

import numpy as np
import z3

import quantized  # noqa: F401 (registers its operators)
from elements import array
from products import run

# Constants in single precision that stand for irrational numbers, and for 1/6.
IRRATIONAL = {"1.4142135": "√2", "0.7978846": "√(2/π)"}
FLOATS = {"float16", "bfloat16", "float32", "float64"}


def size(text, sizes):
    """A size of a graph, an expression over names."""
    words = re.sub(
        r"[^\W\d]\w*", lambda word: word[0] if word[0] in ("floor", "min", "max") else f"s[{word[0]!r}]", text
    )
    # The text is the compiler's own.
    return int(eval(words, {"s": sizes, "floor": floor, "min": min, "max": max}))


def names(graph):
    """The names of sizes of the inputs."""
    texts = [text for value in graph["inputs"] for text in value["shape"]]
    return sorted({name for text in texts for name in re.findall(r"[^\W\d]\w*", text)})


class Runner:
    """Evaluates a graph. Inputs and free constants of both graphs have the same elements."""

    def __init__(self, domain, sizes):
        self.d, self.sizes = domain, dict(sizes)

    def variables(self, name, dtype, shape):
        d = self.d
        count = int(np.prod(shape))
        if dtype == "bool":
            return array([z3.Bool(f"{name}.{at}") for at in range(count)], shape)
        if dtype not in quantized.RANGES:
            return array([d.variable(f"{name}.{at}") for at in range(count)], shape)
        low, high = quantized.RANGES[dtype]
        integers = [z3.Int(f"{name}.{at}") for at in range(count)]
        d.ranges += [bound for value in integers for bound in (low <= value, value <= high)]
        return array([z3.ToReal(value) for value in integers], shape)

    def shape(self, value):
        return [size(text, self.sizes) for text in value["shape"]]

    def constant(self, line):
        value, elements = line["value"], line["elements"]
        shape = self.shape(value)
        if line["free"] and value["dtype"] in FLOATS:
            return self.variables(f"${line['name']}", value["dtype"], shape)
        if value["dtype"] in ("int64", "int32"):
            return np.array([size(text, self.sizes) for text in elements], int).reshape(shape)
        if value["dtype"] == "bool":
            return array([z3.BoolVal(element) for element in elements], shape)
        named = [IRRATIONAL.get(element) for element in elements]
        numbers = [self.d.named(name) if name else self.d.number(text) for name, text in zip(named, elements)]
        return array(numbers, shape)

    def graph(self, graph):
        """The outputs."""
        values = {}
        for value in graph["inputs"]:
            values[value["id"]] = self.variables(value["name"], value["dtype"], self.shape(value))
        for line in graph["constants"]:
            if "operator" in line:
                self.node(line, values)
            else:
                values[line["value"]["id"]] = self.constant(line)
        for node in graph["nodes"]:
            self.node(node, values)
        return [values[id] for id in graph["outputs"]]

    def node(self, node, values):
        operands = [None if id is None else values[id] for id in node["inputs"]]
        attributes = settings(node, operands)
        results = run(self.d, node["operator"], attributes, *operands)
        results = results if isinstance(results, list) else [results]
        for value, result in zip(node["results"], results):
            if value is None:
                continue
            expected = self.shape(value) if known(value, self.sizes) else None
            if expected is not None and list(result.shape) != expected:
                raise ValueError(f"{node['operator']} has the shape {result.shape}, not {expected}")
            values[value["id"]] = result


def known(value, sizes):
    texts = " ".join(value["shape"])
    return all(name in sizes or name in ("floor", "min", "max") for name in re.findall(r"[^\W\d]\w*", texts))


# Names of the parameters of functions.
PARAMETERS = {
    "leaky_relu": ["alpha"],
    "elu": ["alpha"],
    "swish": ["alpha"],
    "hard_sigmoid": ["alpha", "beta"],
    "softmax": [],
    "log_softmax": [],
}


def settings(node, operands):
    """The compiler's attributes of a node, as the definitions name them."""
    raw, name = node["attributes"], node["operator"].removeprefix("com.microsoft.")
    found = dict(raw) if isinstance(raw, dict) else {}
    window = found.pop("window", None)
    if window:
        if window["padding"] != "Explicit" or window["ceil"]:
            raise ValueError(f"{name} has other windows: {window}")
        found.update(window)
    found["results"] = len(node["results"])
    if node["results"][0]:
        found["dtype"] = node["results"][0]["dtype"]
    if name == "Transpose":
        found["perm"] = found["axes"]
    if name == "Flatten":
        found["axis"] = found["Flatten"][0]
    if name == "Gelu" and "gelu_tanh" in str(found):
        found["approximate"] = "tanh"
    if name == "ConstantOfShape":
        found["value"] = found["value"]["Floats"][0][0]
    if name == "AveragePool" and found["pads"] and found["kind"] != {"Average": [True]}:
        raise ValueError("the definition counts the padding")
    if name.startswith("Reduce"):
        found["keepdims"] = found["keep"]
    if found.get("parameters"):
        exact = ["1/6" if text == "0.16666667" else text for text in found["parameters"]]
        found.update(zip(PARAMETERS[found["function"]], exact))
    if any(isinstance(flag, dict) for flag in found.get("transposed") or []):
        if any(flag["batch"] for flag in found["transposed"]):
            raise ValueError("a product transposes its batches")
        found["transposed"] = [flag["matrix"] for flag in found["transposed"]]
    if name == "Attention":
        if found["scale"] is not None or found["softcap"] != "0.0" or found["windows"] != [None, None]:
            raise ValueError("Attention has other options")
        features = operands[0].shape[-1] // (found["query_heads"] or 1)
        found.update(
            scale={1: "1", 4: "1/2", 16: "1/4"}[features], is_causal=found["causal"], packed=operands[0].ndim == 3
        )
    return found


def sizes_of(graph, choices=(2, 1, 3)):
    """Assignments of numbers to the names of sizes: the same number to all, and one in which they differ."""
    free = names(graph)
    different = [choices[at % len(choices)] for at in range(len(free))]
    assignments = [[choice] * len(free) for choice in choices] + [different]
    return [dict(zip(free, sizes)) for sizes in assignments] if free else [{}]
