import type { BatchResult, GeneratedPiece } from '../runtime/batch/batch-engine.ts';
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
  /** New text of a choice, with its token; text that was held back until the end comes without one. */
  more(index: number, text: string, piece: GeneratedPiece | undefined): readonly ServerEvent[];
  /** A choice has ended. */
  finish(index: number, result: BatchResult): readonly ServerEvent[];
  /** All choices have ended. */
  end(choices: readonly FinishedChoice[]): readonly ServerEvent[];
}

/** A request as read: what to generate, and how to write it. */
export interface Asked {
  readonly request: TextRequest;
  readonly stream: boolean;
  readonly form: AnswerForm;
}

/** Tokens of the prompts, of which each has `count` choices, of their cached parts, and of all texts. */
export function usageOf(choices: readonly FinishedChoice[], count: number) {
  const byPrompt = choices.filter(({ index }) => index % count === 0).map(({ result }) => result);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    prompt: sum(byPrompt.map(({ promptTokens }) => promptTokens)),
    cached: sum(byPrompt.map(({ cachedTokens }) => cachedTokens)),
    generated: sum(choices.map(({ result }) => result.tokens.length)),
  };
}

/** `usage` of chat completions and completions. */
export function completionUsage(choices: readonly FinishedChoice[], count: number) {
  const { prompt, cached, generated } = usageOf(choices, count);
  return {
    prompt_tokens: prompt,
    completion_tokens: generated,
    total_tokens: prompt + generated,
    prompt_tokens_details: { cached_tokens: cached },
  };
}

/** `finish_reason`: never `tool_calls`, since tools are refused. */
export function finishReason({ reason }: BatchResult): 'stop' | 'length' {
  return reason === 'length' ? 'length' : 'stop';
}
