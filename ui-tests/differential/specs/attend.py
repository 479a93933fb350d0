"""Attention and rotary embeddings."""

import numpy as np

from specs import of


def terms(d, dtype, shape):
    return d.plain(dtype, shape, -1.5, 1.5)


@of("Attention")
def attention(d):
    dtype = d.type()
    batch, groups, keys = d.int(1, 2), d.int(1, 3), d.int(1, 2)
    queries = keys * groups
    q_len, k_len, size, v_size = d.int(1, 5), d.int(1, 6), d.int(1, 5), d.int(1, 5)
    packed = d.chance(0.3)
    form = lambda heads, length, width: [batch, length, heads * width] if packed else [batch, heads, length, width]
    attributes = {"q_num_heads": queries, "kv_num_heads": keys} if packed else {}
    attributes |= d.some(is_causal=[0, 1], scale=[0.5, 1.0], softcap=[0.0, 2.0])
    past = d.int(1, 3) if d.chance(0.3) else 0
    total = k_len + past
    mask = None
    if d.chance(0.6):
        shape = d.pick([[q_len, total], [1, q_len, total], [batch, 1, q_len, total], [batch, queries, q_len, total]])
        mask = d.plain(np.dtype(bool), shape) if d.chance(0.5) else terms(d, dtype, shape)
        if mask.dtype == bool:
            mask[..., 0] = True
        elif d.chance(0.4):
            mask = np.where(d.g.random(mask.shape) < 0.2, -np.inf, mask).astype(dtype)
    inputs = [terms(d, dtype, form(queries, q_len, size)), terms(d, dtype, form(keys, k_len, size)),
              terms(d, dtype, form(keys, k_len, v_size)), mask]
    outputs = 1
    if past:
        inputs += [terms(d, dtype, [batch, keys, past, size]), terms(d, dtype, [batch, keys, past, v_size])]
        outputs = 3
    return inputs, attributes, outputs


@of("RotaryEmbedding")
def rotary(d):
    dtype = d.type()
    batch, heads, length, half = d.int(1, 2), d.int(1, 3), d.int(1, 4), d.int(1, 3)
    partial = d.chance(0.3)
    size = 2 * half + (2 if partial else 0)
    attributes = d.some(interleaved=[0, 1]) | ({"rotary_embedding_dim": 2 * half} if partial else {})
    packed = d.chance(0.4)
    if packed:
        attributes["num_heads"] = heads
    x = terms(d, dtype, [batch, length, heads * size] if packed else [batch, heads, length, size])
    if d.chance(0.5):
        rows = d.int(length, 8)
        ids = d.plain(np.dtype(np.int64), [batch, length], 0, rows - 1)
        return [x, terms(d, dtype, [rows, half]), terms(d, dtype, [rows, half]), ids], attributes
    return [x, terms(d, dtype, [batch, length, half]), terms(d, dtype, [batch, length, half])], attributes
