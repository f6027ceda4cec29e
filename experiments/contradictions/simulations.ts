import type { ExpertsModel } from '../../datasets/experts.ts';
import type { ExpertsCase } from '../../engine/cost/experts/experts-case.ts';
import { simulateExperts } from '../../simulator/systems/experts.ts';
import type { Routings } from './routings.ts';

/** Tokens that count, and how many before them fill caches: as many as turn the memory over three times, within bounds. */
const COUNTED = 8;
const LEAST_WARM_UP = 16;
/** Routings of a few lengths serve all cases of a model. */
const ROUNDED = 32;
const MOST_WARM_UP = 128;

/** Results of a simulated run that are compared with findings. */
export interface SimulatedCase {
  readonly tokenSeconds: number;
  readonly hitRate: number;
  /** Bytes that the disk reads for a token. */
  readonly readBytes: number;
}

/** Simulated cases of models, each once. */
export type Simulations = (one: ExpertsCase, model: ExpertsModel) => SimulatedCase;

export function createSimulations(routings: Routings): Simulations {
  const known = new Map<string, SimulatedCase>();
  return (one, model) => {
    const key = JSON.stringify([model.key, one]);
    const result = known.get(key) ?? simulate(one, model, routings);
    known.set(key, result);
    return result;
  };
}

function simulate(one: ExpertsCase, model: ExpertsModel, routings: Routings): SimulatedCase {
  const { layers, experts, used, expertBytes } = one.mixture;
  const { slots, pool, method } = one.policy;
  const { layer, expert, other } = one.seconds;
  const own = slots === 'fit' ? 0 : slots * (pool === 'layer' ? layers : 1);
  const isFitting = own * expertBytes + one.mixture.denseBytes + one.memory.buffers <= one.memory.available;
  // All experts have been read before the first token.
  if (own >= layers * experts && isFitting)
    return { tokenSeconds: layers * (layer + used * expert) + other, hitRate: 1, readBytes: 0 };
  const inPages = one.memory.available / expertBytes;
  const turned = Math.min(layers * experts, method === 'direct' ? own : inPages);
  const warmUp = Math.min(MOST_WARM_UP, Math.max(LEAST_WARM_UP, Math.ceil((3 * turned) / (layers * used))));
  const tokens = ROUNDED * Math.ceil((warmUp + COUNTED) / ROUNDED);
  const routing = routings({ model, used, tokens });
  return simulateExperts({ one, routing, outputTokens: warmUp + COUNTED, warmUp });
}
