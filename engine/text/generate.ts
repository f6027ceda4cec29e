import { setImmediate } from 'node:timers/promises';
import { InputError } from '../input/input-error.ts';
import type { Candidate } from './sampling/candidates.ts';
import type { Sampler } from './sampling/sampler.ts';
import { createStopStrings } from './stop-strings.ts';
import type { Tokenizer } from './tokenizer.ts';

/** A model for text generation, local or in a ring. */
export interface LanguageModel {
  /** Evaluates these tokens, at least one. Returns the logits after the last: [vocabulary]. */
  evaluate(tokens: readonly number[]): Float32Array | Promise<Float32Array>;
  /** Evaluates them too, and returns the `k` most likely candidates alone, in order: for models far from the sampler. */
  readonly candidates?: ((tokens: readonly number[], k: number) => Promise<readonly Candidate[]>) | undefined;
  /** The most tokens of a prompt to evaluate at once; default PROMPT_PART. */
  readonly promptPart?: number;
  /** Tokens that its KV cache can hold. */
  readonly contextLength: number;
}

export interface GenerateOptions {
  readonly model: LanguageModel;
  readonly tokenizer: Pick<Tokenizer, 'bytesOf' | 'stops'>;
  /** At least one token. */
  readonly prompt: readonly number[];
  /** The most tokens to generate. */
  readonly tokens: number;
  readonly sampler: Sampler;
  /** Texts at which to stop; they are not shown. */
  readonly stops?: readonly string[];
  /** Stops after the current token or part of the prompt. */
  readonly signal?: AbortSignal;
  /** Called with new text, in whole characters. */
  readonly onText?: (text: string) => void;
  /** Called after each part of the prompt with the number of its evaluated tokens. */
  readonly onPrompt?: (done: number) => void;
  /** Seconds. Default: the process's clock. */
  readonly clock?: () => number;
}

export interface Generated {
  readonly text: string;
  readonly tokens: readonly number[];
  /**
   * `end`: the model ended its text; `length`: all requested tokens; `stop`: a stop string; `interrupt`: the signal.
   */
  readonly reason: 'end' | 'length' | 'stop' | 'interrupt';
  /** Seconds until the first token (TTFT); `undefined` without one. */
  readonly firstTokenSeconds: number | undefined;
  /** Seconds from the first token to the last. */
  readonly laterSeconds: number;
}

/**
 * Tokens of the prompt that are evaluated at once, as many as a transformer processes together: every part reads all
 * weights, and a signal is only checked between parts.
 */
export const PROMPT_PART = 512;

/**
 * Generates text token by token; between tokens the process handles other events.
 * @throws InputError if prompt and tokens exceed the context
 */
export async function generate(options: GenerateOptions): Promise<Generated> {
  const { model, tokenizer, prompt, sampler, signal, onText } = options;
  checkRoom(prompt.length, options.tokens, model.contextLength);
  const clock = options.clock ?? (() => performance.now() / 1000);
  const stream = createTextStream(tokenizer);
  const stops = createStopStrings(options.stops ?? []);
  const history = [...prompt];
  const tokens: number[] = [];
  let text = '';
  const show = (more: string): void => {
    text += more;
    if (more !== '') onText?.(more);
  };
  const start = clock();
  let [first, last] = [start, start];

  const evaluate = evaluation(model, sampler);
  let choose = await evaluatePrompt(options, evaluate);
  let reason: Generated['reason'] = 'length';
  while (tokens.length < options.tokens) {
    if (choose === undefined || signal?.aborted) {
      reason = 'interrupt';
      break;
    }
    const token = choose(history);
    last = clock();
    if (tokens.length === 0) first = last;
    tokens.push(token);
    history.push(token);
    if (tokenizer.stops.has(token)) {
      reason = 'end';
      break;
    }
    show(stops.add(stream.add(token)));
    if (stops.found !== undefined) {
      reason = 'stop';
      break;
    }
    if (tokens.length === options.tokens) break;
    choose = await evaluate([token]);
    await setImmediate();
  }
  show(stops.add(stream.finish()));
  show(stops.finish());
  return {
    text,
    tokens,
    reason,
    firstTokenSeconds: tokens.length === 0 ? undefined : first - start,
    laterSeconds: last - first,
  };
}

/** @throws InputError if a prompt and the tokens to generate exceed the context */
export function checkRoom(prompt: number, tokens: number, context: number): void {
  if (prompt + tokens <= context) return;
  const needed = `${prompt} tokens of the prompt and ${tokens} to generate are ${prompt + tokens}`;
  throw new InputError('context', `${needed}, but it has room for ${context}; ask for fewer or a longer context`);
}

/** Evaluates tokens. @returns what chooses the next one, given all previous tokens */
type Evaluation = (tokens: readonly number[]) => Promise<(history: readonly number[]) => number>;

/** By candidates if the model offers them and they are all that the sampler needs. */
function evaluation(model: LanguageModel, sampler: Sampler): Evaluation {
  const { ofCandidates } = sampler;
  if (model.candidates === undefined || ofCandidates === undefined)
    return async (tokens) => {
      const logits = await model.evaluate(tokens);
      return (history) => sampler(logits, history);
    };
  const { candidates } = model;
  return async (tokens) => {
    const found = await candidates(tokens, ofCandidates.k);
    return () => ofCandidates.choose(found);
  };
}

/** What chooses the first token after the prompt; `undefined` if the signal came first. */
async function evaluatePrompt(
  { model, prompt, signal, onPrompt }: GenerateOptions,
  evaluate: Evaluation,
): Promise<Awaited<ReturnType<Evaluation>> | undefined> {
  const most = model.promptPart ?? PROMPT_PART;
  let choose: Awaited<ReturnType<Evaluation>> | undefined;
  for (let done = 0; done < prompt.length; done += most) {
    if (signal?.aborted) return undefined;
    choose = await evaluate(prompt.slice(done, done + most));
    onPrompt?.(Math.min(done + most, prompt.length));
    await setImmediate();
  }
  return choose;
}

/** Text from tokens, in whole characters. */
export interface TextStream {
  /** Characters completed by this token. */
  add(token: number): string;
  /** The rest: a replacement character if the last one is incomplete. */
  finish(): string;
}

/**
 * Joins the bytes of tokens: a character whose bytes span several tokens appears with the last of them. Bytes that are
 * not UTF-8, which a model may write, become U+FFFD.
 */
export function createTextStream(tokenizer: Pick<Tokenizer, 'bytesOf'>): TextStream {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return {
    add: (token) => decoder.decode(tokenizer.bytesOf(token), { stream: true }),
    finish: () => decoder.decode(),
  };
}
