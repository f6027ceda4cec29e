import type { GeneratedPiece } from '../../runtime/batch/batch-engine.ts';
import type { Tokenizer } from '../../text/tokenizer.ts';

interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[];
}

export interface ShownToken extends TokenLogprob {
  readonly top_logprobs: readonly TokenLogprob[];
}

/** A token of a prompt; of the first nothing is known. */
export interface PromptToken {
  readonly token: string;
  readonly logprob: number | null;
  readonly top_logprobs: readonly Pick<TokenLogprob, 'token' | 'logprob'>[] | null;
}

/** Logarithm that OpenAI's API gives for tokens that are practically impossible; JSON has no infinity. */
const IMPOSSIBLE = -9999;

/**
 * Probabilities of a piece's token, as chat completions have them; `undefined` for a token that ends the text, which
 * isn't a part of it.
 * @param most the number of most likely tokens to name
 */
export function shownToken(
  tokenizer: Pick<Tokenizer, 'bytesOf' | 'stops'>,
  { token, logprobs = [] }: GeneratedPiece,
  most: number,
): ShownToken | undefined {
  return tokenizer.stops.has(token) ? undefined : tokenOf(tokenizer, token, logprobs, most);
}

/** Probabilities of any token. */
export function tokenOf(
  tokenizer: Pick<Tokenizer, 'bytesOf'>,
  token: number,
  logprobs: NonNullable<GeneratedPiece['logprobs']>,
  most: number,
): ShownToken {
  const byToken = new Map(logprobs.map((one) => [one.token, one.logprob]));
  const shown = (id: number): TokenLogprob => {
    const bytes = tokenizer.bytesOf(id);
    return {
      token: new TextDecoder().decode(bytes),
      logprob: Math.max(IMPOSSIBLE, byToken.get(id) ?? IMPOSSIBLE),
      bytes: [...bytes],
    };
  };
  const likely = [...byToken].sort(([, a], [, b]) => b - a).slice(0, most);
  return { ...shown(token), top_logprobs: likely.map(([id]) => shown(id)) };
}

/**
 * Probabilities of a prompt's tokens.
 * @param logprobs of each from the second on
 */
export function promptTokens(
  tokenizer: Pick<Tokenizer, 'bytesOf'>,
  prompt: readonly number[],
  logprobs: readonly NonNullable<GeneratedPiece['logprobs']>[],
  most: number,
): PromptToken[] {
  const [first, ...later] = prompt;
  if (first === undefined) return [];
  const begin = { token: new TextDecoder().decode(tokenizer.bytesOf(first)), logprob: null, top_logprobs: null };
  return [begin, ...later.map((token, index) => tokenOf(tokenizer, token, logprobs[index] ?? [], most))];
}

/** Probabilities of all tokens of a text. */
export function shownTokens(
  tokenizer: Pick<Tokenizer, 'bytesOf' | 'stops'>,
  pieces: readonly GeneratedPiece[],
  most: number,
): ShownToken[] {
  return pieces.map((piece) => shownToken(tokenizer, piece, most)).filter((shown) => shown !== undefined);
}
