import { z } from 'zod';
import { InputError } from '../../input/input-error.ts';
import { ApiError, STOPPED } from '../api-error.ts';
import { type BodyRules, readBody } from '../read-body.ts';
import type { ServedModel } from '../served-model.ts';
import { checkModel } from '../text-request.ts';
import * as parameters from './parameters.ts';
import { prompts, tokensOfPrompts } from './prompts.ts';

/** Texts to embed, and how to write their vectors. */
export interface AskedEmbeddings {
  /** The tokens of each text. */
  readonly texts: readonly (readonly number[])[];
  readonly format: 'float' | 'base64';
  /** Values of a vector, the first of its mean; default: all. */
  readonly dimensions?: number;
}

const RULES = {
  shape: z.object({
    model: z.string().optional(),
    input: prompts,
    encoding_format: z.enum(['float', 'base64']).optional(),
    dimensions: z.int().min(1).optional(),
  }),
  harmless: parameters.HARMLESS,
  unsupported: {},
} satisfies BodyRules<z.ZodObject>;

/**
 * Reads `POST /v1/embeddings`.
 * @param isCut whether a text that is longer than the context is cut to it
 * @throws ApiError, also for texts without tokens or, unless they are cut, with more than the context has
 */
export async function askEmbeddings(
  model: ServedModel,
  json: unknown,
  { isCut = false }: { readonly isCut?: boolean } = {},
): Promise<AskedEmbeddings> {
  const body = readBody(RULES, json);
  checkModel(model, body.model);
  if (body.dimensions !== undefined && body.dimensions !== model.hiddenSize) {
    const problem = `dimensions: ${body.dimensions} is not supported; this model has ${model.hiddenSize}, leave it out`;
    throw new ApiError(400, problem, 'dimensions', 'unsupported_value');
  }
  const whole = await tokensOfPrompts(model, body.input, 'input');
  const texts = isCut ? whole.map((tokens) => tokens.slice(0, model.contextLength)) : whole;
  for (const [index, { length }] of texts.entries()) {
    if (length === 0) throw new ApiError(400, `input[${index}]: is empty`, 'input', 'invalid_value');
    if (length <= model.contextLength) continue;
    const has = `has ${length} tokens, and the context has room for ${model.contextLength}`;
    throw new ApiError(400, `input[${index}]: ${has}; shorten it`, 'input', 'context_length_exceeded');
  }
  return { texts, format: body.encoding_format ?? 'float' };
}

/**
 * The mean hidden state of each text, of length 1 as OpenAI's embeddings are, in OpenAI's form.
 * @param asked `atOnce`: texts that run at the same time, each followed by the next that waits
 * @param signal fires when the client is gone, or the server stops
 * @throws ApiError 503 then
 */
export async function embed(
  model: ServedModel,
  asked: AskedEmbeddings & { readonly atOnce: number },
  signal: AbortSignal,
) {
  const { texts, format, dimensions, atOnce } = asked;
  const means = Array<Float32Array | undefined>(texts.length);
  const waiting = texts.entries();
  const one = async (): Promise<void> => {
    for (const [index, tokens] of waiting) {
      if (signal.aborted) return;
      means[index] = await start(model, tokens, signal);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  const tokens = texts.reduce((sum, { length }) => sum + length, 0);
  return {
    object: 'list',
    data: means.map((mean, index) => {
      if (mean === undefined) throw STOPPED;
      const vector = ofLengthOne(mean.subarray(0, dimensions));
      return { object: 'embedding', index, embedding: format === 'float' ? [...vector] : base64(vector) };
    }),
    model: model.name,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

function start({ engine }: ServedModel, tokens: readonly number[], signal: AbortSignal) {
  try {
    return engine.embed({ tokens, signal });
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new ApiError(400, error.message, 'input', 'context_length_exceeded');
  }
}

/** x / ‖x‖₂; a vector of zeros stays one. */
function ofLengthOne(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((value) => value / length);
}

/** Its float32 values, little endian. */
function base64(vector: Float32Array): string {
  const bytes = Buffer.alloc(4 * vector.length);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, 4 * index);
  return bytes.toString('base64');
}
