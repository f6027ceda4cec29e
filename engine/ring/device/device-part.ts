import type { Kernels } from '../../kernels/kernels.ts';
import { type GpuLayers, loadToGpu, type WindowPart, withGpuLayers } from '../../runtime/gpu-layers.ts';
import type { WindowAssignment } from '../wire/message.ts';
import type { LoadedPart } from './loaded-part.ts';
import { layersInRam } from './memory.ts';

/** The GPU that a device of a ring computes on in addition to its CPU. */
export interface RingGpu {
  readonly name: string;
  open(): Promise<Kernels>;
}

/** Runner of a device's windows: its CPU alone, or with its GPU, which is open until `close`. */
export interface DevicePart {
  readonly part: WindowPart;
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
}

/**
 * Loads the layers of a device's windows. A GPU is opened for one assignment at a time, so that its memory is free
 * between them.
 * @throws Error with a reason if the device has no GPU to use, or too little memory on it
 */
export async function loadDevicePart(options: DevicePartOptions): Promise<DevicePart> {
  const { loaded, gpu, windows, outer, wanted, context } = options;
  loaded.useContext(context);
  for (const layer of layersInRam(windows)) loaded.part.load(layer, layer + 1);
  const layers = windows.flatMap(({ onGpu }) => onGpu);
  if (layers.length + outer.length === 0) return { part: loaded.part, close: () => {} };
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
      close: kernels.close,
    };
  } catch (error) {
    kernels.close();
    throw error;
  }
}
