"""Writes `training/`: models whose parameters are easily lost or doubled.

Requires the `onnx` and `numpy` packages: `python ui-tests/models/training.py`.
"""

from pathlib import Path

import numpy as np
from onnx import checker, numpy_helper, parser

FOLDER = Path(__file__).parent / "training"
HEADER = '<ir_version: 10, opset_import: ["" : 21], producer_name: "training.py">\n'
SEEDED = np.random.default_rng(7)


def drawn(*shape):
    """Weights as exporters initialize them."""
    return (SEEDED.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)


def save(name, text, **weights):
    model = parser.parse_model(HEADER + text)
    for key, values in weights.items():
        tensor = numpy_helper.from_array(np.asarray(values, np.float32), key.replace("__", "."))
        model.graph.initializer.append(tensor)
    checker.check_model(model, full_check=True)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.onnx").write_bytes(model.SerializeToString())


def main():
    # Two norms as they are initialized, and two scales that are equal.
    save(
        "equal_scales",
        """
        g (float[batch, 4] x) => (float[batch, 4] y) {
            n = LayerNormalization <axis = -1> (x, "first.norm.weight", "first.norm.bias")
            h = Gemm <transB = 1> (n, "first.weight", "first.bias")
            s = Mul (h, "first.scale")
            r = Tanh (s)
            m = LayerNormalization <axis = -1> (r, "second.norm.weight", "second.norm.bias")
            t = Mul (m, "second.scale")
            y = Add (t, x)
        }
        """,
        first__norm__weight=np.ones(4),
        first__norm__bias=np.zeros(4),
        first__weight=drawn(4, 4),
        first__bias=np.zeros(4),
        first__scale=np.full(4, 1.5),
        second__norm__weight=np.ones(4),
        second__norm__bias=np.zeros(4),
        second__scale=np.full(4, 1.5),
    )
    # Scales and shifts that do nothing yet, behind products that would take them in.
    save(
        "layer_scale",
        """
        g (float[batch, 4] x) => (float[batch, 4] y) {
            h = MatMul (x, "fc.weight")
            b = Add (h, "fc.bias")
            s = Mul (b, "gamma")
            r = Add (s, x)
            z = Add (r, "shift")
            q = MatMul (z, "query.weight")
            k = MatMul (z, "key.weight")
            p = Mul (q, k)
            y = Add (p, z)
        }
        """,
        fc__weight=drawn(4, 4),
        fc__bias=np.zeros(4),
        gamma=np.ones(4),
        shift=np.zeros(4),
        query__weight=drawn(4, 4),
        key__weight=drawn(4, 4),
    )
    # A table that gives words and scores them, and a layer that is used twice.
    save(
        "tied_embedding",
        """
        g (int64[batch, words] ids) => (float[batch, words, 11] scores) {
            e = Gather ("embedding.weight", ids)
            h = MatMul (e, "layer.weight")
            b = Add (h, "layer.bias")
            r = Relu (b)
            h2 = MatMul (r, "layer.weight")
            b2 = Add (h2, "layer.bias")
            t = Transpose <perm = [1, 0]> ("embedding.weight")
            scores = MatMul (b2, t)
        }
        """,
        embedding__weight=drawn(11, 6),
        layer__weight=drawn(6, 6),
        layer__bias=np.full(6, 0.1),
    )
    # Modules, so many nodes that they become structs: both layers of the encoder have the same weights,
    # the decoder has its own and the table, and a branch reads what others read too.
    lines = ['["/embed/Gather"] x0 = Gather ("table", ids)']

    def layer(path, weights, at):
        for step in range(7):
            lines.append(f'["/{path}/MatMul_{step}"] m{at} = MatMul (x{at}, "{weights}.weight")')
            lines.append(f'["/{path}/Add_{step}"] a{at} = Add (m{at}, "{weights}.bias")')
            lines.append(f'["/{path}/Tanh_{step}"] x{at + 1} = Tanh (a{at})')
            at += 1
        return at

    at = layer("encoder/layer.0", "encoder.layer", 0)
    at = layer("encoder/layer.1", "encoder.layer", at)
    at = layer("decoder", "decoder", at)
    lines += [
        f'["/decoder/Mul"] g = Mul (x{at}, "gain")',
        f'["/decoder/If"] b = If (up) <then_branch = up_branch () => (float[batch, words, 6] u) {{ u = Mul (g, "gain") }}, '
        f"else_branch = down_branch () => (float[batch, words, 6] d) {{ d = Neg (g) }}>",
        '["/decoder/Transpose"] t = Transpose <perm = [1, 0]> ("table")',
        '["/decoder/MatMul"] scores = MatMul (b, t)',
    ]
    save(
        "shared_blocks",
        "g (int64[batch, words] ids, bool up) => (float[batch, words, 11] scores) {\n"
        + "\n".join(lines)
        + "\n}",
        table=drawn(11, 6),
        encoder__layer__weight=drawn(6, 6),
        encoder__layer__bias=np.full(6, 0.1),
        decoder__weight=drawn(6, 6),
        decoder__bias=np.full(6, -0.1),
        gain=np.ones(6),
    )
    # Statistics that would be taken into the weights.
    save(
        "conv_norm",
        """
        g (float[batch, 2, 6, 6] image) => (float[batch, 3] y) {
            c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (image, "conv.weight")
            n = BatchNormalization (c, "norm.weight", "norm.bias", "norm.mean", "norm.variance")
            r = Relu (n)
            p = GlobalAveragePool (r)
            f = Flatten (p)
            y = Gemm <transB = 1> (f, "head.weight", "head.bias")
        }
        """,
        conv__weight=drawn(5, 2, 3, 3),
        norm__weight=np.ones(5),
        norm__bias=np.zeros(5),
        norm__mean=drawn(5),
        norm__variance=np.abs(drawn(5)) + 1,
        head__weight=drawn(3, 5),
        head__bias=np.zeros(3),
    )
    # Constants of nodes, as detectors have them for their grids.
    grid = ", ".join(f"{at % 7}.5" for at in range(2 * 40))
    save(
        "anchor_grid",
        f"""
        g (float[batch, 3, 40] x) => (float[batch, 2, 40] y) {{
            c = Conv <kernel_shape = [1]> (x, "head.weight", "head.bias")
            s = Sigmoid (c)
            grid = Constant <value = float[1, 2, 40] {{ {grid} }}> ()
            o = Add (s, grid)
            stride = Constant <value = float[1, 2, 1] {{8, 16}}> ()
            y = Mul (o, stride)
        }}
        """,
        head__weight=drawn(2, 3, 1),
        head__bias=np.zeros(2),
    )


if __name__ == "__main__":
    main()
