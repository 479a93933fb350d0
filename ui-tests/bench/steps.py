"""Compares tokens per second of a decoder with caches, `llama_110m` of `ui-tests/models/large.py`, with ONNX Runtime, in turns.

    python ui-tests/models/large.py FOLDER llama_110m
    python ui-tests/bench/steps.py FOLDER --cached 128 1500 --threads 1 2

Each engine reads the cached tokens, then writes tokens one by one, and keeps its caches between steps. Needs onnxruntime, numpy and
cargo. The program is built in the target folder.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute() / "steps"
# Tokens of one step while the cached tokens are read.
STEP = 512
WORDS = 32000

MANIFEST = """[workspace]

[package]
name = "steps"
version = "0.1.0"
edition = "2024"

[dependencies]
onnx-embed = {{ path = {runtime} }}
"""

PROGRAM = """
use std::time::Instant;

use onnx_embed::{{Device, Int, Tensor}};

onnx_embed::onnx_model! {{
    #[onnx(weights = "file", state("past_*" = "present_*"))]
    struct Llama = {path};
}}

fn main() {{
    let numbers: Vec<usize> = std::env::args().skip(1).map(|text| text.parse().unwrap()).collect();
    let [cached, tokens] = numbers[..] else {{ panic!("expected two numbers") }};
    let device = Device::flex();
    let model = Llama::from_file({path}, &device).unwrap();
    let mut state = model.state(1);
    let mut step = |ids: &[i64]| {{
        let mask = Tensor::ones([1, state.len() + ids.len()], &device);
        let ids = Tensor::<1, Int>::from_ints(ids, &device).unsqueeze();
        let scores = model.step(&mut state, LlamaStep {{ ids, mask }});
        let [_, count, words] = scores.dims();
        scores.slice([0..1, count - 1..count, 0..words]).reshape([-1]).argmax(0).into_scalar::<i64>()
    }};
    let ids: Vec<i64> = (0..cached as i64).map(|at| (at * 7919 + 13) % {words}).collect();
    let mut next = 0;
    for ids in ids.chunks({step}) {{
        next = step(ids);
    }}
    let start = Instant::now();
    for _ in 0..tokens {{
        next = step(&[next]);
    }}
    println!("{{}} {{next}}", tokens as f64 / start.elapsed().as_secs_f64());
}}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cached", type=int, nargs="+", default=[128, 1500])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer", type=int, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    path = (arguments.folder / "llama_110m/llama_110m.onnx").absolute()
    if arguments.peer:
        return onnx_runtime(path, *arguments.peer, arguments.tokens)
    program = build(path)
    for cached in arguments.cached:
        for threads in arguments.threads:
            rates = {"onnx-embed": [], "ONNX Runtime": []}
            last = set()
            for _ in range(arguments.rounds):
                peer = [sys.executable, __file__, arguments.folder, "--tokens", arguments.tokens, "--peer", cached, threads]
                for name, command in (("onnx-embed", [program, cached, arguments.tokens]), ("ONNX Runtime", peer)):
                    rate, token = run(command, threads)
                    rates[name].append(rate)
                    last.add(token)
            medians = {name: statistics.median(values) for name, values in rates.items()}
            ratio = medians["onnx-embed"] / medians["ONNX Runtime"]
            shown = ", ".join(f"{name} {rate:.1f}" for name, rate in medians.items())
            same = "equal tokens" if len(last) == 1 else f"the last tokens are {sorted(last)}"
            print(f"{cached} cached, {threads} threads: {shown} tokens per second, ratio {ratio:.2f}, {same}", flush=True)


def run(command, threads):
    environment = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
    result = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, check=True)
    rate, token = result.stdout.split()
    return float(rate), int(token)


def build(path):
    """Builds the program and returns its path."""
    quoted = f'"{path}"'
    (TARGET / "src").mkdir(parents=True, exist_ok=True)
    runtime = f'"{ROOT / "runtime"}"'
    (TARGET / "Cargo.toml").write_text(MANIFEST.format(runtime=runtime))
    (TARGET / "src/main.rs").write_text(PROGRAM.format(path=quoted, words=WORDS, step=STEP))
    command = ["cargo", "build", "--release", "--target-dir", TARGET / "target"]
    subprocess.run(command, cwd=TARGET, check=True)
    return TARGET / "target/release/steps"


def onnx_runtime(path, cached, threads, tokens):
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    value = onnxruntime.OrtValue.ortvalue_from_numpy
    past = {port.name: value(numpy.zeros((1, port.shape[1], 0, port.shape[3]), numpy.float32))
            for port in session.get_inputs() if port.name.startswith("past_")}
    outputs = [port.name for port in session.get_outputs()]
    seen = 0

    def step(ids):
        nonlocal seen
        seen += len(ids)
        inputs = {"ids": value(numpy.array([ids], numpy.int64)), "mask": value(numpy.ones((1, seen), numpy.int64))}
        results = dict(zip(outputs, session.run_with_ort_values(outputs, {**inputs, **past})))
        for name in past:
            past[name] = results[name.replace("past_", "present_")]
        return int(results["logits"].numpy()[0, -1].argmax())

    ids = [(at * 7919 + 13) % WORDS for at in range(cached)]
    for at in range(0, cached, STEP):
        token = step(ids[at : at + STEP])
    start = time.perf_counter()
    for _ in range(tokens):
        token = step([token])
    print(tokens / (time.perf_counter() - start), token)


if __name__ == "__main__":
    main()
