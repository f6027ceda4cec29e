import { InputError } from '../input/input-error.ts';
import { parseQuantity } from '../input/quantity.ts';
import { PROCESS_GROWTH_BYTES, processBytes } from '../runtime/weights/process-counters.ts';
import { formatBytes } from '../terminal/format.ts';

/**
 * Bytes for weights and KV caches on a device of a ring: of `--memory`, all that the process may take, what Node.js
 * leaves; without it what the system, or the cgroup, has available. To be asked before a model is loaded.
 * @throws InputError where that is nothing
 */
export function readDeviceMemory(text: string | undefined): number {
  if (text === undefined) return Math.max(0, process.availableMemory() - PROCESS_GROWTH_BYTES);
  const own = processBytes() + PROCESS_GROWTH_BYTES;
  const left = parseQuantity(text, 'size', '--memory') - own;
  if (left > 0) return left;
  const needed = formatBytes(own);
  throw new InputError('--memory', `${text} are too few; Node.js and its heap take ${needed} of them`);
}
