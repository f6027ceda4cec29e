import { setImmediate } from 'node:timers/promises';
import { type BatchLimits, PROMPT_TOKENS_BESIDE_DECODING } from '../../batch/request-policy.ts';
import { createRequestQueue, type QueuedRequest, type QueuedWork } from '../../batch/request-queue.ts';
import { InputError } from '../../input/input-error.ts';
import { checkRoom } from '../../text/generate.ts';
import type { Tokenizer } from '../../text/tokenizer.ts';
import type { KeptPage, Sequence, Sequences, SequenceWork } from '../sequences.ts';
import { valuesOf } from '../wanted-rows.ts';
import type { BatchEngine } from './batch-engine.ts';
import { createRate } from './rate.ts';
import { createRequestEmbedding } from './request-embedding.ts';
import type { RequestTask } from './request-task.ts';
import { createRequestText } from './request-text.ts';

export interface BatchEngineOptions {
  /** For the engine alone until it is closed. */
  readonly sequences: Sequences;
  readonly tokenizer: Pick<Tokenizer, 'bytesOf' | 'stops'>;
  /** Default: `PROMPT_TOKENS_BESIDE_DECODING`. */
  readonly promptTokensBesideDecoding?: number;
  /** Seconds. Default: the process's clock. */
  readonly clock?: () => number;
}

/** A request that is not done. */
interface Open extends QueuedRequest {
  readonly task: RequestTask;
}

/**
 * One loop carries out the passes that a request queue chooses while there are requests; between them the process
 * handles other events.
 */
export function createBatchEngine(options: BatchEngineOptions): BatchEngine {
  const { sequences, tokenizer, clock = () => performance.now() / 1000 } = options;
  const { pageTokens, pages, mostTokens, contextLength } = sequences;
  const { model } = sequences;
  const { promptTokensBesideDecoding = PROMPT_TOKENS_BESIDE_DECODING } = options;
  const limits: BatchLimits = { pageTokens, passTokens: mostTokens, promptTokensBesideDecoding };
  const queue = createRequestQueue<Open, Sequence, KeptPage>(sequences, limits);
  const rate = createRate(clock);
  let nextId = 0;
  let isClosed = false;
  let loop: Promise<void> | undefined;

  /** Evaluates the work of a pass, and lets the requests take what they wanted: texts choose their next tokens. */
  const evaluate = async (work: readonly QueuedWork<Open, Sequence>[]): Promise<void> => {
    const parts = work.map((own) => {
      const { history, task } = own.request;
      if (own.from === 0) task.begin();
      return { ...own, tokens: history.slice(own.from, own.from + own.count), logits: task.wanted(own.isLast) };
    });
    const found = await sequences.evaluate(
      parts.map(({ text: sequence, tokens, logits, isGenerated }): SequenceWork => {
        return { sequence, tokens, logits, multiplied: isGenerated ? 'singly' : 'together' };
      }),
    );
    let first = 0;
    for (const part of parts) {
      queue.evaluated(part);
      const { id, task } = part.request;
      const own = found.subarray(first, first + valuesOf(model, part));
      first += own.length;
      if (part.logits === 'last') rate.add(1);
      try {
        if (!task.take(own, { isLast: part.isLast, cachedTokens: queue.cachedTokens(id) })) queue.remove(id);
      } catch (error) {
        task.fail(error);
        queue.remove(id);
      }
    }
  };

  const run = async (): Promise<void> => {
    // Requests that are submitted together begin together.
    await setImmediate();
    while (queue.requests.length > 0) {
      for (const { id, task } of queue.requests) {
        if (!(isClosed || task.isCancelled)) continue;
        task.interrupt(queue.cachedTokens(id));
        queue.remove(id);
      }
      const work = queue.next();
      try {
        if (work.length > 0) await evaluate(work);
      } catch (error) {
        const left = new Set(queue.requests);
        for (const { request } of work) {
          if (!left.has(request)) continue;
          request.task.fail(error);
          queue.remove(request.id);
        }
      }
      await setImmediate();
    }
    loop = undefined;
  };

  return {
    submit(request) {
      const { prompt, tokens } = request;
      if (!(Number.isInteger(tokens) && tokens >= 1))
        throw new InputError('tokens', `${tokens} is not a whole number from 1 on`);
      checkPrompt(prompt);
      checkRoom(prompt.length, tokens, contextLength);
      checkPages(prompt.length + tokens - 1, `${prompt.length} tokens of the prompt and ${tokens} to generate`);
      const text = createRequestText({ request, tokenizer, clock });
      start(text);
      return text.handle;
    },
    embed(request) {
      const { length } = request.tokens;
      checkPrompt(request.tokens);
      if (length > contextLength)
        throw new InputError('context', `${length} tokens don't fit into ${contextLength}; ask for a longer context`);
      checkPages(length, `${length} tokens`);
      const embedding = createRequestEmbedding(request, model.hiddenSize);
      start(embedding);
      return embedding.result;
    },
    get load() {
      const { running, freePages, requests } = queue;
      return { running, waiting: requests.length - running, freePages, pages, tokensPerSecond: rate.perSecond };
    },
    async close() {
      isClosed = true;
      await loop;
      queue.close();
    },
  };

  function start(task: RequestTask): void {
    const { history, sharesPages } = task;
    queue.add({ id: nextId++, task, history, sharesPages, promptTokens: history.length });
    loop ??= run();
  }

  function checkPrompt(prompt: readonly number[]): void {
    if (isClosed) throw new InputError('request', 'the engine is closed');
    if (prompt.length === 0) throw new InputError('prompt', 'has no tokens; at least one is needed');
    const { vocabularySize } = model;
    const unknown = prompt.find((token) => !(Number.isInteger(token) && token >= 0 && token < vocabularySize));
    if (unknown !== undefined)
      throw new InputError('prompt', `has token ${unknown}; the model has tokens 0 to ${vocabularySize - 1}`);
  }

  function checkPages(tokens: number, what: string): void {
    const needed = Math.ceil(tokens / pageTokens);
    if (needed > pages) throw new InputError('KV memory', `${what} need ${needed} pages, and there are ${pages}`);
  }
}
