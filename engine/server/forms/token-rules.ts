import { ApiError } from '../api-error.ts';
import type { ServedModel } from '../served-model.ts';

/** A request's rules for single tokens. */
export interface TokenRules {
  /** Added to the logits of tokens. */
  readonly bias: ReadonlyMap<number, number>;
  /** Tokens that end the text in addition to those of the vocabulary. */
  readonly stopTokens: ReadonlySet<number>;
}

interface Asked {
  readonly logit_bias?: Readonly<Record<string, number>> | readonly (readonly [number, number | false])[] | undefined;
  readonly ignore_eos?: boolean | undefined;
  readonly stop_token_ids?: readonly number[] | undefined;
}

/** @throws ApiError 400 for tokens that the model doesn't have */
export function tokenRules(
  { tokenizer }: Pick<ServedModel, 'tokenizer'>,
  { logit_bias: bias = {}, ignore_eos: isEndless = false, stop_token_ids: stops = [] }: Asked,
): TokenRules {
  const known = (token: number, name: string): number => {
    if (token < tokenizer.size) return token;
    const problem = `${name}: there is no token ${token}; tokens are 0 to ${tokenizer.size - 1}`;
    throw new ApiError(400, problem, name, 'invalid_value');
  };
  const pairs = Array.isArray(bias) ? (bias as readonly (readonly [number, number | false])[]) : Object.entries(bias);
  const biases = pairs.map(
    ([token, value]) =>
      [known(Number(token), 'logit_bias'), value === false ? Number.NEGATIVE_INFINITY : value] as const,
  );
  const ends = isEndless ? Array.from(tokenizer.stops, (token) => [token, Number.NEGATIVE_INFINITY] as const) : [];
  return {
    bias: new Map([...biases, ...ends]),
    stopTokens: new Set(stops.map((token) => known(token, 'stop_token_ids'))),
  };
}
