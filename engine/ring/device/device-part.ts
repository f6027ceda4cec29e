import type { ExpertsPolicy } from '../../experts/experts-policy.ts';
import type { ChipDevice } from '../../hardware/chip.ts';
import { formatBytes } from '../../input/format.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import type { StreamedLayers } from '../../plan/ring-windows.ts';
import type { TensorPartition } from '../../plan/tensor-partition.ts';
import type { CrossedExperts } from '../../runtime/pass/crossed-experts.ts';
import { type GpuLayers, loadToGpu, type WindowPart, withGpuLayers } from '../../runtime/split/gpu-layers.ts';
import type { ModelPart } from '../../runtime/split/model-part.ts';
import { createStreamedPart, type StreamedSpan } from '../../runtime/split/streamed-part.ts';
import { clock } from '../wire/clock.ts';
import type { WindowAssignment } from '../wire/message.ts';
import { layersName, type RingSpan } from '../wire/span.ts';
import { type DeviceExperts, openDeviceExperts } from './device-experts.ts';
import { weightsRecorder } from './device-weights.ts';
import type { LoadedPart } from './loaded-part.ts';
import { layersInRam } from './memory.ts';
import { loadNpuPart } from './npu-part.ts';
import { firstRequest, type WindowRun } from './window-runner.ts';

/** The GPU that a device of a ring computes on in addition to its CPU. */
export interface RingGpu {
  readonly name: string;
  open(): Promise<Kernels>;
}

/** Runner of a device's windows: its CPU alone, also with a store of experts, or with its GPU; they are open until `close`. */
export interface DevicePart {
  readonly part: WindowPart;
  /** `undefined`: no policy says how experts are cached. */
  readonly experts: DeviceExperts | undefined;
  /** Bytes that are held in RAM for the GPU, and what records layer by layer; `undefined`: nothing is streamed. */
  readonly streamed?: StreamedRecords | undefined;
  close(): void;
}

/** A device whose layers are recorded by themselves, so that windows aren't. */
export interface StreamedRecords {
  readonly bytes: number;
  /** Called before a window runs: its layers are recorded as those of its first request. */
  begins(passed: Pick<WindowRun, 'segments'>): void;
}

export interface DevicePartOptions {
  readonly loaded: LoadedPart;
  readonly gpu: RingGpu | undefined;
  readonly windows: readonly Pick<WindowAssignment, 'from' | 'to' | 'onGpu' | 'onNpu'>[];
  /** Weights that are copied to the GPU for every pass; `undefined`: none. */
  readonly streamed?: StreamedLayers | undefined;
  /** How operators are cut between GPU and NPU, where windows have layers for it, or the output layer is cut. */
  readonly partition?: TensorPartition | undefined;
  /** Whether the output layer's operators are cut so; only a head's are. */
  readonly outputOnNpu?: boolean | undefined;
  /** The chip whose NPU's times are taken by the thread that stands for it (NpuPartOptions). */
  readonly chip?: ChipDevice | undefined;
  /** Tokens that a request has room for. */
  readonly context: number;
  /** Parts other than layers that the GPU computes; only a head has them. */
  readonly outer: GpuLayers['outer'];
  /** Whether it is still wanted: layers take seconds to reach a GPU, and meanwhile the plan may change. */
  readonly wanted: () => boolean;
  /** How experts are cached and read; `undefined`: they are mapped like other weights. */
  readonly experts: ExpertsPolicy | undefined;
  /** Multiplies the experts of layers that have any, which are loaded without them; `undefined`: they are loaded too. */
  readonly divided?: CrossedExperts | undefined;
  /** Whether the output layer is on this device. */
  readonly hasOutput: boolean;
  /** Memory for weights and for reading them, bytes. */
  readonly room: number;
  /** Records reads of experts; `undefined`: nothing is recorded. */
  readonly record: ((span: RingSpan) => void) | undefined;
}

/**
 * Loads the layers of a device's windows. A GPU is opened for one assignment at a time, so that its memory is free
 * between them.
 * @throws Error with a reason if the device has no GPU to use, too little memory on it, or none for slots of experts
 */
