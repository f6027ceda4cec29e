import { randomInt } from 'node:crypto';
import { InputError } from '../input/input-error.ts';
import { type RandomStream, randomStream } from '../input/random-stream.ts';
import type { BatchRequest, BatchResult, GeneratedPiece, RunningRequest } from '../runtime/batch/batch-engine.ts';
import type { Grammar } from '../text/grammar/grammar.ts';
import { heldSampler } from '../text/grammar/held-sampler.ts';
import type { TextForm } from '../text/grammar/text-form.ts';
import type { Message } from '../text/message.ts';
import { withBias } from '../text/sampling/bias.ts';
import { type OccurrencePenalties, withOccurrencePenalties } from '../text/sampling/occurrences.ts';
import { createSampler, SAMPLER_DEFAULTS, type Sampler, type SamplerOptions } from '../text/sampling/sampler.ts';
import { lookAhead } from '../text/speculation/look-ahead.ts';
import type { CallReading } from '../text/tools/read-calls.ts';
import type { Tool, ToolCall } from '../text/tools/tool.ts';
import { ApiError } from './api-error.ts';
import { queuedRuns } from './queued.ts';
import type { ServedModel } from './served-model.ts';

/** Most texts of a request that are continued at the same time. */
export const MOST_AT_ONCE = 8;

/** Texts that a client asks for, whichever API it speaks: `count` continuations of each prompt. */
export interface TextRequest {
  readonly prompts: readonly (readonly number[])[];
  readonly count: number;
  /** The most tokens of a text; `undefined`: as many as the context has room for. */
  readonly tokens: number | undefined;
  readonly sampling: SamplerOptions;
  readonly penalties: OccurrencePenalties;
  /** `undefined`: another one each time. */
  readonly seed: number | undefined;
  readonly stops: readonly string[];
  readonly topLogprobs: number | undefined;
  /** The same of the prompts' tokens. */
  readonly promptLogprobs?: number;
  /** Grammar that the texts must satisfy; `undefined`: anything. */
  readonly grammar: Grammar | undefined;
  /** Added to the logits of tokens. */
  readonly bias?: ReadonlyMap<number, number>;
  /** Tokens that end a text in addition to those of the vocabulary. */
  readonly stopTokens?: ReadonlySet<number>;
}

/** A text under way. Texts are numbered prompt by prompt. */
export interface Choice {
  readonly index: number;
  readonly run: RunningRequest;
}

export interface FinishedChoice {
  readonly index: number;
  readonly result: BatchResult;
  readonly pieces: readonly GeneratedPiece[];
  /** The model's thoughts, its text without thoughts and calls of tools, and these calls. */
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly ToolCall[];
  /** Tokens of its thoughts. */
  readonly reasoningTokens: number;
}

/** Parameters of drawing tokens that the APIs share. */
export interface SamplingParameters {
  readonly temperature?: number | undefined;
  readonly top_p?: number | undefined;
  readonly top_k?: number | undefined;
  readonly min_p?: number | undefined;
  readonly repeat_penalty?: number | undefined;
  readonly repetition_penalty?: number | undefined;
}

/** Parameters that a client leaves out have the values of `hearth generate`. */
export function samplingOf(parameters: SamplingParameters): SamplerOptions {
  return {
    temperature: parameters.temperature ?? SAMPLER_DEFAULTS.temperature,
    topP: parameters.top_p ?? SAMPLER_DEFAULTS.topP,
    topK: Math.max(0, parameters.top_k ?? SAMPLER_DEFAULTS.topK),
    minP: parameters.min_p ?? SAMPLER_DEFAULTS.minP,
    repeatPenalty: parameters.repeat_penalty ?? parameters.repetition_penalty ?? SAMPLER_DEFAULTS.repeatPenalty,
  };
}

/** @throws ApiError 404 for another model than the one that is served */
export function checkModel(model: ServedModel, name: string | undefined): void {
  if (name === undefined || name === model.name) return;
  const problem = `there is no model "${name.slice(0, 100)}" here; this server has "${model.name}"`;
  throw new ApiError(404, `model: ${problem}`, 'model', 'model_not_found');
}

