"""Generates the most likely answer with ONNX Runtime.

    pip install onnxruntime tokenizers
    python3 examples/generate/check.py                       # compares the answer with expected.txt
    python3 examples/generate/check.py --record              # writes expected.txt
    python3 examples/generate/check.py --threads 2 --tokens 128    # and prints tokens per second

The first line of `expected.txt` is a question. A test of the program compares its answer with the other lines.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

HERE = Path(__file__).resolve().parent
EXPECTED = HERE / "expected.txt"
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--question")
    parser.add_argument("--tokens", type=int, default=96)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--model", default=HERE / "model/smollm2.onnx")
    arguments = parser.parse_args()
    question, _, expected = EXPECTED.read_text().partition("\n") if EXPECTED.exists() else ("", "", "")
    question = arguments.question or question
    tokenizer = Tokenizer.from_file(str(HERE / "model/tokenizer.json"))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = arguments.threads
    session = onnxruntime.InferenceSession(arguments.model, options, ["CPUExecutionProvider"])
    answer, margin = generate(session, tokenizer, question, arguments.tokens)
    print(f"{answer}\n\nThe best token is ahead of the second by {margin:.3f} or more.")
    if arguments.record:
        EXPECTED.write_text(f"{question}\n{answer}\n")
    elif not arguments.question and answer + "\n" != expected:
        sys.exit(f"the answer is not that of {EXPECTED}")


def generate(session, tokenizer, question, count):
    """Returns the answer, and the smallest distance of a chosen token's score from the next one."""
    turns = [("system", SYSTEM), ("user", question)]
    prompt = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns) + "<|im_start|>assistant\n"
    new, answer, margin = tokenizer.encode(prompt).ids, [], np.inf
    end = tokenizer.token_to_id("<|im_end|>")
    names = [port.name for port in session.get_inputs()][1:]
    shapes = {port.name: port.shape for port in session.get_inputs()}
    empty = [np.zeros((1, shapes[name][1], 0, shapes[name][3]), np.float32) for name in names]
    caches = [onnxruntime.OrtValue.ortvalue_from_numpy(cache) for cache in empty]
    outputs = [port.name for port in session.get_outputs()]
    times = [time.perf_counter()]
    while len(answer) < count:
        ids = onnxruntime.OrtValue.ortvalue_from_numpy(np.array([new], np.int64))
        logits, *caches = session.run_with_ort_values(outputs, {"input_ids": ids, **dict(zip(names, caches))})
        scores = logits.numpy()[0]
        second, best = sorted(np.argpartition(scores, -2)[-2:], key=lambda token: scores[token])
        margin = min(margin, scores[best] - scores[second])
        times.append(time.perf_counter())
        if best == end:
            break
        answer.append(int(best))
        new = [int(best)]
    first, rest = times[1] - times[0], max(times[-1] - times[1], 1e-9)
    rates = len(tokenizer.encode(prompt).ids) / first, (len(times) - 2) / rest
    print("question: {:.1f} tokens per second; answer: {:.1f}".format(*rates), file=sys.stderr)
    return tokenizer.decode(answer), margin


if __name__ == "__main__":
    main()
