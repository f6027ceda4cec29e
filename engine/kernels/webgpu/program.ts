import type { Arena } from './arena.ts';
import { createPassTimer, type PassTimer } from './pass-timer.ts';

/** A shader with its bindings: parameters, vectors, and further buffers. */
export interface Kernel {
  readonly name: string;
  readonly code: string;
  /** The bindings from the third on. Default: none. */
  readonly extras?: readonly ('read-only-storage' | 'storage')[];
}

/** Parameters of a dispatch: 32-bit numbers in the order of the shader's `Params`. */
export interface Dispatch {
  readonly kernel: Kernel;
  /** Unsigned or signed whole numbers. */
  readonly numbers: readonly number[];
  /** Follow the whole numbers. */
  readonly floats?: readonly number[];
  readonly extras?: readonly GPUBuffer[];
  readonly workgroups: readonly [number, number?, number?];
}

/** Dispatches on their way to the device. Pipelines and bind groups are made once. */
export interface Program {
  add(dispatch: Dispatch): void;
  /** Copies a range of a buffer after the dispatches added so far. In bytes. */
  copy(from: GPUBuffer, offset: number, to: GPUBuffer, bytes: number): void;
  submit(): void;
  /** Timer of its passes; `undefined` where the device has no timestamps. */
  readonly timer: PassTimer | undefined;
}

interface KnownGroup {
  readonly layout: GPUBindGroupLayout;
  readonly buffers: readonly GPUBuffer[];
  readonly group: GPUBindGroup;
}

/** Bytes between the parameters of two dispatches, the alignment that every adapter allows. */
const STRIDE = 256;
const NONE: readonly never[] = [];
/** Dispatches of a submission; a token of the largest models has about 2000. */
const MOST_DISPATCHES = 4096;

/**
 * @param early dispatches after which the device is given them, while more are encoded; 0: only when `submit` is called
 */
export function createProgram(device: GPUDevice, arena: () => Arena, early = 0): Program {
  const params = device.createBuffer({
    label: 'parameters',
    size: STRIDE * MOST_DISPATCHES,
    usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST,
  });
  const contents = new ArrayBuffer(STRIDE * MOST_DISPATCHES);
  const [wholeNumbers, singles] = [new Int32Array(contents), new Float32Array(contents)];
  const pipelines = new Map<Kernel, GPUComputePipeline>();
  const layouts = new Map<string, GPUBindGroupLayout>();
  let groups = new Map<GPUBuffer | undefined, KnownGroup[]>();
  const timer = device.features.has('timestamp-query') ? createPassTimer(device) : undefined;
  const offset = new Uint32Array(1);
  let generation = 0;
  /** Dispatches since parameters were written from their beginning, and how many of them the device has. */
  let [count, given] = [0, 0];
  /** Dispatches that are given together next: a few at first, so that the device begins. */
  let together = early;
  let encoder: GPUCommandEncoder | undefined;
  let pass: GPUComputePassEncoder | undefined;

  const layoutOf = ({ extras = NONE }: Kernel): GPUBindGroupLayout => {
    const key = extras.join(' ');
    const found = layouts.get(key);
    if (found !== undefined) return found;
    const visibility = GPUShaderStage.COMPUTE;
    const layout = device.createBindGroupLayout({
      entries: [
        { binding: 0, visibility, buffer: { type: 'uniform', hasDynamicOffset: true, minBindingSize: STRIDE } },
        { binding: 1, visibility, buffer: { type: 'storage' } },
        ...extras.map((type, index) => ({ binding: 2 + index, visibility, buffer: { type } })),
      ],
    });
    layouts.set(key, layout);
    return layout;
  };
  const pipelineOf = (kernel: Kernel): GPUComputePipeline => {
    const found = pipelines.get(kernel);
    if (found !== undefined) return found;
    const { name, code } = kernel;
    const pipeline = device.createComputePipeline({
      label: name,
      layout: device.createPipelineLayout({ bindGroupLayouts: [layoutOf(kernel)] }),
      compute: { module: device.createShaderModule({ label: name, code }) },
    });
    pipelines.set(kernel, pipeline);
    return pipeline;
  };
  const groupOf = (kernel: Kernel, buffers: readonly GPUBuffer[]): GPUBindGroup => {
    const { buffer: vectors, generation: now } = arena();
    if (now !== generation) groups = new Map();
    generation = now;
    const known = groups.get(buffers[0]) ?? [];
    groups.set(buffers[0], known);
    const layout = layoutOf(kernel);
    const found = known.find((one) => one.layout === layout && one.buffers.every((each, i) => each === buffers[i]));
    if (found !== undefined) return found.group;
    const group = device.createBindGroup({
      layout,
      entries: [
        { binding: 0, resource: { buffer: params, size: STRIDE } },
        { binding: 1, resource: { buffer: vectors } },
        ...buffers.map((buffer, index) => ({ binding: 2 + index, resource: { buffer } })),
      ],
    });
    known.push({ layout, buffers, group });
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
  const give = (): void => {
    endPass();
    if (encoder === undefined) return;
    const [from, to] = [STRIDE * given, STRIDE * count];
    device.queue.writeBuffer(params, from, contents, from, to - from);
    device.queue.submit([encoder.finish()]);
    encoder = undefined;
    given = count;
  };
  const submit = (): void => {
    give();
    [count, given] = [0, 0];
    together = early;
  };

  return {
    add({ kernel, numbers, floats = NONE, extras = NONE, workgroups }) {
      if (count === MOST_DISPATCHES) submit();
      const at = STRIDE * count++;
      let word = at / 4;
      for (let i = 0; i < numbers.length; i++) wholeNumbers[word++] = numbers[i] as number;
      for (let i = 0; i < floats.length; i++) singles[word++] = floats[i] as number;
      encoder ??= device.createCommandEncoder();
      pass ??= beginPass(encoder);
      pass.setPipeline(pipelineOf(kernel));
      offset[0] = at;
      pass.setBindGroup(0, groupOf(kernel, extras), offset, 0, 1);
      const [x, y = 1, z = 1] = workgroups;
      pass.dispatchWorkgroups(x, y, z);
      if (early > 0 && count - given >= together) {
        give();
        together *= 2;
      }
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
