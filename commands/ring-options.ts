import { totalmem } from 'node:os';
import { formatBytes } from '../engine/input/format.ts';
import { InputError } from '../engine/input/input-error.ts';
import { parseQuantity } from '../engine/input/quantity.ts';
import { cgroupLimits } from '../engine/profile/memory/cgroup-limits.ts';
import { THIS_HOST } from '../engine/profile/memory/host.ts';
import { type KeyPair, readKeys } from '../engine/ring/wire/keys.ts';
import { PROCESS_GROWTH_BYTES, processBytes } from '../engine/runtime/weights/process-counters.ts';

/** Options that the head of a ring (`hearth run`) and its workers (`hearth worker`) share. */

/** Reads `--keys FILE` or `--plain`. @throws InputError unless exactly one is given */
export function readLinkKeys({ keys, plain }: { readonly keys?: string; readonly plain?: true }): KeyPair | undefined {
  if (keys !== undefined && plain) throw new InputError('--plain', 'and --keys exclude each other');
  if (keys !== undefined) return readKeys(keys);
  if (plain) return undefined;
  throw new InputError(
    '--keys',
    'is missing; make keys by hearth keygen --out FILE (or use --plain on links you trust)',
  );
}

export const LINK_DELAY_HELP = 'delay of everything it sends, such as "5 ms", to emulate a slow network';

/** Reads `--link-delay` as seconds. @throws InputError unless it is a time */
export function readLinkDelay(text: string | undefined): number {
  return text === undefined ? 0 : parseQuantity(text, 'time', '--link-delay');
}

/**
 * Bytes for weights and KV caches on this device: `--memory` less the memory of Node.js; without the option, what the
 * operating system or the cgroup has available. Must be called before a model is loaded.
 * @throws InputError if nothing is left
 */
export function readDeviceMemory(text: string | undefined): number {
  if (text === undefined) return Math.max(0, process.availableMemory() - PROCESS_GROWTH_BYTES);
  const own = processBytes() + PROCESS_GROWTH_BYTES;
  const left = parseQuantity(text, 'size', '--memory') - own;
  if (left > 0) return left;
  const needed = formatBytes(own);
  throw new InputError('--memory', `${text} is too little; Node.js and its heap take ${needed} of it`);
}

/** Bytes over which this device's memory pressure is stated: `--memory`, or the RAM of the machine or its cgroup. */
export function deviceMemoryLimit(text: string | undefined): number {
  if (text !== undefined) return parseQuantity(text, 'size', '--memory');
  return Math.min(totalmem(), cgroupLimits(THIS_HOST).total);
}
