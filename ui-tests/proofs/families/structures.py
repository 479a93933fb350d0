"""Laws of normalizations, attention and rotary embeddings, over reals with functions that are not interpreted."""

from laws import Law

EPSILON = "1/100000"
ONE = {"LayerNormalization": {"epsilon": EPSILON, "axis": -1}, "RMSNormalization": {"epsilon": EPSILON, "axis": -1}}
ATTENTION = {"q": "N23H", "k": "N22H", "v": "N22H"}
FACTS = {"over": "reals", "sizes": (1, 2), "extended_size": 1}


def attention(query, key, value, scale="1", mask=""):
    """Attention of separate nodes, of operands with heads."""
    return f"MatMul(Softmax(MatMul({query}, Swap({key})) * {scale}{mask}), {value})"


LAWS = [
    Law("layer norm", shapes={"x": "N3"}, settings={"@axis": -1, "ReduceMean": {"axes": [-1]}}, **FACTS),
    Law(
        "layer norm",
        shapes={"x": "223"},
        settings={"@axis": 1},
        more=dict.fromkeys(["mean", "variance", "ReduceMean"], [[1, 2]]),
        over="reals",
        extended_size=1,
        note="over the last two axes",
    ),
    Law(
        "layer norm as batch norm",
        "x * (1 / Sqrt(ReduceMean((x - ReduceMean(x))^2) + #epsilon) * $scale) + ($bias - ReduceMean(x) "
        "* (1 / Sqrt(ReduceMean((x - ReduceMean(x))^2) + #epsilon) * $scale))",
        shapes={"x": "N3", "scale": "3", "bias": "3"},
        settings={"@axis": -1, "ReduceMean": {"axes": [-1]}},
        either_zero=True,
        extended={
            "the scale is finite": lambda d, v: d.finite(v["scale"]),
            "epsilon is positive": lambda d, v: [v["epsilon"][()].val > 0],
        },
        **FACTS,
    ),
    Law("rms norm", shapes={"x": "N3"}, settings={"@axis": -1, "ReduceMean": {"axes": [-1]}}, **FACTS),
    Law(
        "rms norm between casts",
        shapes={"x": "N3"},
        settings={"@axis": -1, "@epsilon": EPSILON, **ONE},
        note="casts are the identity on reals; the statistics are in single precision on both sides",
        **FACTS,
    ),
    Law(
        "layer norm between casts",
        "Cast(LayerNormalization(Cast(x), 1))",
        "LayerNormalization(x, 1)",
        shapes={"x": "N3"},
        settings=ONE,
        note="casts are the identity on reals; the statistics are in single precision on both sides",
        **FACTS,
    ),
    *(
        Law(
            "scale of a norm",
            f"{norm}(x, 1) * $scale",
            f"{norm}(x, $scale)",
            shapes={"x": "N3", "scale": "3"},
            settings=ONE,
            **FACTS,
        )
        for norm in ONE
    ),
    Law(
        "bias of a norm",
        "LayerNormalization(x, s) + $bias",
        "LayerNormalization(x, s, $bias)",
        settings=ONE,
        shapes={"x": "N3", "s": "3", "bias": "3"},
        **FACTS,
    ),
    Law(
        "group norm",
        "Reshape<>(InstanceNormalization(Groups(x), s, b), shape)",
        "GroupNormalization(x, s, b)",
        shapes={"x": "N42", "s": "2", "b": "2"},
        given={"shape": [0, 4, 2]},
        settings={
            "InstanceNormalization": {"epsilon": EPSILON},
            "GroupNormalization": {"epsilon": EPSILON, "count": 2},
            "Reshape": {},
        },
        **FACTS,
    ),
    Law(
        "group norm of rows",
        "Reshape(LayerNormalization(Groups(x), 1), shape)",
        "GroupNormalization(x, s, b)",
        shapes={"x": "N42", "s": "2", "b": "2"},
        given={"shape": [0, 4, 2], "s": [1, 1], "b": [0, 0]},
        either_zero=True,
        settings={**ONE, "GroupNormalization": {"epsilon": EPSILON, "count": 2}},
        **FACTS,
    ),
    *(
        Law(
            "scale and bias of channels",
            f"{norm}(x, one, zero) * Along<kind = Conv>($scale) + Along<kind = Conv>($bias)",
            f"{norm}(x, $scale, $bias)",
            shapes={"x": "N42", "scale": "4", "bias": "4"},
            given={"one": [1] * count, "zero": [0] * count},
            either_zero=True,
            settings={norm: {"epsilon": EPSILON, "count": count}},
            **FACTS,
        )
        for norm, count in (("InstanceNormalization", 4), ("GroupNormalization", 2))
    ),
    Law(
        "rotary embedding",
        "x * c + Halves(x) * s",
        "JoinedRotaryEmbedding(x, c, s)",
        shapes={"x": "NT4", "c": "T4", "s": "T4"},
        **FACTS,
    ),
    Law(
        "rotary embedding of halves",
        "Concat<axis = -1>(First(x) * c - Second(x) * s, Second(x) * c + First(x) * s)",
        "JoinedRotaryEmbedding(x, c, s)",
        shapes={"x": "NT4", "c": "T2", "s": "T2"},
        **FACTS,
    ),
    Law(
        "interleaved rotary embedding",
        "x * c + Pairs(x) * s",
        "JoinedRotaryEmbedding<interleaved = 1>(x, c, s)",
        shapes={"x": "NT4", "c": "T4", "s": "T4"},
        **FACTS,
    ),
    Law(
        "interleaved rotary embedding of pairs",
        "Interleave(First<pairs = 1>(x) * c - Second<pairs = 1>(x) * s, "
        "Second<pairs = 1>(x) * c + First<pairs = 1>(x) * s)",
        "JoinedRotaryEmbedding<interleaved = 1>(x, c, s)",
        shapes={"x": "NT4", "c": "T2", "s": "T2"},
        **FACTS,
    ),
    Law(
        "attention",
        attention("q", "k", "v", "#c", " + m"),
        "JoinedAttention<scale = #c, fills = added>(q, k, v, m)",
        shapes={**ATTENTION, "m": "32"},
        settings={},
        **FACTS,
    ),
    Law(
        "attention",
        "MatMul(Softmax(Where(m, MatMul(q, Swap(k)) * #c, #fill)), v)",
        "JoinedAttention<scale = #c, fills = chosen>(q, k, v, m)",
        shapes={**ATTENTION, "m": "32"},
        bools="m",
        given={"fill": "-1000000000"},
        **FACTS,
    ),
    Law(
        "factors of attention",
        "MatMul(q * #a, Swap(k) * #b) * #c",
        "MatMul(q, Swap(k)) * (#a * #b * #c)",
        shapes={"q": "NH", "k": "KH"},
        either_zero=True,
        over="reals",
        extended={
            "the factor of queries is finite": lambda d, v: d.finite(v["a"]),
            "the factor of keys is finite": lambda d, v: d.finite(v["b"]),
        },
    ),
    Law(
        "factors of attention",
        "JoinedAttention<scale = #c>(q * #a, k * #b, v)",
        "MatMul(Softmax(MatMul(q, Swap(k)) * #a * #b * #c), v)",
        shapes=ATTENTION,
        extended=None,
        **FACTS,
    ),
    Law(
        "shared heads of attention",
        "JoinedAttention<scale = #c>(q, Repeated<count = 2>(k), Repeated<count = 2>(v))",
        "JoinedAttention<scale = #c>(q, k, v)",
        shapes={"q": "N42H", "k": "N22H", "v": "N22H"},
        **FACTS,
    ),
    Law(
        "heads of operands",
        "JoinedAttention<scale = #c>(Heads<count = 2>(q), Heads<count = 2>(k), Heads<count = 2>(v))",
        "JoinedAttention<scale = #c, query_heads = 2, key_heads = 2>(q, k, v)",
        shapes={"q": "N34", "k": "N24", "v": "N22"},
        **FACTS,
    ),
    Law(
        "heads of a result",
        "Packed(JoinedAttention<scale = #c>(q, k, v))",
        "JoinedAttention<scale = #c, packed = 1>(q, k, v)",
        shapes=ATTENTION,
        **FACTS,
    ),
    Law(
        "heads of an Attention node",
        "Packed(Attention<scale = #c>(Heads<count = 2>(q), Heads<count = 2>(k), Heads<count = 2>(v)))",
        "Attention<scale = #c, query_heads = 2, key_heads = 2, packed = 1>(q, k, v)",
        shapes={"q": "N34", "k": "N24", "v": "N22"},
        **FACTS,
    ),
    Law(
        "heads merged with batches",
        "Unmerged<count = 2>(JoinedAttention<scale = #c>(Merged(q), Merged(k), Merged(v)))",
        "JoinedAttention<scale = #c>(q, k, v)",
        shapes=ATTENTION,
        **FACTS,
    ),
    Law(
        "heads of sequence-first attention",
        "FromSequenceFirst<count = 2>(JoinedAttention<scale = #c>(SequenceFirst<count = 2>(x), "
        "SequenceFirst<count = 2>(y), SequenceFirst<count = 2>(z)))",
        "BatchFirst(JoinedAttention<scale = #c, query_heads = 2, "
        "key_heads = 2, packed = 1>(BatchFirst(x), BatchFirst(y), BatchFirst(z)))",
        shapes={"x": "3N4", "y": "2N4", "z": "2N2"},
        **FACTS,
    ),
]
