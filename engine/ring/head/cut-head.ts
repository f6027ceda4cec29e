import { setImmediate } from 'node:timers/promises';
import type { LayerSlice } from '../../plan/tensor-slices.ts';
import { type CutLayers, slicesOf } from '../device/cut-layers.ts';
import { heldExpertBytes } from '../device/held-experts.ts';
import type { LoadedPart } from '../device/loaded-part.ts';
import type { WindowRun } from '../device/window-runner.ts';
import { packActivations, unpackActivations } from '../wire/activations.ts';
import { clock } from '../wire/clock.ts';
import { type ActivationFrame, frameTokens } from '../wire/frame.ts';
import type { Assignment, TensorCut } from '../wire/message.ts';
import { RingError } from './errors.ts';

/**
 * The head's slices.
 * @throws RingError, before any device is asked for anything, for a model, or shares, whose tensors can't be cut so
 */
export function slicesOfHead(head: string, loaded: LoadedPart, cut: TensorCut): LayerSlice[] {
  try {
    return slicesOf(loaded, cut);
  } catch (error) {
    throw new RingError(head, (error as Error).message);
  }
}

export interface AnnouncedPassesOptions extends Pick<Assignment, 'epoch' | 'activations'> {
  readonly cut: CutLayers;
  readonly devices: readonly string[];
  readonly send: (device: string, frame: ActivationFrame) => void;
}

/** Sends the residual stream with which a pass begins to all devices that have slices. */
export function announcedPasses({ cut, epoch, activations: format, devices, send }: AnnouncedPassesOptions) {
  return async (passed: WindowRun): Promise<void> => {
    cut.begins(passed);
    const stream = cut.part.stream(frameTokens(passed));
    const payload = packActivations(stream, format);
    for (const device of devices)
      send(device, { ...passed, kind: 'activations', epoch, format, sentAt: clock(), payload });
    // Others have it as it was sent.
    if (format !== 'F32') unpackActivations(payload, format, stream);
    await setImmediate(); // sends it first
  };
}

/** Bytes of the file that a device brings to memory before it is prepared, in addition to whole layers. */
export function sharedBytes(loaded: LoadedPart, { held = [], cut }: Assignment): number {
  const { layers, layer } = loaded.part.model;
  return heldExpertBytes(loaded, held) + (cut?.members[cut.own]?.share ?? 0) * layers * layer.bytes;
}
