import { setImmediate } from 'node:timers/promises';
import { createPrefixIndex, type PrefixIndex } from '../../batch/prefix-index.ts';
import { type BatchLimits, type NextPass, nextPass, type RequestState } from '../../batch/request-policy.ts';
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

/** Of a prompt in a pass in which others decode: more of them delay the next token of each. */
export const PROMPT_TOKENS_BESIDE_DECODING = 64;

/** A request that is not done. */
interface Open {
  readonly id: number;
  readonly task: RequestTask;
  readonly promptTokens: number;
  /** While it runs. */
  sequence: Sequence | undefined;
  /** Of its prompt when it first began. */
  cachedTokens: number | undefined;
}

/**
 * One loop carries out the passes that `nextPass` chooses while there are requests; between them the process handles
 * other events. Full pages of prompts are kept for others that begin alike until their memory is needed. Pages with
 * generated tokens are not: native kernels multiply those tokens one by one, which rounds differently, and a text must
 * not depend on what others have evaluated.
 */
export function createBatchEngine(options: BatchEngineOptions): BatchEngine {
  const { sequences, tokenizer, clock = () => performance.now() / 1000 } = options;
  const { pageTokens, pages, mostTokens, contextLength } = sequences;
  const { model } = sequences;
  const { promptTokensBesideDecoding = PROMPT_TOKENS_BESIDE_DECODING } = options;
  const limits: BatchLimits = { pageTokens, passTokens: mostTokens, promptTokensBesideDecoding };
  const prefixes = createPrefixIndex<KeptPage>(pageTokens);
  const open = new Map<number, Open>();
  const rate = createRate(clock);
  let nextId = 0;
  let isClosed = false;
  let loop: Promise<void> | undefined;

  const freePages = (): number => sequences.freePages + prefixes.count(({ isIdle }) => isIdle);
  const stop = (one: Open): void => {
    one.sequence?.close();
    one.sequence = undefined;
  };
  const forget = (one: Open): void => {
    stop(one);
    open.delete(one.id);
  };

  /** Keeps the full pages of a prompt once more of them are full than there were with `from` tokens. */
  const keepPages = ({ task, sequence, promptTokens }: Open, from: number): void => {
    if (sequence === undefined || !task.sharesPages) return;
    const end = Math.floor(Math.min(sequence.position, promptTokens) / pageTokens);
    if (end <= Math.floor(from / pageTokens)) return;
    prefixes.add(task.history.slice(0, end * pageTokens), (page) => sequence.keep(page));
  };

  const begin = (one: Open): void => {
    const found = prefixes.use(sharable(one));
    one.sequence = sequences.open(found);
    one.cachedTokens ??= found.length * pageTokens;
    one.task.begin();
  };

  /** Evaluates the work of a pass, and lets the requests take what they wanted: texts choose their next tokens. */
  const evaluate = async ({ work }: NextPass): Promise<void> => {
    const parts = work.map((own) => {
      const one = open.get(own.id) as Open;
      const sequence = one.sequence as Sequence;
      const from = sequence.position;
      const tokens = one.task.history.slice(from, from + own.count);
      return { ...own, one, sequence, from, tokens, logits: one.task.wanted(own.isLast) };
    });
    const needed = parts.reduce((sum, { sequence, count }) => sum + sequence.pagesFor(count), 0);
    makeRoom(sequences, prefixes, needed);
    const found = await sequences.evaluate(
      parts.map(({ sequence, tokens, logits, isGenerated }): SequenceWork => {
        return { sequence, tokens, logits, multiplied: isGenerated ? 'singly' : 'together' };
      }),
    );
    let first = 0;
    for (const { one, from, isLast, ...work } of parts) {
      keepPages(one, from);
      const own = found.subarray(first, first + valuesOf(model, work));
      first += own.length;
      if (work.logits === 'last') rate.add(1);
      try {
        if (!one.task.take(own, { isLast, cachedTokens: one.cachedTokens as number })) forget(one);
      } catch (error) {
        one.task.fail(error);
        forget(one);
      }
    }
  };

  const run = async (): Promise<void> => {
    // Requests that are submitted together begin together.
    await setImmediate();
    while (open.size > 0) {
      for (const one of [...open.values()]) {
        if (!(isClosed || one.task.isCancelled)) continue;
        one.task.interrupt(one.cachedTokens ?? 0);
        forget(one);
      }
      const pass = nextPass([...open.values()].map(stateOf), freePages(), limits);
      for (const id of pass.preempted) stop(open.get(id) as Open);
      for (const id of pass.admitted) begin(open.get(id) as Open);
      try {
        if (pass.work.length > 0) await evaluate(pass);
      } catch (error) {
        for (const { id } of pass.work) {
          const one = open.get(id);
          if (one === undefined) continue;
          one.task.fail(error);
          forget(one);
        }
      }
      await setImmediate();
    }
    loop = undefined;
  };

  /** The tokens whose pages others may have: not the last of the prompt, whose logits are needed. */
  function sharable({ task, promptTokens }: Open): readonly number[] {
    return task.sharesPages ? task.history.slice(0, promptTokens - 1) : [];
  }

  function stateOf(one: Open): RequestState {
    const { id, task, promptTokens, sequence } = one;
    const isRunning = sequence !== undefined;
    // Found only when it is asked for: among those that wait, of the oldest.
    const found = lazily(() => prefixes.find(sharable(one)));
    return {
      ...{ id, promptTokens, isRunning },
      tokens: task.history.length,
      evaluated: sequence?.position ?? 0,
      ownPages: sequence === undefined ? 0 : Math.ceil(sequence.position / pageTokens) - sequence.sharedPages,
      get shared() {
        return isRunning ? 0 : found().length * pageTokens;
      },
      get idlePages() {
        return isRunning ? 0 : found().filter(({ isIdle }) => isIdle).length;
      },
    };
  }

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
      const running = [...open.values()].filter(({ sequence }) => sequence !== undefined).length;
      const free = freePages();
      return { running, waiting: open.size - running, freePages: free, pages, tokensPerSecond: rate.perSecond };
    },
    async close() {
      isClosed = true;
      await loop;
      for (const page of prefixes.clear()) page.release();
    },
  };

  function start(task: RequestTask): void {
    const id = nextId++;
    open.set(id, { id, task, promptTokens: task.history.length, sequence: undefined, cachedTokens: undefined });
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

function lazily<Value>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** Releases pages that are only kept until so many are free. */
function makeRoom(sequences: Sequences, prefixes: PrefixIndex<KeptPage>, needed: number): void {
  while (sequences.freePages < needed) {
    const page = prefixes.evict(({ isIdle }) => isIdle);
    if (page === undefined) return;
    page.release();
  }
}
