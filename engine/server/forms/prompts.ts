import { z } from 'zod';
import { ApiError } from '../api-error.ts';
import type { ServedModel } from '../served-model.ts';

/** Texts of one request, as OpenAI has it; some of them wait for others (queued.ts). */
const MOST_PROMPTS = 2048;

const token = z.int().min(0);

/** A text, its tokens, or several of either. */
export const prompts = z.union(
  [z.string(), z.array(z.string()).min(1), z.array(token).min(1), z.array(z.array(token).min(1)).min(1)],
  `must be a text, a list of tokens, or a list of at most ${MOST_PROMPTS} of either`,
);

/**
 * The tokens of each text.
 * @param name the parameter
 * @throws ApiError 400 for too many texts, or tokens that the model doesn't have
 */
export function tokensOfPrompts(
  { tokenizer }: Pick<ServedModel, 'tokenizer'>,
  given: z.output<typeof prompts>,
  name: string,
): readonly (readonly number[])[] {
  const list = listOf(given);
  if (list.length > MOST_PROMPTS) {
    const problem = `${name}: has ${list.length} texts; at most ${MOST_PROMPTS} are allowed, send the others in further requests`;
    throw new ApiError(400, problem, name, 'invalid_value');
  }
  return list.map((one, index) => {
    if (typeof one === 'string') return tokenizer.encode(one, { addSpecial: true, parseSpecial: true });
    const unknown = one.find((id) => id >= tokenizer.size);
    if (unknown === undefined) return one;
    const problem = `${name}[${index}]: there is no token ${unknown}; tokens are 0 to ${tokenizer.size - 1}`;
    throw new ApiError(400, problem, name, 'invalid_value');
  });
}

function listOf(given: z.output<typeof prompts>): readonly (string | readonly number[])[] {
  if (typeof given === 'string') return [given];
  return typeof given[0] === 'number' ? [given as number[]] : (given as string[] | number[][]);
}
