// Loads the model of the address in both engines, compares their outputs, and posts what each took.

import { Counts, countFor } from "./count.js";
import { Ours, Theirs } from "./engines.js";
import { times as kernelTimes } from "./profile.js";

const query = new URLSearchParams(location.search);

// A panic of the module says there why it came.
const errors = [];
const report = console.error;
console.error = (...words) => {
  errors.push(words.join(" "));
  report.apply(console, words);
};

async function main() {
  const file = new Uint8Array(await (await fetch(`/model/${query.get("model")}.onnx`)).arrayBuffer());
  const inputs = tensors(await (await fetch("/values/inputs")).arrayBuffer());
  const adapter = await warm();
  const engines = [new Ours(), new Theirs()].map((engine) => ({ engine, counts: new Counts(), times: [] }));
  for (const each of engines) {
    try {
      await first(each, file, inputs);
    } catch (problem) {
      throw new Error(`${each.engine.name}: ${problem?.message ?? problem}`);
    }
  }
  const distance = farthest(engines[0].outputs, engines[1].outputs);
  if (query.has("profile")) return { profiles: await kernelTimes(engines, inputs) };
  for (let round = 0; round < Number(query.get("rounds")); round++)
    for (const each of round % 2 ? engines.toReversed() : engines)
      each.times.push(await turn(each, inputs, Number(query.get("seconds")) * 1e3));
  const results = engines.map((each) => [each.engine.name, { ...each.figures, rounds: each.times }]);
  return { adapter, distance, agent: navigator.userAgent, engines: Object.fromEntries(results) };
}

/** Starts the process that has the adapter, so that no engine pays for it. */
async function warm() {
  const adapter = await navigator.gpu.requestAdapter();
  const device = await adapter.requestDevice();
  const module = device.createShaderModule({ code: "@compute @workgroup_size(1) fn main() {}" });
  const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module } });
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.dispatchWorkgroups(1);
  pass.end();
  device.queue.submit([encoder.finish()]);
  await device.queue.onSubmittedWorkDone();
  device.destroy();
  return `${adapter.info.vendor} ${adapter.info.architecture}`;
}

async function first(each, file, inputs) {
  const { engine, counts } = each;
  countFor(counts);
  const clock = [performance.now()];
  await engine.open();
  clock.push(performance.now());
  await engine.load(query.get("model"), file);
  clock.push(performance.now());
  each.outputs = await engine.run(inputs);
  clock.push(performance.now());
  const built = counts.take();
  await engine.run(inputs);
  const call = counts.take();
  each.figures = {
    openMs: clock[1] - clock[0],
    loadMs: clock[2] - clock[1],
    firstMs: clock[3] - clock[2],
    pipelines: built.pipelines,
    laterPipelines: call.pipelines,
    shaderBytes: built.shaderBytes,
    dispatches: call.dispatches,
    submits: call.submits,
    maps: call.maps,
    copies: call.copies,
    bufferBytes: counts.bufferBytes,
    peakBufferBytes: counts.peakBytes,
    memoryBytes: engine.memoryBytes(),
  };
}

/** The median of calls for so long, one at least. */
async function turn({ engine, counts }, inputs, milliseconds) {
  countFor(counts);
  const times = [];
  const start = performance.now();
  while (times.length === 0 || performance.now() - start < milliseconds) {
    const begin = performance.now();
    await engine.run(inputs);
    times.push(performance.now() - begin);
  }
  return times.sort((one, other) => one - other)[times.length >> 1];
}

/** The tensors of a file that `values.py` wrote. */
function tensors(buffer) {
  const bytes = new Uint8Array(buffer);
  const line = bytes.indexOf(10);
  const kinds = { float32: Float32Array, int64: BigInt64Array };
  let at = line + 1;
  return JSON.parse(new TextDecoder().decode(bytes.subarray(0, line))).map(({ name, dtype, shape, bytes: size }) => {
    const data = new kinds[dtype](buffer.slice(at, (at += size)));
    return { name, dtype, shape, data };
  });
}

/** The largest difference of an output as a share of its largest element. */
function farthest(ours, theirs) {
  if (ours.length !== theirs.length) throw new Error(`${ours.length} outputs and ${theirs.length}`);
  let worst = 0;
  for (const [index, wanted] of theirs.entries()) {
    const found = ours[index];
    if (found.length !== wanted.length) throw new Error(`output ${index}: ${found.length} and ${wanted.length} elements`);
    let largest = 0;
    let difference = 0;
    for (let at = 0; at < found.length; at++) {
      const right = Number(wanted[at]);
      largest = Math.max(largest, Math.abs(right));
      // Math.max keeps what is no number.
      difference = Math.max(difference, Math.abs(found[at] - right));
    }
    worst = Math.max(worst, difference / (largest || 1));
  }
  return worst;
}

main()
  .catch((problem) => ({ problem: [problem?.message ?? problem, ...errors].join("\n") }))
  .then((answer) => fetch("/result", { method: "POST", body: JSON.stringify(answer) }));
