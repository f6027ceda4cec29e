import type { ExpertsMachine, FindingSetting } from '../../datasets/experts.ts';
import type { ExpertsCase } from '../../engine/cost/experts/experts-case.ts';
import { PRESSURES } from '../../engine/cost/experts/pressure.ts';
import {
  EXPERTS_EVICTIONS,
  type ExpertsPolicy,
  type Lookahead,
  READ_METHODS,
} from '../../engine/experts/experts-policy.ts';
import type { Pool } from '../../engine/experts/replay-routing.ts';
import { InputError, suggestion } from '../../engine/input/input-error.ts';

/** Assumed for all machines: the share of a memory's bandwidth that decoding reaches. */
export const BANDWIDTH_SHARE = 0.7;
/** Assumed: keys and values, activations and the process itself. */
const BUFFER_BYTES = 1e9;
/** A copy reads a byte, reads where it goes, and writes it there. */
const COPY_PASSES = 3;
/** Reads under way at once where a finding doesn't state them. */
const USUAL_DEPTH = 8;

/** The case of a finding's setting: the machine, the mixture and the policy, and nothing that the finding measured. */
export function caseOf(machine: ExpertsMachine, setting: FindingSetting): ExpertsCase {
  const { model } = setting;
  const { layers, experts, expertBytes, denseBytes } = model;
  const used = usedOf(setting);
  const rate = BANDWIDTH_SHARE * machine.bandwidth;
  // Weights that every token uses lie in equal parts in the layers, and in the output.
  const part = denseBytes / (layers + 1);
  const precision = setting.precision === '' ? undefined : new Array<number>(used).fill(Number(setting.precision));
  return {
    // Streaming engines keep an expert's matrices together; none of the findings turns on it.
    mixture: { layers, experts, used, expertBytes, readsPerExpert: 1, denseBytes },
    seconds: { layer: part / rate + machine.layerSeconds, expert: expertBytes / rate, other: part / rate },
    memory: {
      available: machine.memoryBytes - machine.keptBytes,
      ...{
        buffers: BUFFER_BYTES,
        dense: setting.dense,
        pressure: PRESSURES[machine.system],
        readAhead: machine.readAhead,
      },
      copyRate: machine.bandwidth / COPY_PASSES,
    },
    disk: { latency: machine.diskLatency, bandwidth: machine.diskBandwidth },
    policy: policyOf(setting),
    ...(precision !== undefined && { precision }),
  };
}

function policyOf(setting: FindingSetting): ExpertsPolicy {
  const method = oneOf(setting, 'method', READ_METHODS, 'direct');
  return {
    ...(method === 'mmap' ? { slots: 'fit', pool: 'all' } : slotsOf(setting)),
    eviction: oneOf(setting, 'eviction', EXPERTS_EVICTIONS, 'lru'),
    method,
    layout: 'file',
    depth: setting.depth === '' ? USUAL_DEPTH : Number(setting.depth),
    lookahead: lookaheadOf(setting),
    hitsFirst: setting.hitsFirst,
  };
}

/** Experts that a token uses in a layer. */
export function usedOf({ model, used }: Pick<FindingSetting, 'model' | 'used'>): number {
  return used === '' ? model.used : Number(used);
}

const CACHES = '"10 GB", "287", "24 a layer", "0.9 tokens" or "none"';

/** The slots that a setting states. @throws InputError with file, row and column */
export function slotsOf(setting: FindingSetting): { readonly pool: Pool; readonly slots: number } {
  const { layers, experts, expertBytes } = setting.model;
  const used = usedOf(setting);
  const [text = '', ...words] = setting.cache.split(' ');
  const pooled = (slots: number) => ({ pool: 'all', slots: Math.min(layers * experts, slots) }) as const;
  // Without a cache a layer's experts have room, and are gone when the next layer's come.
  if (setting.cache === 'none') return pooled(used);
  const value = Number(text);
  if (text !== '' && value >= 0)
    switch (words.join(' ')) {
      case '':
        return pooled(value);
      case 'GB':
        return pooled(Math.floor((1e9 * value) / expertBytes));
      case 'tokens':
        return pooled(Math.floor(value * layers * used));
      case 'a layer':
        return { pool: 'layer', slots: Math.min(experts, value) };
    }
  throw new InputError(setting.where('cache'), `"${setting.cache}" is none of ${CACHES}`);
}

function lookaheadOf(setting: FindingSetting): Lookahead {
  const [kind, ranks] = setting.lookahead.split(' ');
  if (kind === '') return { kind: 'none' };
  if (kind === 'previous-token') return { kind };
  if (kind === 'next-router' && Number(ranks) >= 1) return { kind, ranks: Number(ranks) };
  throw new InputError(
    setting.where('lookahead'),
    `"${setting.lookahead}" is neither "next-router 6" nor "previous-token"`,
  );
}

function oneOf<Name extends string>(
  setting: FindingSetting,
  column: 'method' | 'eviction',
  allowed: readonly Name[],
  standard: NoInfer<Name>,
): Name {
  const given = setting[column];
  if (given === '') return standard;
  const found = allowed.find((name) => name === given);
  if (found !== undefined) return found;
  throw new InputError(setting.where(column), `unknown "${given}"${suggestion(given, allowed)}`);
}
