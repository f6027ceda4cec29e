import { InputError } from '../../engine/input/input-error.ts';
import { parseQuantity } from '../../engine/input/quantity.ts';
import { SCHEDULER_NAMES } from '../../engine/schedule/registry.ts';
import { readList } from '../../engine/terminal/options.ts';
import { type MemoryTaken, SIMULATED_RECLAIMS } from '../../simulator/options.ts';
import type { CommonOptions } from '../report/experiment.ts';
import { choice, count, type OptionValues, option, text } from '../report/options.ts';
import { MAX_PRESSURE } from '../report/planning-options.ts';

/** The command line of replay. */
export const REPLAY_OPTIONS = {
  cluster: text('--cluster <key>', 'a cluster of datasets/clusters, or a file', 'prima-home'),
  model: text('--model <name>', 'a model, with :mix if wanted', 'Llama-3-70B'),
  modelFile: text(
    '--model-file <file>',
    'your own models, in addition to those on file (CSV, columns as datasets/models.csv)',
  ),
  plan: text('--plan <file>', 'the plan (JSON), as halda-sweep and replay write it, or by hand'),
  scheduler: choice(
    '--scheduler <name>',
    `makes the plan unless one is given: ${SCHEDULER_NAMES.join(', ')}`,
    SCHEDULER_NAMES,
    'ring-aware',
  ),
  reclaim: choice(
    '--reclaim <policy>',
    `how the OS reclaims: ${SIMULATED_RECLAIMS.join(', ')}`,
    SIMULATED_RECLAIMS,
    'os',
  ),
  maxPressure: MAX_PRESSURE,
  prompt: count('--prompt <n>', 'tokens of the prompt', { default: 128, most: 1e6 }),
  tokens: count('--tokens <n>', 'tokens to decode', { default: 8, most: 10_000 }),
  show: count('--show <n>', 'tokens that the timeline shows, the last ones', { default: 2, most: 100 }),
  noise: option('--noise <share>', 'relative deviation of the time of each computation, 0 to 1', readNoise, {
    default: '0',
  }),
  taken: option('--taken <list>', 'memory that other apps take, e.g. "D3@10 s=2 GiB,D3@60 s=0 GiB"', readTaken, {
    default: '',
    shown: 'none',
  }),
} as const;

export type ReplayOptions = OptionValues<typeof REPLAY_OPTIONS> & CommonOptions;

function readNoise(flag: string, given: string): number {
  const value = Number(given);
  if (given.trim() === '' || !(value >= 0 && value <= 1))
    throw new InputError(flag, `"${given}" is not a number from 0 to 1`);
  return value;
}

/** `device@time=size`; each value holds until the device's next. */
function readTaken(flag: string, given: string): Record<string, MemoryTaken[]> {
  const taken: Record<string, MemoryTaken[]> = {};
  for (const item of given === '' ? [] : readList(flag, given)) {
    const [, device, time, size] = /^([^@=]+)@([^@=]+)=([^@=]+)$/.exec(item) ?? [];
    if (device === undefined || time === undefined || size === undefined)
      throw new InputError(flag, `"${item}" is not a device, a time and a size, such as "D3@10 s=2 GiB"`);
    const bytes = /^0\b/.test(size.trim()) ? 0 : parseQuantity(size, 'size', flag);
    taken[device] = [...(taken[device] ?? []), { time: parseTime(time, flag), bytes }];
  }
  return taken;
}

/** A time of a simulation, which is not limited like the times of hardware. */
function parseTime(given: string, flag: string): number {
  const seconds = Number(/^([\d.]+) ?s$/.exec(given.trim())?.[1]);
  if (!Number.isFinite(seconds)) throw new InputError(flag, `"${given}" is not a time in seconds, such as "10 s"`);
  return seconds;
}
