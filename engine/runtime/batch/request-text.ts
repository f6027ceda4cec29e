import type { Generated } from '../../text/generate.ts';
import { createTextStream } from '../../text/generate.ts';
import { createSampler, SAMPLER_DEFAULTS } from '../../text/sampling/sampler.ts';
import { createStopStrings } from '../../text/stop-strings.ts';
import type { Tokenizer } from '../../text/tokenizer.ts';
import type { BatchRequest, BatchResult, GeneratedPiece, RunningRequest } from './batch-engine.ts';
import { tokenLogprobs } from './logprobs.ts';
import { createPromptLogprobs } from './prompt-logprobs.ts';
import type { RequestTask } from './request-task.ts';

/** The text of a request as it grows, for the engine: the next token is chosen from the logits after the history. */
export interface RequestText extends RequestTask {
  /** The caller's view of the request. */
  readonly handle: RunningRequest;
}

export interface RequestTextOptions {
  readonly request: BatchRequest;
  readonly tokenizer: Pick<Tokenizer, 'bytesOf' | 'stops'>;
  readonly vocabularySize: number;
  /** Seconds. */
  readonly clock: () => number;
}

export function createRequestText({ request, tokenizer, vocabularySize, clock }: RequestTextOptions): RequestText {
  const { prompt, sampler, topLogprobs } = request;
  const stream = createTextStream(tokenizer);
  const stops = createStopStrings(request.stops ?? []);
  const history = [...prompt];
  const found = request.promptLogprobs === undefined ? undefined : createPromptLogprobs(prompt, request.promptLogprobs);
  const queue = createPieces();
  const start = clock();
  let [first, last] = [start, start];
  let text = '';
  let resolve: (result: BatchResult) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const result = new Promise<BatchResult>((fulfil, refuse) => {
    resolve = fulfil;
    reject = refuse;
  });
  // Callers that only iterate get errors from the iteration.
  result.catch(() => {});

  const end = (reason: Generated['reason'], cachedTokens: number): void => {
    const tokens = history.slice(prompt.length);
    queue.end();
    resolve({
      text,
      tokens,
      reason,
      firstTokenSeconds: tokens.length === 0 ? undefined : first - start,
      laterSeconds: last - first,
      promptTokens: prompt.length,
      cachedTokens,
      ...(found === undefined ? {} : { promptLogprobs: found.list }),
    });
  };
  const isEnd = (token: number): boolean => tokenizer.stops.has(token) || request.stopTokens?.has(token) === true;
  const rest = (): string => stops.add(stream.finish()) + stops.finish();
  const reasonAfter = (token: number): Generated['reason'] | undefined => {
    if (isEnd(token)) return 'end';
    if (stops.found !== undefined) return 'stop';
    return history.length - prompt.length === request.tokens ? 'length' : undefined;
  };
  return {
    handle: { result, [Symbol.asyncIterator]: () => queue.iterator },
    history,
    get isCancelled() {
      return request.signal?.aborted === true || queue.isLeft;
    },
    // Pages that others evaluated come without logits.
    sharesPages: found === undefined,
    begin: () => found?.begin(),
    wanted: (isLast) => (found?.isComplete === false ? 'all' : isLast ? 'last' : 'none'),
    get mostDrafted() {
      // A pass gives a token more than it verifies.
      return request.tokens - (history.length - prompt.length) - 1;
    },
    draftSampler: request.draftSampler ?? mostLikely,
    take(given, { isLast, cachedTokens, drafted }) {
      const logits = found?.isComplete === false ? found.take(given, vocabularySize) : given;
      if (!isLast) return true;
      if (request.tokens === 0) {
        end('length', cachedTokens);
        return false;
      }
      const width = logits.length / (drafted.length + 1);
      for (let index = 0; ; index++) {
        const token = next(logits.subarray(index * width, (index + 1) * width), cachedTokens);
        if (token === undefined) return false;
        if (token !== drafted[index]) return true;
      }
    },
    interrupt(cachedTokens) {
      text += rest();
      end('interrupt', cachedTokens);
    },
    fail(error) {
      queue.end(error);
      reject(error);
    },
  };

  /** Chooses the next token. @returns `undefined` if it is the last */
  function next(logits: Float32Array, cachedTokens: number): number | undefined {
    const token = sampler(logits, history);
    last = clock();
    if (history.length === prompt.length) first = last;
    history.push(token);
    let shown = isEnd(token) ? '' : stops.add(stream.add(token));
    const reason = reasonAfter(token);
    if (reason !== undefined) shown += rest();
    text += shown;
    const logprobs = topLogprobs === undefined ? {} : { logprobs: tokenLogprobs(logits, token, topLogprobs) };
    queue.push({ text: shown, token, ...logprobs });
    if (reason === undefined) return token;
    end(reason, cachedTokens);
    return undefined;
  }
}

/** Chooses the most likely token. */
const mostLikely = () => createSampler({ ...SAMPLER_DEFAULTS, temperature: 0 }, { next: () => 0 });

interface Pieces {
  readonly iterator: AsyncIterator<GeneratedPiece, undefined>;
  /** Whether the reader left before the end. */
  readonly isLeft: boolean;
  push(piece: GeneratedPiece): void;
  /** No more come. @param error thrown to the reader after the pieces */
  end(error?: unknown): void;
}

/** Pieces between the engine and their reader. */
function createPieces(): Pieces {
  const waiting: GeneratedPiece[] = [];
  let [isEnded, isLeft] = [false, false];
  let error: unknown;
  let wake: () => void = () => {};
  return {
    iterator: {
      async next() {
        while (waiting.length === 0 && !isEnded)
          await new Promise<void>((woken) => {
            wake = woken;
          });
        const value = waiting.shift();
        if (value !== undefined) return { value, done: false };
        const thrown = error;
        error = undefined;
        if (thrown !== undefined) throw thrown;
        return { value: undefined, done: true };
      },
      async return() {
        isLeft = !isEnded;
        return { value: undefined, done: true };
      },
    },
    get isLeft() {
      return isLeft;
    },
    push(piece) {
      waiting.push(piece);
      wake();
    },
    end(thrown) {
      isEnded = true;
      error = thrown;
      wake();
    },
  };
}
