import type { Written } from '../a-model-in-the-page/write.ts';

/** Positions that count as near: the token's own and those right before it. */
export const NEAR = 8;

/** Weights of every head of a layer for a token. [heads][positions] */
export function weightsOf({ attention }: Pick<Written, 'attention'>, layer: number, token: number): number[][] {
  return (attention[layer] ?? []).map((rows) => rows[token] ?? []);
}

/** Share of attention on near positions: the mean over layers, heads, and the tokens that have others behind them. */
export function nearShare({ attention }: Pick<Written, 'attention'>): number {
  const shares = attention
    .flat()
    .flatMap((rows) => rows.filter(({ length }) => length > NEAR))
    .map((weights) => weights.slice(-NEAR).reduce((sum, weight) => sum + weight, 0));
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}
