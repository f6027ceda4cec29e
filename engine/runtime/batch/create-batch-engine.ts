import { setImmediate } from 'node:timers/promises';
import { type BatchLimits, PROMPT_TOKENS_BESIDE_DECODING, type RequestWork } from '../../batch/request-policy.ts';
import { createRequestQueue, type QueuedRequest, type QueuedWork } from '../../batch/request-queue.ts';
import { InputError } from '../../input/input-error.ts';
import { isRecurrent } from '../../model/layer-kind.ts';
import { checkRoom } from '../../text/generate.ts';
import { undelayedSeconds } from '../../text/speculation/undelayed-seconds.ts';
import type { Tokenizer } from '../../text/tokenizer.ts';
import { valuesOf } from '../pass/wanted-rows.ts';
import type { KeptPage, Sequence, Sequences, SequenceWork } from '../texts/sequences.ts';
import type { BatchEngine } from './batch-engine.ts';
import { type BatchDraftOptions, createDrafting, type Draft } from './drafting.ts';
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
  /** Guesses at the tokens of texts, which passes verify; default: none. The texts stay the same. */
  readonly drafts?: BatchDraftOptions | undefined;
  /** Called with the error of a pass, which its requests have too. */
  readonly onFailure?: (error: unknown) => void;
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
  /** Drafts are charged the time that they would take with no other program running. */
  const draftClock = options.clock ?? undelayedSeconds;
  const { pageTokens, pages, mostTokens, contextLength } = sequences;
  const { model } = sequences;
  const { promptTokensBesideDecoding = PROMPT_TOKENS_BESIDE_DECODING } = options;
  /** Texts of full length that have room: memory for states is planned for as many. */
  const running = Math.max(1, Math.floor(pages / Math.ceil(contextLength / pageTokens)));
  const limits: BatchLimits = {
    ...{ pageTokens, passTokens: mostTokens, promptTokensBesideDecoding },
    ...(isRecurrent(model) && { running }),
  };
  const queue = createRequestQueue<Open, Sequence, KeptPage>(sequences, limits);
  const rate = createRate(clock);
  const drafting = options.drafts && createDrafting(options.drafts);
  let nextId = 0;
  let isClosed = false;
  let loop: Promise<void> | undefined;

  const remove = (id: number): void => {
    queue.remove(id);
    drafting?.close(id);
  };

  /** Drafts for each work of a pass in which all texts decode: none that needs another page. */
  const draftsFor = async (work: readonly QueuedWork<Open, Sequence>[]): Promise<readonly (Draft | undefined)[]> => {
    if (drafting === undefined) return [];
    const share = Math.floor(mostTokens / work.length) - 1;
    return await drafting.draft(
      work.map(({ id, request: { task }, from }) => {
        return { id, task, most: Math.min(share, pageTokens - (from % pageTokens) - 1) };
      }),
    );
  };

  /** Evaluates the work of a pass, and lets the requests take what they wanted: texts choose their next tokens. */
  const evaluate = async (work: readonly QueuedWork<Open, Sequence>[]): Promise<void> => {
    const begun = draftClock();
    const isDrafted = drafting !== undefined && work.every(isDecoding);
    const drafts = isDrafted ? await draftsFor(work) : [];
    const drafted = draftClock();
    const parts = work.map((own, index) => {
      const { history, task } = own.request;
      if (own.from === 0) task.begin();
      const guessed = drafts[index]?.tokens ?? [];
      const tokens = [...history.slice(own.from, own.from + own.count), ...guessed];
      return { ...own, tokens, guessed, logits: guessed.length > 0 ? ('all' as const) : task.wanted(own.isLast) };
    });
    const found = await sequences.evaluate(
      parts.map(({ text: sequence, tokens, logits, isGenerated }): SequenceWork => {
        return { sequence, tokens, logits, multiplied: isGenerated ? 'singly' : 'together' };
      }),
    );
    let first = 0;
    for (const part of parts) {
      queue.evaluated(part);
      const { id, task, history } = part.request;
      const own = found.subarray(first, first + valuesOf(model, part));
      first += own.length;
      const before = history.length;
      try {
        const goesOn = task.take(own, {
          isLast: part.isLast,
          cachedTokens: queue.cachedTokens(id),
          drafted: part.guessed,
        });
        if (part.logits !== 'hidden' && history.length > before) rate.add(history.length - before);
        // Drafted tokens that were wrong are forgotten; the last token of a text is never evaluated.
        if (goesOn && part.guessed.length > 0) part.text.rewind(history.length - 1);
        if (!goesOn) remove(id);
      } catch (error) {
        task.fail(error);
        remove(id);
      }
    }
    if (!isDrafted) return;
    // A pass gives a token more than was right, unless the text ended before.
    const right = parts.map(({ request: { history }, from, guessed }) =>
      Math.min(guessed.length, history.length - from - 2),
    );
    drafting.passed(drafts, right, { begun, drafted, ended: draftClock() });
  };

  const run = async (): Promise<void> => {
    // Requests that are submitted together begin together.
    await setImmediate();
    while (queue.requests.length > 0) {
      for (const { id, task } of queue.requests) {
        if (!(isClosed || task.isCancelled)) continue;
        task.interrupt(queue.cachedTokens(id));
        remove(id);
      }
      const work = queue.next();
      try {
        if (work.length > 0) await evaluate(work);
      } catch (error) {
        options.onFailure?.(error);
        const left = new Set(queue.requests);
        for (const { request } of work) {
          if (!left.has(request)) continue;
          request.task.fail(error);
          remove(request.id);
        }
      }
      await setImmediate();
    }
    loop = undefined;
  };

  return {
    submit(request) {
      const { prompt, tokens } = request;
      if (!(Number.isInteger(tokens) && tokens >= 0))
        throw new InputError('tokens', `${tokens} is not a whole number from 0 on`);
      checkPrompt(prompt);
      checkRoom(prompt.length, tokens, contextLength);
      checkPages(
        prompt.length + Math.max(0, tokens - 1),
        `${prompt.length} tokens of the prompt and ${tokens} to generate`,
      );
      const text = createRequestText({ request, tokenizer, vocabularySize: model.vocabularySize, clock });
      start(text);
      return text.handle;
    },
    embed(request) {
      const { length } = request.tokens;
      checkPrompt(request.tokens);
      if (length > contextLength)
        throw new InputError('context', `${length} tokens don’t fit into ${contextLength}; ask for a longer context`);
      checkPages(length, `${length} tokens`);
      const embedding = createRequestEmbedding(request, model.hiddenSize);
      start(embedding);
      return embedding.result;
    },
    get load() {
      const { running, freePages, requests } = queue;
      const { drafted = 0, accepted = 0 } = drafting ?? {};
      const waiting = requests.length - running;
      return { running, waiting, freePages, pages, tokensPerSecond: rate.perSecond, drafted, accepted };
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

/** Whether a work is the newest token of a text, which was generated. */
function isDecoding({ count, isGenerated, isLast }: RequestWork): boolean {
  return count === 1 && isGenerated && isLast;
}
