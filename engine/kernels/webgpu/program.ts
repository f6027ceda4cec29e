import type { Arena } from './arena.ts';
import { createPassTimer, type PassTimer } from './pass-timer.ts';

/** A shader with its bindings: parameters, vectors, and at most one further buffer. */
export interface Kernel {
  readonly name: string;
  readonly code: string;
  /** What the third binding is, if there is one. */
  readonly extra?: 'read-only-storage' | 'storage';
}

/** Parameters of a dispatch: 32-bit numbers in the order of the shader's `Params`. */
export interface Dispatch {
  readonly kernel: Kernel;
  /** Unsigned or signed whole numbers. */
  readonly numbers: readonly number[];
  /** Follow the whole numbers. */
  readonly floats?: readonly number[];
  readonly extra?: GPUBuffer;
  readonly workgroups: readonly [number, number?, number?];
}

/** Dispatches on their way to the device. Pipelines and bind groups are made once. */
export interface Program {
  add(dispatch: Dispatch): void;
  /** Copies a range of a buffer after the dispatches added so far. In bytes. */
  copy(from: GPUBuffer, offset: number, to: GPUBuffer, bytes: number): void;
  submit(): void;
  /** Of its passes; `undefined` where the device has no timestamps. */
  readonly timer: PassTimer | undefined;
}

/** Bytes between the parameters of two dispatches, the alignment that every adapter allows. */
const STRIDE = 256;
/** Dispatches of a submission; a token of the largest models has about 2000. */
const MOST_DISPATCHES = 4096;

export function createProgram(device: GPUDevice, arena: () => Arena): Program {
  const params = device.createBuffer({
    label: 'parameters',
    size: STRIDE * MOST_DISPATCHES,
    usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
  });
  const contents = new ArrayBuffer(STRIDE * MOST_DISPATCHES);
  const pipelines = new Map<string, GPUComputePipeline>();
  const layouts = new Map<Kernel['extra'], GPUBindGroupLayout>();
  let groups = new Map<GPUBuffer | undefined, Map<Kernel['extra'], GPUBindGroup>>();
  const timer = device.features.has('timestamp-query') ? createPassTimer(device) : undefined;
  let generation = 0;
  let count = 0;
  let encoder: GPUCommandEncoder | undefined;
  let pass: GPUComputePassEncoder | undefined;

  const layoutOf = (extra: Kernel['extra']): GPUBindGroupLayout => {
    const found = layouts.get(extra);
    if (found !== undefined) return found;
    const visibility = GPUShaderStage.COMPUTE;
    const layout = device.createBindGroupLayout({
      entries: [
        { binding: 0, visibility, buffer: { type: 'uniform', hasDynamicOffset: true, minBindingSize: STRIDE } },
        { binding: 1, visibility, buffer: { type: 'storage' } },
        ...(extra === undefined ? [] : [{ binding: 2, visibility, buffer: { type: extra } }]),
      ],
    });
    layouts.set(extra, layout);
    return layout;
  };
  const pipelineOf = ({ name, code, extra }: Kernel): GPUComputePipeline => {
    const found = pipelines.get(name);
    if (found !== undefined) return found;
    const pipeline = device.createComputePipeline({
      label: name,
      layout: device.createPipelineLayout({ bindGroupLayouts: [layoutOf(extra)] }),
      compute: { module: device.createShaderModule({ label: name, code }) },
    });
    pipelines.set(name, pipeline);
    return pipeline;
  };
  const groupOf = (extra: Kernel['extra'], buffer: GPUBuffer | undefined): GPUBindGroup => {
    const { buffer: vectors, generation: now } = arena();
    if (now !== generation) groups = new Map();
    generation = now;
    const ofBuffer = groups.get(buffer) ?? new Map<Kernel['extra'], GPUBindGroup>();
    groups.set(buffer, ofBuffer);
    const found = ofBuffer.get(extra);
    if (found !== undefined) return found;
    const group = device.createBindGroup({
      layout: layoutOf(extra),
      entries: [
        { binding: 0, resource: { buffer: params, size: STRIDE } },
        { binding: 1, resource: { buffer: vectors } },
        ...(buffer === undefined ? [] : [{ binding: 2, resource: { buffer } }]),
      ],
    });
    ofBuffer.set(extra, group);
    return group;
  };
  const beginPass = (commands: GPUCommandEncoder): GPUComputePassEncoder => {
    const timestampWrites = timer?.writes();
    return commands.beginComputePass(timestampWrites && { timestampWrites });
  };
  const endPass = (): void => {
    pass?.end();
    pass = undefined;
  };
  const submit = (): void => {
    endPass();
    if (encoder === undefined) return;
    device.queue.writeBuffer(params, 0, contents, 0, STRIDE * count);
    device.queue.submit([encoder.finish()]);
    encoder = undefined;
    count = 0;
  };

  return {
    add({ kernel, numbers, floats = [], extra, workgroups }) {
      if (count === MOST_DISPATCHES) submit();
      const at = STRIDE * count++;
      new Int32Array(contents, at, numbers.length).set(numbers);
      new Float32Array(contents, at + 4 * numbers.length, floats.length).set(floats);
      encoder ??= device.createCommandEncoder();
      pass ??= beginPass(encoder);
      pass.setPipeline(pipelineOf(kernel));
      pass.setBindGroup(0, groupOf(kernel.extra, extra), [at]);
      pass.dispatchWorkgroups(...workgroups);
    },
    copy(from, offset, to, bytes) {
      endPass();
      encoder ??= device.createCommandEncoder();
      encoder.copyBufferToBuffer(from, offset, to, 0, bytes);
    },
    submit,
    timer,
  };
}
