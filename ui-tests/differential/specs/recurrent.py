"""Recurrent layers."""

import numpy as np

from specs import of

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


@of(*GATES)
def recurrent(d):
    name = d.schema.name
    gates, dtype = GATES[name], d.type()
    steps, batch, features, hidden = d.int(1, 4), d.int(1, 3), d.int(1, 4), d.int(1, 5)
    direction = d.pick(["forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    layout = d.pick([0, 0, 1]) if d.has("layout") and d.version >= 14 else 0
    plain = lambda *shape: d.plain(dtype, shape, -1, 1)
    x = plain(*((batch, steps, features) if layout else (steps, batch, features)))
    state = lambda: plain(*((batch, ways, hidden) if layout else (ways, batch, hidden))) if d.chance(0.5) else None
    inputs = [x, plain(ways, gates * hidden, features), plain(ways, gates * hidden, hidden),
              plain(ways, 2 * gates * hidden) if d.chance(0.6) else None,
              d.plain(np.dtype(np.int32), [batch], 1, steps) if d.chance(0.4) else None, state()]
    attributes = {"hidden_size": hidden, "direction": direction} | ({"layout": 1} if layout else {})
    attributes |= d.some(clip=[0.5, 3.0], linear_before_reset=[0, 1], input_forget=[0, 1])
    if name == "LSTM":
        inputs += [state(), plain(ways, 3 * hidden) if d.chance(0.3) else None]
    each = {"RNN": 1, "GRU": 2, "LSTM": 3}[name]
    if d.chance(0.4):
        attributes["activations"] = [d.pick(["Relu", "Tanh", "Sigmoid", "Softsign", "Softplus"]) for _ in range(each * ways)]
    if d.version == 1:
        attributes["output_sequence"] = 1
    return inputs, attributes, 3 if name == "LSTM" else 2
