import type { Parameter } from './network.ts';

export interface AdamSettings {
  readonly rate: number;
  /** Share of matrices' weights that is taken off at each step, times the rate (AdamW). */
  readonly decay: number;
  /** The largest norm of all gradients together; larger ones are scaled down to it. */
  readonly clip: number;
}

const [FIRST, SECOND, EPSILON] = [0.9, 0.98, 1e-8];

/** AdamW (Kingma and Ba 2015; Loshchilov and Hutter 2019); each call is a step. */
export function createAdam(parameters: readonly Parameter[]): (settings: AdamSettings) => void {
  const moments = parameters.map(({ weights }) => ({
    mean: new Float32Array(weights.length),
    square: new Float32Array(weights.length),
  }));
  let steps = 0;
  return ({ rate, decay, clip }) => {
    steps++;
    const norm = Math.sqrt(
      parameters.reduce((sum, { gradient }) => gradient.reduce((all, value) => all + value * value, sum), 0),
    );
    const scale = Math.min(1, clip / norm);
    const [firstShare, secondShare] = [1 - FIRST ** steps, 1 - SECOND ** steps];
    for (const [index, { name, weights, gradient }] of parameters.entries()) {
      const { mean, square } = moments[index] as (typeof moments)[number];
      const keep = 1 - (name.includes('norm') ? 0 : rate * decay);
      for (let i = 0; i < weights.length; i++) {
        const g = scale * (gradient[i] as number);
        mean[i] = FIRST * (mean[i] as number) + (1 - FIRST) * g;
        square[i] = SECOND * (square[i] as number) + (1 - SECOND) * g * g;
        const change = (mean[i] as number) / firstShare / (Math.sqrt((square[i] as number) / secondShare) + EPSILON);
        weights[i] = keep * (weights[i] as number) - rate * change;
      }
    }
  };
}
