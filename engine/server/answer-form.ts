import type { GeneratedPiece } from '../runtime/batch/batch-engine.ts';
import type { CallPart } from '../text/tools/held-call.ts';
import type { CallReading } from '../text/tools/read-calls.ts';
import type { ApiError } from './api-error.ts';
import type { FinishedChoice, TextRequest } from './text-request.ts';

/** An event of a stream (server-sent events). */
export interface ServerEvent {
  /** Its name, in APIs that have names. */
  readonly event?: string;
  readonly data: object | '[DONE]';
}

/** How an API writes texts: as a whole, or as events. Every function may be called for several choices. */
export interface AnswerForm {
  whole(choices: readonly FinishedChoice[]): object;
  /** The events before any text. */
  begin(promptTokens: number): readonly ServerEvent[];
  /** New thoughts of a choice, with their token. */
  think(index: number, reasoning: string, piece: GeneratedPiece | undefined): readonly ServerEvent[];
  /** New text of a choice, with its token; text that was held back until the end comes without one. */
  more(index: number, text: string, piece: GeneratedPiece | undefined): readonly ServerEvent[];
  /** A choice calls a tool, or goes on with it. */
  call(index: number, part: CallPart): readonly ServerEvent[];
  /** A choice has ended. */
  finish(choice: FinishedChoice): readonly ServerEvent[];
  /** All choices have ended. */
  end(choices: readonly FinishedChoice[]): readonly ServerEvent[];
  /** The last event of a stream that an error ends. */
  fail(error: ApiError): ServerEvent;
}

/** A request as read: what to generate, and how to write it. */
export interface Asked {
  readonly request: TextRequest;
  readonly stream: boolean;
  /** Whether a stream is lines of JSON in place of server-sent events. */
  readonly isLines?: boolean;
  /** How thoughts and calls of tools are found in the texts; `undefined`: there are none. */
  readonly reading: CallReading | undefined;
  /** Parameters of the request that are left out. */
  readonly ignored: readonly string[];
  readonly form: AnswerForm;
}

/** A request that is answered without generating a text. */
export interface Answered {
  readonly body: object;
}

/** Tokens of the prompts, of which each has `count` choices, of their cached parts, and of all texts. */
export function usageOf(choices: readonly FinishedChoice[], count: number) {
  const byPrompt = choices.filter(({ index }) => index % count === 0).map(({ result }) => result);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    prompt: sum(byPrompt.map(({ promptTokens }) => promptTokens)),
    cached: sum(byPrompt.map(({ cachedTokens }) => cachedTokens)),
    generated: sum(choices.map(({ result }) => result.tokens.length)),
    reasoning: sum(choices.map(({ reasoningTokens }) => reasoningTokens)),
  };
}

/** `usage` of chat completions and completions. */
export function completionUsage(choices: readonly FinishedChoice[], count: number) {
  const { prompt, cached, generated, reasoning } = usageOf(choices, count);
  return {
    prompt_tokens: prompt,
    completion_tokens: generated,
    total_tokens: prompt + generated,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

/** `finish_reason` of chat completions and completions. */
export function finishReason({
  result,
  calls,
}: Pick<FinishedChoice, 'result' | 'calls'>): 'stop' | 'length' | 'tool_calls' {
  if (result.reason === 'length') return 'length';
  return calls.length > 0 ? 'tool_calls' : 'stop';
}
