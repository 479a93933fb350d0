"""Transcribes a recording with ONNX Runtime.

    pip install onnxruntime numpy
    python3 examples/transcribe/check.py                       # compares the text with expected.txt
    python3 examples/transcribe/check.py --record              # writes expected.txt
    python3 examples/transcribe/check.py --repeat 5 --threads 1    # and prints the time of the fastest run

A test of the program compares its text with `expected.txt`.
"""

import argparse
import sys
import time
import wave
from pathlib import Path

import numpy as np
import onnxruntime

HERE = Path(__file__).resolve().parent
EXPECTED = HERE / "expected.txt"
MODEL = HERE / "model"
RATE, START, END, TOKENS = 16_000, 1, 2, 7


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0)
    arguments = parser.parse_args()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = arguments.threads
    sessions = [
        onnxruntime.InferenceSession(MODEL / f"{name}.onnx", options, ["CPUExecutionProvider"])
        for name in ("encoder", "decoder")
    ]
    samples = read(MODEL / "beckett.wav")
    times = []
    for _ in range(arguments.repeat):
        start = time.perf_counter()
        tokens, margin = transcribe(*sessions, samples)
        times.append(time.perf_counter() - start)
    text = written(tokens)
    print(f"{text}\n\nThe best token is ahead of the second by {margin:.3f} or more.")
    print(f"{len(samples) / RATE:.1f} s of sound, {len(tokens)} tokens, in {min(times):.2f} s", file=sys.stderr)
    if arguments.record:
        EXPECTED.write_text(f"{text}\n", encoding="utf-8")
    elif text + "\n" != EXPECTED.read_text(encoding="utf-8"):
        sys.exit(f"the text is not that of {EXPECTED}")


def read(path):
    with wave.open(str(path)) as file:
        assert (file.getframerate(), file.getsampwidth(), file.getnchannels()) == (RATE, 2, 1)
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32768


def transcribe(encoder, decoder, samples):
    """Returns the tokens, and the smallest distance of a chosen token's score from the next one."""
    mask = np.ones((1, len(samples)), np.int64)
    [features] = encoder.run(None, {"input_values": samples[None], "attention_mask": mask})
    past = {port.name: np.zeros((1, port.shape[1], 0, port.shape[3]), np.float32)
            for port in decoder.get_inputs() if port.name.startswith("past")}
    outputs = [port.name for port in decoder.get_outputs()]
    tokens, margin = [], np.inf
    while len(tokens) < len(samples) * TOKENS // RATE:
        inputs = {"encoder_attention_mask": mask, "encoder_hidden_states": features, **past,
                  "input_ids": np.array([tokens[-1:] or [START]], np.int64),
                  "use_cache_branch": np.array([bool(tokens)])}
        results = dict(zip(outputs, decoder.run(None, inputs)))
        for name in past:
            # The first step computes keys and values of the sound.
            if ".decoder." in name or not tokens:
                past[name] = results[name.replace("past_key_values", "present")]
        scores = results["logits"][0, -1]
        second, best = sorted(np.argpartition(scores, -2)[-2:], key=lambda token: scores[token])
        margin = min(margin, scores[best] - scores[second])
        if best == END:
            break
        tokens.append(int(best))
    return tokens, margin


def written(tokens):
    """Returns the text of tokens. Each is stored as its length, in one byte or two, and its bytes."""
    content = (MODEL / "tokenizer.bin").read_bytes()
    table, at = [], 0
    while at < len(content):
        length = content[at]
        if length >= 128:
            at += 1
            length += content[at] * 128 - 128
        table.append(content[at + 1 : at + 1 + length])
        at += 1 + length
    text = b"".join(table[token] for token in tokens).decode(errors="replace")
    return text.replace("\u2581", " ").strip()


if __name__ == "__main__":
    main()
