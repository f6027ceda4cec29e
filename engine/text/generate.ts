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

/** A model that evaluates guessed tokens, and forgets those that were wrong. */
export interface VerifyingModel extends LanguageModel {
  /** Tokens in the KV cache. */
  readonly position: number;
  /**
   * Evaluates tokens, at most `verifiedTokens`. Returns the logits after each, as they are if tokens are evaluated one by
   * one: [tokens][vocabulary].
   */
  verify(tokens: readonly number[]): Float32Array | Promise<Float32Array>;
  /** Removes all tokens from `position` on. */
  rewind(position: number): void;
}

/** Guesses at the next tokens of a text, which a model verifies in one pass. The text doesn't depend on them. */
export interface Speculation {
  /** The prompt was evaluated. */
  begin(prompt: { readonly tokens: number; readonly seconds: number }): void;
  /**
   * Evaluates the last token of the text, and `most` or fewer that may follow it.
   * @param text prompt and text so far
   */
  next(text: readonly number[], most: number): Promise<SpeculativePass>;
  /** Keeps the first `accepted` of the drafted tokens; the others are forgotten. */
  settle(accepted: number): void;
}

/** A pass, until the next one. */
export interface SpeculativePass {
  readonly drafted: readonly number[];
  /** Logits after the last token of the text (0), and after each drafted one. */
  logits(index: number): Float32Array;
}

/** The model that writes, and when it stops. */
export interface GenerateOptions {
  readonly model: LanguageModel;
  /** How the model is asked after the prompt. Default: for one token after the other. */
  readonly speculation?: Speculation | undefined;
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

/** A text that a model wrote. */
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
 * Generates text token by token; between tokens the process handles other events, at least every millisecond.
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
  const reasonAfter = (token: number): Generated['reason'] | undefined => {
    if (tokenizer.stops.has(token)) return 'end';
    show(stops.add(stream.add(token)));
    if (stops.found !== undefined) return 'stop';
    return tokens.length === options.tokens ? 'length' : undefined;
  };
  const start = clock();
  let [first, last] = [start, start];

  const evaluate = evaluation(model, sampler);
  const step = stepsOf(options, evaluate);
  const breathe = createBreathing();
  let pass = onePass(await evaluatePrompt(options, evaluate));
  let reason: Generated['reason'] | undefined;
  while (tokens.length < options.tokens && reason === undefined) {
    if (pass === undefined || signal?.aborted) {
      reason = 'interrupt';
      break;
    }
    let accepted = 0;
    for (;;) {
      const token = pass.choose(accepted, history);
      last = clock();
      if (tokens.length === 0) first = last;
      tokens.push(token);
      history.push(token);
      reason = reasonAfter(token);
      if (reason !== undefined || token !== pass.drafted[accepted]) break;
      accepted += 1;
    }
    pass.settle(accepted);
    if (reason !== undefined) break;
    if (tokens.length === 1) options.speculation?.begin({ tokens: prompt.length, seconds: first - start });
    pass = await step(history, options.tokens - tokens.length);
    await breathe();
  }
  show(stops.add(stream.finish()));
  show(stops.finish());
  return {
    text,
    tokens,
    reason: reason ?? 'length',
    firstTokenSeconds: tokens.length === 0 ? undefined : first - start,
    laterSeconds: last - first,
  };
}

/** Seconds after which other events get their turn: tokens of small models take less, and a turn costs some of that. */
const BREATH_SECONDS = 0.001;

/** @returns a function that lets the process handle other events, unless it did so just before */
function createBreathing(): () => Promise<void> | undefined {
  let last = performance.now();
  return () => {
    if (performance.now() - last < 1000 * BREATH_SECONDS) return undefined;
    return setImmediate().then(() => {
      last = performance.now();
    });
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

/** A pass whose tokens are chosen one after the other, as long as they are those that were drafted. */
interface Pass {
  readonly drafted: readonly number[];
  /** The token after the first `index` drafted ones. */
  choose(index: number, history: readonly number[]): number;
  settle(accepted: number): void;
}

function onePass(choose: Awaited<ReturnType<Evaluation>> | undefined): Pass | undefined {
  return choose && { drafted: [], choose: (_, history) => choose(history), settle() {} };
}

/** The passes after the prompt. @returns a function of the text so far, and of the tokens that it still lacks */
function stepsOf(
  { speculation, sampler }: GenerateOptions,
  evaluate: Evaluation,
): (history: readonly number[], left: number) => Promise<Pass | undefined> {
  if (speculation === undefined) return async (history) => onePass(await evaluate(history.slice(-1)));
  let verified: SpeculativePass;
  const pass: Pass = {
    get drafted() {
      return verified.drafted;
    },
    choose: (index, text) => sampler(verified.logits(index), text),
    settle: (accepted) => speculation.settle(accepted),
  };
  return async (history, left) => {
    // A pass gives a token more than it verifies.
    verified = await speculation.next(history, left - 1);
    return pass;
  };
}

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

/** Logits that choose the first token after the prompt; `undefined` if the signal came first. */
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
