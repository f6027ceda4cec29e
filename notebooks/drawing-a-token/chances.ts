import { probabilities, topK, topP } from '../../engine/text/sampling/candidates.ts';
import type { Sampling } from '../a-model-in-the-page/write.ts';

/** A token that could come next. */
export interface Chance {
  readonly token: number;
  /** By the model. */
  readonly likely: number;
  /** After top-k, top-p and temperature; 0 if it is cut off. */
  readonly drawn: number;
}

/** The chances of every token in the sampler's order: top-k, top-p, temperature; most likely first. */
export function chances(logits: Float32Array, sampling: Omit<Sampling, 'seed'>): Chance[] {
  const { temperature, topK: k, topP: p } = sampling;
  const all = topK(logits, 0);
  const likely = probabilities(all);
  const kept = temperature === 0 ? all.slice(0, 1) : topP(topK(logits, k), p);
  const scale = temperature === 0 ? 1 : temperature;
  const drawn = probabilities(kept.map(({ token, logit }) => ({ token, logit: logit / scale })));
  return all.map(({ token }, rank) => ({ token, likely: likely[rank] as number, drawn: drawn[rank] ?? 0 }));
}
