import type { LabSession } from './session.ts';
import { NOT_COUNTED } from './token-figures.ts';

export interface RingSubtitle {
  /** Of its weights that each device has room for. */
  readonly memoryShare: number;
  /** Rate of the disks, as it was asked for. */
  readonly disk: string;
  readonly tokens: number;
}

/** What was run, in a line: a model in equal parts on the lab's devices. */
export function ringSubtitle({ model, lab }: LabSession, { memoryShare, disk, tokens }: RingSubtitle): string {
  const devices = lab.cluster.devices.length;
  const parts = [
    `${model.name} in equal parts on ${devices} devices with memory for ${Math.round(100 * memoryShare)} % of theirs`,
    `disks of ${disk}`,
    `${tokens} tokens, ${NOT_COUNTED}`,
  ];
  return parts.join(' · ');
}
