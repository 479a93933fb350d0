"""Trains a detector of speech on signals made in `signals.py` and writes `vad.onnx` and `sample.wav`.

    pip install -r ../training/requirements.txt
    python train.py                                # some 3 minutes on two cores
"""

import sys
import wave
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "training"))

from network import Compute, Export, fit  # noqa: E402
from signals import FRAME, RATE, clip  # noqa: E402

BANDS, WIDTH = 24, 32
CLIPS, SECONDS, STEPS, BATCH = 300, 8, 800, 16
WINDOW = np.hanning(FRAME + 1)[:-1].astype(np.float32)


def main():
    random = np.random.default_rng(1)
    pairs = [clip(random, SECONDS) for _ in range(CLIPS)]
    inputs, answers = np.stack([features(sound) for sound, _ in pairs]), np.stack([frames for _, frames in pairs])
    weights = {}
    network(Compute(weights, random), inputs[:1])

    def loss(weights, batch):
        x, wanted = batch
        logits = network(Compute(weights), x)
        return (jnp.logaddexp(0, logits) - wanted * logits).mean(), {}

    def batches():
        while True:
            chosen = random.integers(0, CLIPS, BATCH)
            yield jnp.asarray(inputs[chosen]), jnp.asarray(answers[chosen])

    path = HERE / "vad.onnx"
    export(fit(loss, weights, batches(), STEPS), path)
    measure(path)
    sound, frames = clip(np.random.default_rng(5), SECONDS)
    with wave.open(str(HERE / "sample.wav"), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes((sound * 32767).astype("<i2").tobytes())
    (HERE / "sample.txt").write_text("".join(str(int(frame)) for frame in frames) + "\n")


def bands():
    """Triangles of equal width in the mel scale, `[FRAME / 2 + 1, BANDS]`."""
    mel = lambda hertz: 1127 * np.log1p(hertz / 700)  # noqa: E731
    places = np.linspace(mel(60), mel(RATE / 2), BANDS + 2)
    at = mel(np.linspace(0, RATE / 2, FRAME // 2 + 1))[:, None]
    rise, fall = (at - places[:-2]) / np.diff(places)[:-1], (places[2:] - at) / np.diff(places)[1:]
    return np.clip(np.minimum(rise, fall), 0, 1).astype(np.float32)


def features(sound):
    spectrum = np.fft.rfft(sound.reshape(-1, FRAME) * WINDOW)
    return np.log(np.abs(spectrum) ** 2 @ bands() + 1e-4).astype(np.float32)


def network(ops, x):
    """Logits of speech for `[clips, frames, BANDS]`."""
    x = jax.nn.relu(ops.linear(x * 0.2, "bands", WIDTH))
    gates = ops.weight("gru.weight_ih", (3 * WIDTH, WIDTH), WIDTH**-0.5)
    again = ops.weight("gru.weight_hh", (3 * WIDTH, WIDTH), WIDTH**-0.5)
    bias, again_bias = ops.vector("gru.bias_ih", 3 * WIDTH), ops.vector("gru.bias_hh", 3 * WIDTH)

    def step(state, x):
        z, r, new = jnp.split(x, 3, -1)
        old_z, old_r, old_new = jnp.split(state @ again.T + again_bias, 3, -1)
        z = jax.nn.sigmoid(z + old_z)
        state = (1 - z) * jnp.tanh(new + jax.nn.sigmoid(r + old_r) * old_new) + z * state
        return state, state

    x = jnp.swapaxes(x @ gates.T + bias, 0, 1)
    _, states = jax.lax.scan(step, jnp.zeros((x.shape[1], WIDTH)), x)
    return jnp.swapaxes(ops.linear(states, "speech", 1)[..., 0], 0, 1)


def export(weights, path):
    """From samples to probabilities, with the state of the recurrent layer as input and output."""
    ops = Export(weights)
    node, constant = ops.node, ops.constant
    last, whole = constant("last_axis", np.array([-1])), constant("length", np.int64(FRAME))
    x = node("Mul", ["samples", constant("window", WINDOW)], name="window")
    x = node("Unsqueeze", [x, last])
    x = node("DFT", [x, whole, constant("axis", np.int64(1))], name="spectrum", onesided=1)
    x = node("ReduceSumSquare", [x, last], keepdims=0)
    x = node("Add", [node("MatMul", [x, constant("mel", bands())]), constant("floor", np.float32(1e-4))])
    x = node("Mul", [node("Log", [x]), constant("fifth", np.float32(0.2))])
    x = node("Unsqueeze", [ops.relu(ops.linear(x, "bands", WIDTH)), constant("batch_axis", np.array([1]))])
    stacked = [constant(f"gru.{part}", np.asarray(weights[f"gru.{part}"])[None]) for part in ("weight_ih", "weight_hh")]
    biases = np.concatenate([weights["gru.bias_ih"], weights["gru.bias_hh"]])[None]
    options = {"hidden_size": WIDTH, "linear_before_reset": 1}
    inputs = [x, *stacked, constant("gru.bias", biases), "", "state"]
    states = node("GRU", inputs, name="gru", **options)
    ops.nodes[-1].output.append("next_state")
    flat = node("Reshape", [states, constant("rows", np.array([-1, WIDTH]))])
    logits = node("Squeeze", [ops.linear(flat, "speech", 1), last])
    node("Sigmoid", [logits], "speech", name="sigmoid")
    state = [1, 1, WIDTH]
    ops.save(path, {"samples": ["frames", FRAME], "state": state}, {"speech": ["frames"], "next_state": state})


def measure(path):
    run, random, right = onnxruntime.InferenceSession(path).run, np.random.default_rng(2), []
    for _ in range(50):
        sound, frames = clip(random, SECONDS)
        state = np.zeros((1, 1, WIDTH), np.float32)
        speech, _ = run(None, {"samples": sound.reshape(-1, FRAME), "state": state})
        right.append((speech > 0.5) == frames)
    print(f"{path.stat().st_size} bytes, accuracy on 50 unseen clips {np.mean(right):.1%}")


if __name__ == "__main__":
    main()
