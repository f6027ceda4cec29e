import { probabilities, topK } from '../../engine/text/sampling/candidates.ts';
import { bitsPerByte } from '../a-model-in-the-page/open-model.ts';
import type { Written } from '../a-model-in-the-page/write.ts';

type Watched = Pick<Written, 'logits' | 'tokens'>;

/** The most likely next token after a token, by the layers that were run, from none to all. [layers + 1] */
export function mostLikely({ logits }: Watched, token: number): number[] {
  return logits.map((ofLayer) => topK(ofLayer[token] as Float32Array, 1)[0]?.token as number);
}

/** Layers after which the most likely next token is the final one, and stays so. */
export function decidedAfter(written: Watched, token: number): number {
  const likely = mostLikely(written, token);
  return likely.findLastIndex((one) => one !== likely.at(-1)) + 1;
}

/** Share of all tokens for which the most likely next one after this many layers is the final one. */
export function agreeingShare(written: Watched, layers: number): number {
  const agree = written.tokens.filter((_, token) => {
    const likely = mostLikely(written, token);
    return likely[layers] === likely.at(-1);
  });
  return agree.length / written.tokens.length;
}

/** The finally most likely token, and its probability by the layers that were run. */
export function formingShares({ logits, tokens }: Watched, token: number): { token: number; likely: number[] } {
  const final = mostLikely({ logits, tokens }, token).at(-1) as number;
  const likely = logits.map((ofLayer) => {
    const candidates = topK(ofLayer[token] as Float32Array, 0);
    return probabilities(candidates)[candidates.findIndex((one) => one.token === final)] as number;
  });
  return { token: final, likely };
}

/** Bits a byte that the whole text would cost the model if it ended after this many layers. */
export function bitsAfter({ logits, tokens }: Watched, layers: number): number {
  return bitsPerByte({ logits: logits.slice(0, layers + 1) }, tokens);
}
