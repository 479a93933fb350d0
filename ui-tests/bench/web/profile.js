// Times each launch by timestamps of the device: every launch has a pass of its own while `record` is on.

const SLOTS = 4096;
const names = new WeakMap();
let record = null;

if (new URLSearchParams(location.search).has("profile")) install();

/** For each engine the launches of its fastest call of several, in their order. */
export async function times(engines, inputs) {
  const profiles = {};
  for (const { engine } of engines) {
    const calls = [];
    for (let call = 0; call < 5; call++) {
      record = { launches: [], sets: [] };
      await engine.run(inputs);
      const recorded = record;
      record = null;
      const launches = [];
      for (const [index, { device, set }] of recorded.sets.entries()) {
        const elapsed = await resolved(device, set);
        recorded.launches.slice(index * (SLOTS / 2), (index + 1) * (SLOTS / 2)).forEach((launch, at) => {
          launches.push({ ...launch, us: Number(elapsed[2 * at + 1] - elapsed[2 * at]) / 1e3 });
        });
      }
      calls.push(launches);
    }
    const sum = (launches) => launches.reduce((total, { us }) => total + us, 0);
    calls.sort((one, other) => sum(one) - sum(other));
    profiles[engine.name] = calls[0];
  }
  return profiles;
}

async function resolved(device, set) {
  const size = SLOTS * 8;
  const from = device.createBuffer({ size, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
  const to = device.createBuffer({ size, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  const encoder = device.createCommandEncoder();
  encoder.resolveQuerySet(set, 0, SLOTS, from, 0);
  encoder.copyBufferToBuffer(from, 0, to, 0, size);
  device.queue.submit([encoder.finish()]);
  await to.mapAsync(GPUMapMode.READ);
  return new BigUint64Array(to.getMappedRange().slice());
}

function install() {
  const requestDevice = GPUAdapter.prototype.requestDevice;
  GPUAdapter.prototype.requestDevice = function (wanted = {}) {
    const requiredFeatures = [...new Set([...(wanted.requiredFeatures ?? []), "timestamp-query"])];
    return requestDevice.call(this, { ...wanted, requiredFeatures });
  };
  const createShaderModule = GPUDevice.prototype.createShaderModule;
  GPUDevice.prototype.createShaderModule = function (wanted) {
    const module = createShaderModule.call(this, wanted);
    names.set(module, { label: wanted.label ?? "", code: wanted.code });
    return module;
  };
  for (const method of ["createComputePipeline", "createComputePipelineAsync"]) {
    const create = GPUDevice.prototype[method];
    GPUDevice.prototype[method] = function (wanted) {
      const { module, entryPoint } = wanted.compute;
      const about = { ...names.get(module), pipeline: wanted.label ?? "", entryPoint };
      const result = create.call(this, wanted);
      if (result instanceof Promise) return result.then((pipeline) => (names.set(pipeline, about), pipeline));
      names.set(result, about);
      return result;
    };
  }
  const createCommandEncoder = GPUDevice.prototype.createCommandEncoder;
  GPUDevice.prototype.createCommandEncoder = function (...args) {
    const encoder = createCommandEncoder.apply(this, args);
    names.set(encoder, this);
    return encoder;
  };
  const beginComputePass = GPUCommandEncoder.prototype.beginComputePass;
  GPUCommandEncoder.prototype.beginComputePass = function (...args) {
    if (!record) return beginComputePass.apply(this, args);
    return new Pass(names.get(this), (wanted) => beginComputePass.call(this, wanted));
  };
}

/** A pass that makes one of each launch. */
class Pass {
  groups = [];

  constructor(device, begin) {
    this.device = device;
    this.begin = begin;
  }

  setPipeline(pipeline) {
    this.pipeline = pipeline;
  }

  setBindGroup(index, ...args) {
    this.groups[index] = args;
  }

  dispatchWorkgroups(x, y = 1, z = 1) {
    this.launch([x, y, z], (pass) => pass.dispatchWorkgroups(x, y, z));
  }

  dispatchWorkgroupsIndirect(...args) {
    this.launch(["indirect"], (pass) => pass.dispatchWorkgroupsIndirect(...args));
  }

  launch(workgroups, dispatch) {
    const slot = (record.launches.length * 2) % SLOTS;
    if (slot === 0) {
      const set = this.device.createQuerySet({ type: "timestamp", count: SLOTS });
      record.sets.push({ device: this.device, set });
    }
    const querySet = record.sets.at(-1).set;
    record.launches.push({ workgroups, ...names.get(this.pipeline) });
    const timestampWrites = { querySet, beginningOfPassWriteIndex: slot, endOfPassWriteIndex: slot + 1 };
    const pass = this.begin({ timestampWrites });
    pass.setPipeline(this.pipeline);
    this.groups.forEach((args, index) => pass.setBindGroup(index, ...args));
    dispatch(pass);
    pass.end();
  }

  end() {}
  pushDebugGroup() {}
  popDebugGroup() {}
  insertDebugMarker() {}
}
