import { randomStream } from '../../engine/input/random-stream.ts';
import { createSampler, SAMPLER_DEFAULTS } from '../../engine/text/sampling/sampler.ts';
import { bitsPerByte, openModel, type Seen } from './open-model.ts';
import type { Way } from './residency.ts';
import { TOY_SHAPE } from './toy.ts';

/** The most bytes of a prompt that the lesson takes, and the tokens that it writes. */
export const MOST_PROMPT = 40;
export const WRITTEN = 32;

/** The prompt that the lessons begin with. */
export const PROMPT = 'The weights are read from the ';

/** How tokens are drawn. */
export interface Sampling {
  readonly temperature: number;
  /** 0: all tokens. */
  readonly topK: number;
  readonly topP: number;
  readonly seed: number;
}

/** The reader's settings. */
export interface Setting extends Sampling {
  /** The model of the lesson that writes. */
  readonly weights: 'trained' | 'random';
  readonly prompt: string;
  /** Layers that fit in memory. */
  readonly room: number;
  readonly way: Way;
}

/** Settings of lessons whose subject is something else. */
export const USUAL: Omit<Setting, 'prompt'> = {
  weights: 'trained',
  room: TOY_SHAPE.layers,
  way: 'a pinned prefix stays',
  temperature: 0.7,
  topK: 0,
  topP: 0.9,
  seed: 1,
};

/** A text, and what was seen while it was written. */
export interface Written extends Seen {
  /** Tokens of the prompt, then those that were written. */
  readonly tokens: readonly number[];
  readonly promptTokens: number;
  /** The model file's description of itself. */
  readonly description: string;
  /** Bits a byte that the prompt costs the model. */
  readonly promptBits: number;
}

/** The tokens of a text, one for each of its UTF-8 bytes: the first MOST_PROMPT; a line feed for an empty text. */
export function tokensOf(text: string): number[] {
  const bytes = [...new TextEncoder().encode(text)].slice(0, MOST_PROMPT);
  return bytes.length === 0 ? [0x0a] : bytes;
}

/** Continues a prompt: the prompt goes through the layers at once, then each token by itself. */
export function write(file: Uint8Array, setting: Omit<Setting, 'weights'>): Written {
  const { prompt, room, way, seed, ...sampling } = setting;
  const begin = tokensOf(prompt);
  const contextLength = begin.length + WRITTEN;
  const { transformer, seen, description } = openModel({ file, contextLength, room, way });
  const sampler = createSampler({ ...SAMPLER_DEFAULTS, ...sampling, minP: 0 }, randomStream(seed, 'tokens'));
  const tokens = [...begin];
  let logits = transformer.evaluate(begin);
  while (tokens.length < begin.length + WRITTEN) {
    const token = sampler(logits, tokens);
    tokens.push(token);
    logits = transformer.evaluate([token]);
  }
  const promptBits = bitsPerByte(seen, begin);
  return { ...seen, tokens, promptTokens: begin.length, description, promptBits };
}