/** A conversation that awaits an answer, and what that may be. */
export interface AskedAnswer {
  readonly messages: readonly Message[];
  /** Tools that the model is told of. */
  readonly tools: readonly Tool[];
  /** Required form of the answer; `undefined`: anything. */
  readonly form: TextForm | undefined;
  readonly reading: CallReading;
  /** Variables of the chat template. */
  readonly variables?: Readonly<Record<string, unknown>>;
}

/**
 * The prompt of a conversation, and the form of its answer and how that is read, both with the thoughts before it.
 * @throws ApiError 400 for a model without chat template, or one that refuses the conversation
 */
export async function promptOf(
  { chatPrompt, reasoning }: ServedModel,
  { messages, tools, form, reading, variables = {} }: AskedAnswer,
): Promise<{ readonly prompt: readonly number[]; readonly form: TextForm | undefined; readonly reading: CallReading }> {
  if (chatPrompt === undefined)
    throw new ApiError(400, 'this model has no chat template; use /v1/completions', 'model', 'no_chat_template');
  try {
    const { tokens, isThinking } = await chatPrompt(messages, tools, variables);
    const opened = reasoning && {
      begin: reasoning.begin,
      end: reasoning.end,
      leads: reasoning.leads,
      isOpened: isThinking,
    };
    return {
      prompt: tokens,
      form: form && { ...form, reasoning: opened },
      reading: { ...reading, reasoning: opened },
    };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new ApiError(400, `messages: the chat template ${error.problem}`, 'messages', 'invalid_value');
  }
}

/**
 * Starts the texts. The first text of a seed is the one that `hearth generate` gives for it.
 * @throws ApiError 400 if a prompt leaves no room for an answer, before any has started
 */
export function startTexts(
  model: ServedModel,
  request: TextRequest,
  { atOnce, signal }: { readonly atOnce: number; readonly signal: AbortSignal },
): Choice[] {
  const {
    prompts,
    count,
    penalties,
    stops,
    topLogprobs,
    promptLogprobs,
    grammar,
    bias = new Map(),
    stopTokens,
  } = request;
  const queued = queuedRuns(atOnce);
  for (const prompt of prompts) checkPrompt(prompt, model.contextLength, request.tokens);
  const seed = request.seed ?? randomInt(2 ** 32);
  return prompts.flatMap((prompt, promptIndex) =>
    Array.from({ length: count }, (_, number): Choice => {
      const stream = lookAhead(randomStream(seed, number === 0 ? 'sampler' : `sampler ${number}`));
      const free = (numbers: Pick<RandomStream, 'next'>): Sampler =>
        withBias(withOccurrencePenalties(createSampler(request.sampling, numbers), prompt.length, penalties), bias);
      const held = grammar === undefined ? undefined : heldSampler(free(stream), grammar);
      const sampler = held ?? free(stream);
      const draftSampler = (): Sampler => held?.ahead(free(stream.coming())) ?? free(stream.coming());
      const room = model.contextLength - prompt.length;
      const tokens = Math.min(request.tokens ?? room, room);
      const parts = {
        ...{ prompt, tokens, sampler, draftSampler, stops, signal },
        ...(stopTokens === undefined ? {} : { stopTokens }),
        ...(topLogprobs === undefined ? {} : { topLogprobs }),
        ...(promptLogprobs === undefined ? {} : { promptLogprobs }),
      };
      const run = queued(() => submit(model, parts));
      return { index: promptIndex * count + number, run };
    }),
  );
}

function submit({ engine }: ServedModel, request: BatchRequest): RunningRequest {
  try {
    const run = engine.submit(request);
    run.result.catch(() => {}); // the reader of the text gets the error, unless the client is gone
    return run;
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new ApiError(400, error.message, null, 'context_length_exceeded');
  }
}

function checkPrompt(prompt: readonly number[], contextLength: number, tokens: number | undefined): void {
  if (prompt.length === 0) throw new ApiError(400, 'prompt: is empty', 'prompt', 'invalid_value');
  if (prompt.length < contextLength || (tokens === 0 && prompt.length === contextLength)) return;
  const has = `the prompt has ${prompt.length} tokens, and the context has room for ${contextLength} with the answer`;
  throw new ApiError(400, `${has}; shorten it`, null, 'context_length_exceeded');
}