export async function loadDevicePart(options: DevicePartOptions): Promise<DevicePart> {
  const { loaded, gpu, windows, outer, wanted, context, experts: policy, record, divided } = options;
  loaded.useContext(context);
  if (policy !== undefined) {
    if (outer.length > 0) throw new Error('experts are cached on a CPU alone, and the plan has its output on its GPU');
    const experts = openDeviceExperts({ ...options, policy, recorder: record && weightsRecorder(record) });
    return { part: experts.part, experts, close: experts.close };
  }
  if (options.partition !== undefined) return await partOfChip(options, options.partition);
  for (const layer of layersInRam(windows)) loaded.part.load(layer, layer + 1, divided?.has(layer) ? 1 : 0);
  if (divided !== undefined) {
    const { part } = loaded;
    const run: WindowPart['run'] = (from, to, segments) => part.run(from, to, segments, divided);
    return { part: { ...part, run }, experts: undefined, close: () => {} };
  }
  const layers = windows.flatMap(({ onGpu }) => onGpu);
  if (layers.length + outer.length === 0) return { part: loaded.part, experts: undefined, close: () => {} };
  if (gpu === undefined)
    throw new Error(
      'the plan has layers for a GPU, and it uses none; start it with --device and a name of hearth inspect --devices',
    );
  const kernels = await gpu.open();
  try {
    const { part, bytes, recorded } = partOnGpu(kernels, options);
    const onLayer = (): void => {
      if (!wanted()) throw new Error('the plan changed while layers were brought to the GPU');
    };
    await loadToGpu({ gpu: kernels, part }, layers, { onLayer });
    if (outer.includes('output')) part.loadOutput();
    const streamedBytes = bytes();
    if (streamedBytes > options.room)
      throw new Error(
        `weights that are copied to its GPU take ${formatBytes(streamedBytes)}; ${formatBytes(Math.max(0, options.room))} are available for them`,
      );
    return {
      part: withGpuLayers(loaded.part, { part, layers: new Set(layers), outer, ...recorded?.own }),
      experts: undefined,
      streamed: recorded && { bytes: streamedBytes, begins: recorded.begins },
      close: kernels.close,
    };
  } catch (error) {
    kernels.close();
    throw error;
  }
}

/** Layers of a chip: those that its GPU and NPU share, and those that its CPU has by itself. */
async function partOfChip(options: DevicePartOptions, partition: TensorPartition): Promise<DevicePart> {
  const { loaded, windows, outer, divided, outputOnNpu = false, room, chip } = options;
  if (outer.length > 0 || divided !== undefined || windows.some(({ onGpu }) => onGpu.length > 0))
    throw new Error('the plan cuts operators between GPU and NPU, and has something else for the GPU alone');
  const cut = windows.flatMap(({ onNpu = [] }) => onNpu);
  const { part, close } = await loadNpuPart({ loaded, partition, cut, output: outputOnNpu, room, chip });
  try {
    for (const layer of layersInRam(windows)) part.load(layer, layer + 1);
  } catch (error) {
    close();
    throw error;
  }
  return { part, experts: undefined, close };
}

interface GpuPart {
  readonly part: ModelPart;
  /** Bytes that are held in RAM so far. */
  readonly bytes: () => number;
  /** How layers are recorded one by one; `undefined`: windows are. */
  readonly recorded?: {
    readonly begins: StreamedRecords['begins'];
    readonly own: Pick<GpuLayers, 'onCpuRan' | 'now'>;
  };
}

/** The part on the GPU, with layers that are copied there for every pass, if there are any. */
function partOnGpu(kernels: Kernels, { loaded, streamed, outer, record }: DevicePartOptions): GpuPart {
  if (streamed === undefined) return { part: loaded.partOn(kernels), bytes: () => 0 };
  if (streamed.output && outer.includes('embedding'))
    throw new Error('the plan streams the output layer, and has the embedding on the GPU; place it on the CPU');
  let request = 0;
  const span = ({ kind, bytes, ...computed }: StreamedSpan): void => {
    if (kind === 'compute') {
      record?.({ kind, ...computed, request });
      return;
    }
    const name = `${layersName(computed)} to the GPU`;
    const { start, end } = computed;
    record?.({ kind: 'weights', lane: 'link', cause: 'deviceCopy', name, start, end, args: { bytes } });
  };
  const own = createStreamedPart({ ...streamed, gpu: kernels, partOn: loaded.partOn, record: span, now: clock });
  return {
    part: own.part,
    bytes: () => own.bytes,
    recorded: {
      begins({ segments }) {
        request = firstRequest({ segments });
      },
      own: {
        onCpuRan: (layers, start) => span({ kind: 'compute', bytes: 0, ...layers, start, end: clock() }),
        now: clock,
      },
    },
  };
}
