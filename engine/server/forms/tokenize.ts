import { z } from 'zod';
import { ApiError } from '../api-error.ts';
import { readBody } from '../read-body.ts';
import type { ServedModel } from '../served-model.ts';

const RULES = {
  shape: z.object({
    content: z.string(),
    add_special: z.boolean().optional(),
    parse_special: z.boolean().optional(),
  }),
  harmless: [],
  unsupported: {},
};

/** `POST /tokenize`, as llama.cpp's server has it: the tokens of a text. @throws ApiError */
export async function tokenize({ tokenizer }: ServedModel, json: unknown): Promise<{ tokens: number[] }> {
  const { content, add_special = false, parse_special = true } = readBody(RULES, json);
  const tokens = await tokenizer.encodeInTurns(content, { addSpecial: add_special, parseSpecial: parse_special });
  return { tokens };
}

const TOKENS = {
  shape: z.object({ tokens: z.array(z.int().min(0)) }),
  harmless: [],
  unsupported: {},
};

/** `POST /detokenize`, as llama.cpp's server has it: the text of tokens. @throws ApiError */
export async function detokenize({ tokenizer }: ServedModel, json: unknown): Promise<{ content: string }> {
  const { tokens } = readBody(TOKENS, json);
  const unknown = tokens.find((token) => token >= tokenizer.size);
  if (unknown !== undefined) {
    const problem = `tokens: there is no token ${unknown}; tokens are 0 to ${tokenizer.size - 1}`;
    throw new ApiError(400, problem, 'tokens', 'invalid_value');
  }
  return { content: new TextDecoder().decode(Buffer.concat(tokens.map((token) => tokenizer.bytesOf(token)))) };
}
