"""Trains a monitor of pumps three times and writes `pump_1.onnx` to `pump_3.onnx` and `readings.csv`.

The first has seen one pump, the second many: the same network with other weights. The third has one more layer.

    pip install -r ../training/requirements.txt
    python train.py
"""

import sys
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import optax

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "training"))

from network import Compute, Export, fit  # noqa: E402

STATES = ["sound", "worn", "blocked"]
COLUMNS = ["pressure", "flow", "current", "heat", "vibration", "noise"]
# What wear and a blockage do to each column.
EFFECTS = np.array([[0] * 6, [-0.3, -0.5, 0.2, 1.0, 2.2, 1.9], [2.0, -2.2, 1.4, 1.0, 0.1, 0.4]])


def main():
    random = np.random.default_rng(1)
    train("pump_1", readings(random, 18, pumps=1), hidden=[16])
    train("pump_2", readings(random, 4_000, pumps=60), hidden=[16])
    train("pump_3", readings(random, 4_000, pumps=60), hidden=[16, 16])
    rows, states = readings(np.random.default_rng(2), 300, pumps=100)
    lines = [",".join([*(f"{value:.3f}" for value in row), STATES[state]]) for row, state in zip(rows, states)]
    (HERE / "readings.csv").write_text("\n".join([",".join([*COLUMNS, "state"]), *lines]) + "\n")


def readings(random, count, pumps):
    """Each pump has a base and a scale of its own."""
    base, scale = random.normal(0, 0.8, (pumps, 6)), random.uniform(0.8, 1.3, (pumps, 1))
    pump, states = random.integers(0, pumps, count), random.integers(0, 3, count)
    rows = (base[pump] + EFFECTS[states] * scale[pump] + random.normal(0, 0.25, (count, 6))) * 2 + 5
    return rows.round(3).astype(np.float32), states


def train(name, data, hidden):
    def forward(ops, x):
        for number, width in enumerate(hidden, 1):
            x = ops.relu(ops.linear(x, f"layer{number}", width))
        return ops.linear(x, "state", len(STATES))

    def loss(weights, batch):
        x, states = batch
        logits = forward(Compute(weights), x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, states).mean(), {}

    def batches():
        while True:
            chosen = random.integers(0, len(rows), 128)
            yield jnp.asarray(rows[chosen]), jnp.asarray(states[chosen])

    random, weights, (rows, states) = np.random.default_rng(0), {}, data
    forward(Compute(weights, random), rows[:1])
    export = Export(fit(loss, weights, batches(), 1_000, rate=1e-2))
    export.node("Softmax", [forward(export, "readings")], "probabilities", name="softmax", axis=1)
    outputs = {"probabilities": ["count", len(STATES)]}
    # Versions have the same name of the graph, too: a file may differ in nothing but the weights.
    export.save(HERE / f"{name}.onnx", {"readings": ["count", len(COLUMNS)]}, outputs, name="pump")


if __name__ == "__main__":
    main()
