// Counts what goes to a device of WebGPU, for every engine alike: loaded before any of them.

/** What engines have asked for since the last `take`, and buffers that are alive. */
export class Counts {
  dispatches = 0;
  copies = 0;
  submits = 0;
  maps = 0;
  pipelines = 0;
  shaderBytes = 0;
  bufferBytes = 0;
  peakBytes = 0;

  take() {
    const now = { ...this };
    this.dispatches = this.copies = this.submits = this.maps = this.pipelines = this.shaderBytes = 0;
    return now;
  }
}

let current = new Counts();

/** Counts for `counts` from now on. */
export function countFor(counts) {
  current = counts;
}

function before(prototype, name, note) {
  const original = prototype[name];
  prototype[name] = function (...args) {
    note.apply(this, args);
    return original.apply(this, args);
  };
}

function after(prototype, name, note) {
  const original = prototype[name];
  prototype[name] = function (...args) {
    const result = original.apply(this, args);
    note.call(this, result, ...args);
    return result;
  };
}

const sizes = new WeakMap();

for (const name of ["dispatchWorkgroups", "dispatchWorkgroupsIndirect"])
  before(GPUComputePassEncoder.prototype, name, () => current.dispatches++);
for (const name of ["copyBufferToBuffer", "clearBuffer"])
  before(GPUCommandEncoder.prototype, name, () => current.copies++);
before(GPUQueue.prototype, "submit", () => current.submits++);
before(GPUBuffer.prototype, "mapAsync", () => current.maps++);
for (const name of ["createComputePipeline", "createComputePipelineAsync"])
  before(GPUDevice.prototype, name, () => current.pipelines++);
before(GPUDevice.prototype, "createShaderModule", ({ code }) => (current.shaderBytes += code.length));

after(GPUDevice.prototype, "createBuffer", (buffer, { size }) => {
  const counts = current;
  counts.bufferBytes += size;
  counts.peakBytes = Math.max(counts.peakBytes, counts.bufferBytes);
  sizes.set(buffer, { size, counts });
});
before(GPUBuffer.prototype, "destroy", function () {
  const known = sizes.get(this);
  if (!known) return;
  known.counts.bufferBytes -= known.size;
  sizes.delete(this);
});
