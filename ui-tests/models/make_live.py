"""Writes the models of the user-interface tests that read values of the device on their way.

Requires the `onnx` and `numpy` packages: `python ui-tests/models/make_live.py`.
"""

from make import save
from make_faults import named


def in_modules(model):
    """Names nodes after their modules, which names in the text cannot."""
    for node in model.graph.node:
        node.name = "/" + node.name.replace("_", "/") + "/" + node.op_type


def models():
    # Branches, a loop as long as the data say, and a loop of a number of iterations from the data.
    save(
        "steered",
        """
        steered (float[n] x) => (float[n] y, float[n] z, int64 steps)
            <float zero = {0}, float hundred = {100}, float two = {2}, int64 one = {1}, bool yes = {1}> {
            shares = Softmax <axis = 0> (x)
            weighted = Mul (x, shares)
            sum = ReduceSum <keepdims = 0> (weighted)
            positive = Greater (sum, zero)
            y = If (positive) <
                then_branch = doubled () => (float[n] a) { a = Mul (weighted, two) },
                else_branch = negative () => (float[n] b) { b = Neg (shares) }
            >
            [grow] steps, z = Loop (, yes, one, y) <
                body = grown (int64 i, bool before, int64 count, float[n] value)
                    => (bool after, int64 next, float[n] larger) {
                    next = Add (count, one)
                    [pick] picked = Gather (value, count)
                    squared = Mul (picked, picked)
                    step = Add (squared, two)
                    shared = Softmax <axis = 0> (value)
                    moved = Add (value, step)
                    larger = Add (moved, shared)
                    total = ReduceSum <keepdims = 0> (larger)
                    after = Less (total, hundred)
                }
            >
        }
        """,
        named,
    )
    # Results of which the data say the sizes.
    save(
        "found",
        """
        found (float[b, n, 4] boxes, float[b, 3, n] scores, float[m] x)
            => (int64[k, 3] kept, int64[1, p] places, float[q] values, float[r] chosen, float[2] first)
            <int64[1] most = {2}, float[1] overlap = {0.5}, float zero = {0}, int64[1] two = {2}> {
            kept = NonMaxSuppression (boxes, scores, most, overlap)
            places = NonZero (x)
            values, at, inverse, counts = Unique (x)
            positive = Greater (x, zero)
            chosen = Compress <axis = 0> (x, positive)
            [top] first, order = TopK (x, two)
        }
        """,
        named,
    )
    # Modules that are alike, and parts of others.
    names = ["stem_first", "stem_second", "body_first", "body_second", "head_first", "head_second"]
    nodes, x = "", "x"
    for name in names:
        y = "y" if name == names[-1] else f"y_{name}"
        nodes += f"""
            [{name}] places_{name} = NonZero ({x})
            [{name}] rows_{name} = Transpose <perm = [1, 0]> (places_{name})
            [{name}] found_{name} = GatherND ({x}, rows_{name})
            [{name}] mean_{name} = ReduceMean <keepdims = 1> (found_{name})
            [{name}] {y} = Sub (found_{name}, mean_{name})
        """
        x = y
    save("modules", f"modules (float[n] x) => (float[k] y) {{ {nodes} }}", in_modules)


if __name__ == "__main__":
    models()
