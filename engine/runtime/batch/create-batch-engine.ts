import { setImmediate } from 'node:timers/promises';
import { createPrefixIndex, type PrefixIndex } from '../../batch/prefix-index.ts';
import { type BatchLimits, type NextPass, nextPass, type RequestState } from '../../batch/request-policy.ts';
import { InputError } from '../../input/input-error.ts';
import { checkRoom } from '../../text/generate.ts';
import type { Tokenizer } from '../../text/tokenizer.ts';
import type { KeptPage, Sequence, Sequences, SequenceWork } from '../sequences.ts';
import type { BatchEngine, BatchRequest } from './batch-engine.ts';
import { createRate } from './rate.ts';
import { createRequestText, type RequestText } from './request-text.ts';

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
  readonly text: RequestText;
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
  const { vocabularySize } = sequences.model;
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
  const keepPages = ({ text, sequence, promptTokens }: Open, from: number): void => {
    if (sequence === undefined) return;
    const end = Math.floor(Math.min(sequence.position, promptTokens) / pageTokens);
    if (end <= Math.floor(from / pageTokens)) return;
    prefixes.add(text.history.slice(0, end * pageTokens), (page) => sequence.keep(page));
  };

  const begin = (one: Open): void => {
    const found = prefixes.use(sharable(one));
    one.sequence = sequences.open(found);
    one.cachedTokens ??= found.length * pageTokens;
  };

  /** Evaluates the work of a pass, and lets the requests choose their next tokens. */
  const evaluate = async ({ work }: NextPass): Promise<void> => {
    const parts = work.map((own) => {
      const one = open.get(own.id) as Open;
      const sequence = one.sequence as Sequence;
      return { ...own, one, sequence, from: sequence.position };
    });
    const needed = parts.reduce((sum, { sequence, count }) => sum + sequence.pagesFor(count), 0);
    makeRoom(sequences, prefixes, needed);
    const logits = await sequences.evaluate(
      parts.map(
        ({ one: { text }, sequence, from, count, isGenerated, isLast }): SequenceWork => ({
          sequence,
          tokens: text.history.slice(from, from + count),
          logits: isLast ? 'last' : 'none',
          multiplied: isGenerated ? 'singly' : 'together',
        }),
      ),
    );
    let row = 0;
    for (const { one, from, isLast } of parts) {
      keepPages(one, from);
      if (!isLast) continue;
      const own = logits.subarray(row * vocabularySize, (row + 1) * vocabularySize);
      row += 1;
      rate.add(1);
      try {
        if (!one.text.choose(own, one.cachedTokens as number)) forget(one);
      } catch (error) {
        one.text.fail(error);
        forget(one);
      }
    }
  };

  const run = async (): Promise<void> => {
    // Requests that are submitted together begin together.
    await setImmediate();
    while (open.size > 0) {
      for (const one of [...open.values()]) {
        if (!(isClosed || one.text.isCancelled)) continue;
        one.text.interrupt(one.cachedTokens ?? 0);
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
          one.text.fail(error);
          forget(one);
        }
      }
      await setImmediate();
    }
    loop = undefined;
  };

  /** The tokens whose pages others may have: not the last of the prompt, whose logits are needed. */
  function sharable({ text, promptTokens }: Open): readonly number[] {
    return text.history.slice(0, promptTokens - 1);
  }

  function stateOf(one: Open): RequestState {
    const { id, text, promptTokens, sequence } = one;
    const isRunning = sequence !== undefined;
    // Found only when it is asked for: among those that wait, of the oldest.
    const found = lazily(() => prefixes.find(sharable(one)));
    return {
      ...{ id, promptTokens, isRunning },
      tokens: text.history.length,
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
      if (isClosed) throw new InputError('request', 'the engine is closed');
      check(request);
      const text = createRequestText({ request, tokenizer, clock });
      const id = nextId++;
      open.set(id, { id, text, promptTokens: request.prompt.length, sequence: undefined, cachedTokens: undefined });
      loop ??= run();
      return text.handle;
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

  function check({ prompt, tokens }: BatchRequest): void {
    if (prompt.length === 0) throw new InputError('prompt', 'has no tokens; at least one is needed');
    if (!(Number.isInteger(tokens) && tokens >= 1))
      throw new InputError('tokens', `${tokens} is not a whole number from 1 on`);
    const unknown = prompt.find((token) => !(Number.isInteger(token) && token >= 0 && token < vocabularySize));
    if (unknown !== undefined)
      throw new InputError('prompt', `has token ${unknown}; the model has tokens 0 to ${vocabularySize - 1}`);
    checkRoom(prompt.length, tokens, contextLength);
    const needed = Math.ceil((prompt.length + tokens - 1) / pageTokens);
    if (needed > pages)
      throw new InputError(
        'KV memory',
        `${prompt.length} tokens of the prompt and ${tokens} to generate need ${needed} pages, and there are ${pages}`,
      );
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
