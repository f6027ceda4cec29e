import type { ExpertsModel } from '../../datasets/experts.ts';
import { drawRouting, zipfPopularity } from '../../engine/experts/draw-routing.ts';
import type { Routing } from '../../engine/experts/routing.ts';
import type { Recurrence } from '../../engine/experts/working-set.ts';

export interface AskedRouting {
  readonly model: Pick<ExpertsModel, 'key' | 'layers' | 'experts' | 'slope' | 'recurrence'>;
  readonly used: number;
  readonly tokens: number;
}

/** Routings drawn by a model's statistics, each once. */
export type Routings = (asked: AskedRouting) => Routing;

export function createRoutings(seed: number): Routings {
  const drawn = new Map<string, Routing>();
  return ({ model, used, tokens }) => {
    const key = [model.key, used, tokens].join(' ');
    const routing = drawn.get(key) ?? drawFor(model, used, tokens, seed);
    drawn.set(key, routing);
    return routing;
  };
}

function drawFor(
  model: { readonly layers: number; readonly experts: number; readonly slope: number; readonly recurrence: Recurrence },
  used: number,
  tokens: number,
  seed: number,
): Routing {
  const { layers, experts, slope, recurrence } = model;
  const popularity = zipfPopularity({ layers, experts, seed }, slope);
  return drawRouting({ tokens, used, popularity, recurrence, seed });
}
