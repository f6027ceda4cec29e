import { z } from 'zod';
import { ApiError } from '../api-error.ts';
import type { ServedModel } from '../served-model.ts';

/** Texts of one request, as OpenAI has it; some of them wait for others (queued.ts). */
export const MOST_PROMPTS = 2048;

type Prompts = string | readonly string[] | readonly number[] | readonly (readonly number[])[];

/** A text, its tokens, or several of either. */
export const prompts = z.custom<Prompts>(
  isPrompts,
  `must be a text, a list of tokens, or a list of at most ${MOST_PROMPTS} of either`,
);

function isPrompts(value: unknown): value is Prompts {
  if (typeof value === 'string') return true;
  return (
    isListOf(value, isToken) ||
    isListOf(value, (one) => typeof one === 'string') ||
    isListOf(value, (one) => isListOf(one, isToken))
  );
}

/** Whether a value is a list that isn't empty, all of a kind: the first that isn't is the last that is looked at. */
function isListOf(value: unknown, isOne: (value: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isOne);
}

function isToken(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/**
 * The tokens of each text. As in llama.cpp's server and in vLLM, a text has the tokens that the tokenizer adds, such as
 * the one at the beginning, and a list of tokens is taken as it is.
 * @param name the parameter
 * @param addSpecial whether texts have those tokens
 * @throws ApiError 400 for too many texts, or tokens that the model doesn't have
 */
export async function tokensOfPrompts(
  { tokenizer }: Pick<ServedModel, 'tokenizer'>,
  given: Prompts,
  name: string,
  addSpecial = true,
): Promise<readonly (readonly number[])[]> {
  const list = listOf(given);
  if (list.length > MOST_PROMPTS) {
    const problem = `${name}: has ${list.length} texts; at most ${MOST_PROMPTS} are allowed, send the others in further requests`;
    throw new ApiError(400, problem, name, 'invalid_value');
  }
  const found: (readonly number[])[] = [];
  for (const [index, one] of list.entries()) {
    if (typeof one === 'string') {
      found.push(await tokenizer.encodeInTurns(one, { addSpecial, parseSpecial: true }));
      continue;
    }
    const unknown = one.find((id) => id >= tokenizer.size);
    if (unknown !== undefined) {
      const problem = `${name}[${index}]: there is no token ${unknown}; tokens are 0 to ${tokenizer.size - 1}`;
      throw new ApiError(400, problem, name, 'invalid_value');
    }
    found.push(one);
  }
  return found;
}

function listOf(given: Prompts): readonly (string | readonly number[])[] {
  if (typeof given === 'string') return [given];
  return typeof given[0] === 'number' ? [given as readonly number[]] : (given as readonly string[] | number[][]);
}
