"""Writes the models of the user-interface tests that data contradicts.

Requires the `onnx` and `numpy` packages: `python ui-tests/models/make_faults.py`.
"""

from make import save


def named(model):
    """Names nodes as PyTorch does, after their module and their operator."""
    def walk(graph):
        for node in graph.node:
            node.name = f"/{node.name or 'model'}/{node.op_type}"
            for attribute in node.attribute:
                walk(attribute.g)

    walk(model.graph)


def with_opset(model, version):
    model.opset_import[0].version = version
    return model


def with_preview(model):
    model.opset_import.add(domain="ai.onnx.preview", version=1)
    return model


def models():
    table = ", ".join(str(number) for number in range(100))
    save(
        "rows",
        f"""
        rows (int64[n] ids) => (float[n, 2] y) <float[50, 2] table = {{{table}}}> {{
            [emb] y = Gather (table, ids)
        }}
        """,
        named,
    )
    squeezed = """
        {name} () => (float[1] p_{name}) {{
            [{name}] frames_{name} = Conv <strides = [{size}]> (signal, window_{name})
            size_{name} = Shape <start = 2> (frames_{name})
            single_{name} = Equal (size_{name}, one)
            [{name}_decoder] p_{name} = If (single_{name}) <
                then_branch = one_{name} () => (float[1] v_{name}) {{
                    v_{name} = Squeeze (frames_{name}, ends)
                }},
                else_branch = more_{name} () => (float[1, 1, m_{name}] w_{name}) {{
                    w_{name} = Identity (frames_{name})
                }}
            >
        }}
    """
    save(
        "speech",
        f"""
        speech (float[1, length] audio, int64 sr) => (float[1] y)
            <int64 rate = {{16000}}, int64[3] shape = {{1, 1, -1}}, int64[1] one = {{1}}, int64[2] ends = {{0, 1}},
             float[1, 1, 8] window_fast = {{1, 1, 1, 1, 1, 1, 1, 1}}, float[1, 1, 4] window_slow = {{1, 1, 1, 1}}>
        {{
            signal = Reshape (audio, shape)
            is_fast = Equal (sr, rate)
            y = If (is_fast) <
                then_branch = {squeezed.format(name="fast", size=8)},
                else_branch = {squeezed.format(name="slow", size=4)}
            >
        }}
        """,
        named,
    )
    save(
        "contradictions",
        """
        contradictions (
            float[a] p, float[b] q, float[2, c] m, float[d, 2] w, float[e, 2] thin, int64[2] shape, int64[1] target,
            int64[1] filled, int64 step, int64[1] k, int64 at, int64[2, 1] tuples, int64[2] places, int64[2] parts,
            int64[2] pads, string[1] text
        ) => (
            float[o1] sum, float[o2, o3] product, float[o4, 2] joined, float[o5, o6] reshaped, float[2] squeezed,
            float[o7] expanded, float[o8] zeros, int64[o9] range, float[o10] top, float item, float[2] picked,
            float[a] written, float[o12] head, float[o13] tail, float[o14] padded, float[1] number
        )
            <int64 zero = {0}, int64 ten = {10}, float[2] two = {8, 9}, int64[1] first = {0}>
        {
            [sum] sum = Add (p, q)
            [product] product = MatMul (m, w)
            [joined] turned = Transpose (m)
            [joined] joined = Concat <axis = 0> (turned, w)
            [reshaped] reshaped = Reshape (m, shape)
            [squeezed] squeezed = Squeeze (thin, first)
            [expanded] expanded = Expand (p, target)
            [filled] zeros = ConstantOfShape (filled)
            [range] range = Range (zero, ten, step)
            [top] top, top_places = TopK (p, k)
            [items] items = SplitToSequence <keepdims = 0> (p)
            [item] item = SequenceAt (items, at)
            [picked] picked = GatherND (p, tuples)
            [written] written = ScatterElements (p, places, two)
            [split] head, tail = Split (p, parts)
            [padded] padded = Pad (p, pads)
            [text] number = Cast <to = 1> (text)
        }
        """,
        named,
    )
    save(
        "attention_heads",
        """
        attention_heads (
            float[b, heads, s, 8] q, float[b2, shared, t, 8] k, float[b3, shared2, t2, 8] v
        ) => (float[b, heads, s, 8] y) {
            [shared] y = Attention (q, k, v)
        }
        """,
        lambda model: named(with_opset(model, 23)),
    )
    save(
        "flex_attention_heads",
        """
        flex_attention_heads (
            float[b, heads, s, 8] q, float[b2, shared, t, 8] k, float[b3, shared2, t2, 8] v
        ) => (float[b, heads, s, 8] y) {
            [shared] y = ai.onnx.preview.FlexAttention (q, k, v)
        }
        """,
        lambda model: named(with_preview(with_opset(model, 26))),
    )


if __name__ == "__main__":
    models()
