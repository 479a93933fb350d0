"""Writes the models of the user-interface tests with operators that functions of the program compute.

Requires the `onnx` and `numpy` packages: `python ui-tests/models/make_custom.py`.
"""

import numpy as np
from onnx import parser

from make import HERE, write

HEADER = '<ir_version: 10, opset_import: ["": 21, "my.company": 1], producer_name: "make.py">\n'


def save(name, text):
    write(f"{name}.onnx", parser.parse_model(HEADER + text).SerializeToString())


def models():
    # A weight and attributes of each kind, between operators that are compiled.
    save(
        "custom",
        """
        custom (float[batch, 3] x) => (float[batch, 3] y)
            <float[3, 3] weight = {1, 0, 0, 0, 1, 0, 0, 0, 1}, float[3] bias = {0.5, -0.5, 1},
             float[3] twice = {2, 2, 2}> {
            h = MatMul (x, weight)
            [swish] s = my.company.BiasSwish <beta = 1.5, steps = [2, 3], mode = "fast"> (h, bias)
            y = Mul (s, twice)
        }
        """,
    )
    # What the guide shows.
    save(
        "custom_swish",
        """
        swish (float[batch, 3] x) => (float[batch, 3] y) <float[3] bias = {0.5, -0.5, 1}> {
            [swish] y = my.company.BiasSwish <beta = 1.5> (x, bias)
        }
        """,
    )
    x = np.array([[0, 1, 2], [0.5, -1.5, 3]], np.float32)
    y = x + np.array([0.5, -0.5, 1], np.float32)
    np.savez(HERE / "custom_swish.npz", **{"in/x": x, "out/y": y / (1 + np.exp(-1.5 * y))})
    # In branches, of which one leaves an input and an attribute out.
    save(
        "custom_branches",
        """
        branches (float[n, 3] x, bool fast) => (float[n, 3] y) <float[3] bias = {1, 2, 3}> {
            y = If (fast) <
                then_branch = all () => (float[n, 3] a) {
                    a = my.company.Scaled <factor = 2.0> (x, bias)
                },
                else_branch = plain () => (float[n, 3] b) {
                    b = my.company.Scaled (x)
                }
            >
        }
        """,
    )
    # Several results, of which one has a size that the function alone knows.
    save(
        "custom_results",
        """
        results (float[batch, n] x) => (float[batch, 2] largest, int64[batch, 2] at, float[k] rest, float[k] twice) {
            largest, at = my.company.Top <count = 2> (x)
            rest = my.company.Positive (x)
            twice = Add (rest, rest)
        }
        """,
    )
    # Text, which is in plain memory.
    save(
        "custom_text",
        """
        text (string[batch] text) => (int64[batch, length] ids, float[batch, length, 2] rows)
            <float[3, 2] table = {0, 1, 10, 11, 20, 21}> {
            ids = my.company.Letters (text)
            rows = Gather (table, ids)
        }
        """,
    )
    # A function of the model that a function of the program may stand for.
    save(
        "custom_function",
        """
        defined (float[n] x) => (float[n] y) { y = my.company.Act (x) }
        <domain: "my.company", opset_import: ["": 21]> Act (v) => (w) { w = Relu (v) }
        """,
    )


if __name__ == "__main__":
    models()
