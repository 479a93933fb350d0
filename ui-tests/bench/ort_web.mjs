// onnxruntime-web on one thread of WebAssembly, in node, for `bench.py --wasm`: the protocol of the programs in `protocol`.
//
// Words: its module, a model, a file of inputs, a file for outputs and a number of threads.

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const FEWEST = 3;

// Arrays of elements of each dtype of numpy, by the name that onnxruntime-web has for it.
const ARRAYS = {
  bool: ["bool", Uint8Array],
  float16: ["float16", Uint16Array],
  float32: ["float32", Float32Array],
  float64: ["float64", Float64Array],
  int8: ["int8", Int8Array],
  int32: ["int32", Int32Array],
  int64: ["int64", BigInt64Array],
  uint8: ["uint8", Uint8Array],
};

const [module, model, inputs, outputs, threads] = process.argv.slice(2);

async function serve() {
  const ort = await import(pathToFileURL(join(dirname(module), "ort.node.min.mjs")));
  ort.env.wasm.numThreads = Number(threads);
  ort.env.logLevel = "error";
  const feeds = read(ort, inputs);
  let start = performance.now();
  const session = await ort.InferenceSession.create(model, { executionProviders: ["wasm"] });
  const load_ms = performance.now() - start;
  const loaded_bytes = reported("VmRSS");
  start = performance.now();
  const first = await session.run(feeds);
  const first_ms = performance.now() - start;
  write(outputs, first);
  answer({ load_ms, first_ms, peak_bytes: peak(), loaded_bytes });
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.startsWith("idle ")) {
      await new Promise((rested) => setTimeout(rested, Number(line.slice("idle ".length)) * 1e3));
      answer({ held_bytes: reported("VmRSS") });
      continue;
    }
    answer({ ...(await measured(() => session.run(feeds), Number(line) * 1e3)), peak_bytes: peak() });
  }
}

async function measured(call, milliseconds) {
  const times = [];
  const start = performance.now();
  while (times.length < FEWEST || performance.now() - start < milliseconds) {
    const began = performance.now();
    await call();
    times.push(performance.now() - began);
  }
  // Programs for WASI have no processor time either.
  const cpu_ms = (performance.now() - start) / times.length;
  times.sort((one, other) => one - other);
  const runs = times.length;
  return { runs, median_ms: times[Math.floor(runs / 2)], least_ms: times[0], cpu_ms, faults: 0 };
}

function read(ort, path) {
  const bytes = readFileSync(path);
  let at = bytes.indexOf("\n") + 1;
  const feeds = {};
  for (const { name, dtype, shape, bytes: length } of JSON.parse(bytes.subarray(0, at))) {
    if (!(dtype in ARRAYS)) {
      throw new Error(`an input of type ${dtype}`);
    }
    const [type, Elements] = ARRAYS[dtype];
    // A copy, which is aligned.
    const elements = new Elements(Uint8Array.from(bytes.subarray(at, at + length)).buffer);
    feeds[name] = new ort.Tensor(type, elements, shape);
    at += length;
  }
  return feeds;
}

// Writes the outputs, all as 32-bit floats.
function write(path, tensors) {
  const entries = [];
  const parts = [];
  for (const [name, { data, dims, type }] of Object.entries(tensors)) {
    if (type === "string" || type === "float16") {
      throw new Error(`an output of type ${type}`);
    }
    const elements = Float32Array.from(data, Number);
    entries.push({ name, dtype: "float32", shape: dims, bytes: elements.byteLength });
    parts.push(Buffer.from(elements.buffer));
  }
  writeFileSync(path, Buffer.concat([Buffer.from(`${JSON.stringify(entries)}\n`), ...parts]));
}

function peak() {
  return reported("VmHWM");
}

// A size in bytes that the system reports about this process.
function reported(name) {
  const [, kibibytes] = readFileSync("/proc/self/status", "utf8").match(new RegExp(`^${name}:\\s*(\\d+) kB$`, "m"));
  return Number(kibibytes) * 1024;
}

function answer(what) {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

try {
  await serve();
} catch (problem) {
  answer({ problem: String(problem.message ?? problem).slice(0, 400) });
  process.exitCode = 1;
}
