// The two engines, each with the same three calls: `open`, `load(file)` and `run(inputs)`.

/** This project's module. */
export class Ours {
  name = "onnx-embed";

  async open() {
    const { default: init, start } = await import("/package/bench_web.js");
    this.module = await init();
    this.gpu = await start();
  }

  async load(id, file) {
    this.model = this.gpu.load(id, file);
  }

  /** Numbers of each output, in the order of the file. */
  async run(inputs) {
    const taken = this.gpu.inputs();
    for (const { dtype, shape, data } of inputs)
      taken[dtype](Uint32Array.from(shape), data instanceof BigInt64Array ? Int32Array.from(data, Number) : data);
    return await this.model.run(taken);
  }

  memoryBytes() {
    return this.module.memory.buffer.byteLength;
  }
}

/** onnxruntime-web with its provider for WebGPU, as its documentation has it. */
export class Theirs {
  name = "onnxruntime-web";

  async open() {
    const memory = WebAssembly.Memory;
    const made = (this.memories = []);
    WebAssembly.Memory = class extends memory {
      constructor(...args) {
        super(...args);
        made.push(this);
      }
    };
    this.ort = await import("/peer/dist/ort.webgpu.bundle.min.mjs");
    this.ort.env.wasm.wasmPaths = "/peer/dist/";
    this.ort.env.logLevel = "error";
  }

  async load(_, file) {
    this.session = await this.ort.InferenceSession.create(file, { executionProviders: ["webgpu"] });
  }

  async run(inputs) {
    const feeds = {};
    for (const { name, dtype, data, shape } of inputs) feeds[name] = new this.ort.Tensor(dtype, data, shape);
    const outputs = await this.session.run(feeds);
    return this.session.outputNames.map((name) => outputs[name].data);
  }

  memoryBytes() {
    return this.memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0);
  }
}
