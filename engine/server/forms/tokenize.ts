import { z } from 'zod';
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
