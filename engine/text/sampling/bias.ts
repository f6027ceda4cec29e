import type { Sampler } from './sampler.ts';

/** A sampler after additions to the logits of tokens; −∞ leaves a token out. */
export function withBias(sampler: Sampler, bias: ReadonlyMap<number, number>): Sampler {
  if (bias.size === 0) return sampler;
  return (logits, history) => {
    const biased = logits.slice();
    for (const [token, value] of bias) {
      const logit = biased[token];
      if (logit !== undefined) biased[token] = value === Number.NEGATIVE_INFINITY ? Number.NaN : logit + value;
    }
    return sampler(biased, history);
  };
}
