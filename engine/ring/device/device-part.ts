import type { ExpertsPolicy } from '../../experts/experts-policy.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import type { CrossedExperts } from '../../runtime/crossed-experts.ts';
import { type GpuLayers, loadToGpu, type WindowPart, withGpuLayers } from '../../runtime/gpu-layers.ts';
import type { WindowAssignment } from '../wire/message.ts';
import type { RingSpan } from '../wire/span.ts';
import { type DeviceExperts, openDeviceExperts } from './device-experts.ts';
import { weightsRecorder } from './device-weights.ts';
import type { LoadedPart } from './loaded-part.ts';
import { layersInRam } from './memory.ts';

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
  close(): void;
}

export interface DevicePartOptions {
  readonly loaded: LoadedPart;
  readonly gpu: RingGpu | undefined;
  readonly windows: readonly Pick<WindowAssignment, 'from' | 'to' | 'onGpu'>[];
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
    const part = loaded.partOn(kernels);
    const onLayer = (): void => {
      if (!wanted()) throw new Error('the plan changed while layers were brought to the GPU');
    };
    await loadToGpu({ gpu: kernels, part }, layers, { onLayer });
    if (outer.includes('output')) part.loadOutput();
    return {
      part: withGpuLayers(loaded.part, { part, layers: new Set(layers), outer }),
      experts: undefined,
      close: kernels.close,
    };
  } catch (error) {
    kernels.close();
    throw error;
  }
}
