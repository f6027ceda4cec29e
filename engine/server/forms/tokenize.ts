import { z } from 'zod';
import { ApiError } from '../api-error.ts';
import { readBody } from '../read-body.ts';
import type { ServedModel } from '../served-model.ts';

const RULES = {
  shape: z.object({
    content: z.string().optional(),
    add_special: z.boolean().optional(),
    parse_special: z.boolean().optional(),
    with_pieces: z.boolean().optional(),
    prompt: z.string().optional(),
    add_special_tokens: z.boolean().optional(),
    return_token_strs: z.boolean().optional(),
  }),
  harmless: ['model'],
  unsupported: {},
};

/**
 * `POST /tokenize`: the tokens of a text, asked for as `content`, as llama.cpp's server has it, or as `prompt`, as vLLM's
 * has it.
 * @throws ApiError
 */
export async function tokenize({ tokenizer, contextLength }: ServedModel, json: unknown): Promise<object> {
  const body = readBody(RULES, json);
  const isPrompt = body.prompt !== undefined;
  const text = body.prompt ?? body.content;
  if (text === undefined) throw new ApiError(400, 'content: is missing; send a text', 'content', 'invalid_value');
  if (isPrompt && body.content !== undefined)
    throw new ApiError(400, 'prompt: is sent together with content; send one of them', 'prompt', 'invalid_value');
  const tokens = await tokenizer.encodeInTurns(text, {
    addSpecial: body.add_special ?? body.add_special_tokens ?? isPrompt,
    parseSpecial: body.parse_special ?? true,
  });
  if (!isPrompt) return { tokens: body.with_pieces === true ? tokens.map((id) => pieceOf(tokenizer, id)) : tokens };
  const spellings = body.return_token_strs === true ? tokens.map((id) => tokenizer.spell(id)) : null;
  return { count: tokens.length, max_model_len: contextLength, tokens, token_strs: spellings };
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A token with its text, or with its bytes where they are parts of characters. */
function pieceOf(tokenizer: ServedModel['tokenizer'], id: number): { id: number; piece: string | number[] } {
  const bytes = writtenBytes(tokenizer, id);
  try {
    return { id, piece: UTF8.decode(bytes) };
  } catch {
    return { id, piece: [...bytes] };
  }
}

/** The bytes of a token; of a control token those of its spelling, from which `/tokenize` finds it again. */
function writtenBytes(tokenizer: ServedModel['tokenizer'], id: number): Uint8Array {
  const bytes = tokenizer.bytesOf(id);
  return bytes.length > 0 ? bytes : new TextEncoder().encode(tokenizer.spell(id));
}

const TOKENS = {
  shape: z.object({ tokens: z.array(z.int().min(0)) }),
  harmless: ['model'],
  unsupported: {},
};

/** `POST /detokenize`: the text of tokens, as llama.cpp's server names it and as vLLM's does. @throws ApiError */
export async function detokenize({ tokenizer }: ServedModel, json: unknown): Promise<object> {
  const { tokens } = readBody(TOKENS, json);
  const unknown = tokens.find((token) => token >= tokenizer.size);
  if (unknown !== undefined) {
    const problem = `tokens: there is no token ${unknown}; tokens are 0 to ${tokenizer.size - 1}`;
    throw new ApiError(400, problem, 'tokens', 'invalid_value');
  }
  const text = new TextDecoder().decode(Buffer.concat(tokens.map((token) => writtenBytes(tokenizer, token))));
  return { content: text, prompt: text };
}

/** `GET /tokenizer_info`, as vLLM's server has it: what clients need that count tokens with this server. */
export function tokenizerInfo({ tokenizer, contextLength, chatTemplate }: ServedModel): object {
  const spelled = (token: number | undefined) => (token === undefined ? null : tokenizer.spell(token));
  return {
    ...{ tokenizer_class: 'hearth', model_max_length: contextLength, add_bos_token: tokenizer.addsBegin },
    ...{ bos_token: spelled(tokenizer.begin), eos_token: spelled(tokenizer.end) },
    chat_template: chatTemplate ?? null,
  };
}
