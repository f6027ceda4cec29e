import { type CountedText, createCountedPages } from '../../engine/batch/counted-pages.ts';
import { passFrames } from '../../engine/batch/pass-frames.ts';
import type { BatchLimits } from '../../engine/batch/request-policy.ts';
import {
  createRequestQueue,
  type QueuedRequest,
  type QueuedWork,
  type QueuePage,
} from '../../engine/batch/request-queue.ts';
import { promptOf, type StreamedRequest } from '../../engine/batch/request-stream.ts';
import { type PassLoad, type PassText, passLoad } from '../../engine/cost/mixed-pass.ts';
import type { ServedRequest } from '../../engine/trace/served-requests.ts';
import { hold, holdUntil, type Steps } from '../event-loop/effect.ts';
import { createOneShot, type OneShot } from '../event-loop/one-shot.ts';
import type { OpenRing } from './ring.ts';
import { runFrames } from './served-frames.ts';

/** How a server divides its memory and its passes. */
export interface ServerLimits extends BatchLimits {
  /** Pages of keys and values that all requests share. */
  readonly pages: number;
  /** Most tokens of a frame, where passes go around a ring in several; `undefined`: they go as a whole. */
  readonly chunk: number | undefined;
}

/** Seconds that the server's own program takes, in addition to the model. */
export interface HostSeconds {
  /** For each pass: choosing the next one, and handing it over. */
  readonly pass: number;
  /** For each token that is chosen and handed to its reader. */
  readonly token: number;
}

/** A request that was served in a simulation. */
export interface SimulatedRequest extends ServedRequest {
  readonly begin: number;
  /** How often it gave its pages back and began anew. */
  readonly preemptions: number;
}

/** A pass of the server, seconds from the beginning of the stream. */
export interface ServedPass {
  readonly start: number;
  readonly end: number;
  readonly load: PassLoad;
  /** Requests that are admitted, and that wait, in this pass. */
  readonly running: number;
  readonly waiting: number;
  /** Pages that texts use after it; those that are only kept for prompts that begin alike are not among them. */
  readonly usedPages: number;
}

export interface ServingCase {
  readonly requests: readonly StreamedRequest[];
  /** See `ServingOptions`. */
  readonly clients: number | undefined;
  readonly limits: ServerLimits;
  readonly host: HostSeconds;
  readonly vocabularySize: number;
  /** See `SimulationOptions`; the stream begins after that token. */
  readonly warm: boolean;
}

export interface Served {
  readonly requests: readonly SimulatedRequest[];
  readonly passes: readonly ServedPass[];
}

interface Queued extends QueuedRequest {
  readonly history: number[];
  readonly outputTokens: number;
  readonly arrival: number;
  begin: number | undefined;
  firstToken: number;
  /** How often it has begun. */
  begins: number;
  /** Whether it was admitted in the pass before. */
  text: CountedText | undefined;
}

type Work = QueuedWork<Queued, CountedText>;

/** The loads of a pass's frames; a text's next token is chosen after the one with its last. */
export function frameLoads(texts: readonly PassText[], chunk: number): PassLoad[] {
  const counts = texts.map(({ tokens }) => tokens);
  return passFrames(counts, chunk).map((pieces) =>
    passLoad(
      pieces.map(({ work, from, tokens }): PassText => {
        const { position, isLast, ...text } = texts[work] as PassText;
        return {
          ...text,
          tokens,
          position: position + from,
          isLast: isLast && from + tokens === counts[work],
        };
      }),
    ),
  );
}

/**
 * A server's loop in virtual time: the request queue of the batch engine on counted pages, and passes around the ring
 * that take what the cost model says. As in the engine, one pass follows the other; arrivals during a pass wait for its
 * end.
 * @returns the steps of the run, and what they have found at their end
 */
export function servingSteps(ring: OpenRing, asked: ServingCase): { readonly steps: Steps; readonly served: Served } {
  const { simulation } = ring;
  const { clients, limits, host } = asked;
  const memory = createCountedPages(limits);
  const queue = createRequestQueue<Queued, CountedText, QueuePage>(memory, limits);
  const done: (SimulatedRequest & { readonly id: number })[] = [];
  const passes: ServedPass[] = [];
  /** When the stream begins. */
  let origin = 0;
  const now = (): number => simulation.now - origin;
  let next = 0;
  let idle: OneShot<void> | undefined;

  const arrive = (): void => {
    const id = next++;
    const { outputTokens, promptTokens, ...request } = asked.requests[id] as StreamedRequest;
    const history = promptOf({ ...request, promptTokens, outputTokens }, id, asked.vocabularySize);
    const arrival = now();
    const state = { arrival, begin: undefined, firstToken: 0, begins: 0, text: undefined };
    queue.add({ ...state, id, promptTokens, outputTokens, history });
    if (idle?.state === 'pending') idle.succeed();
  };

  function* arrivals(): Steps {
    for (const { arrival } of asked.requests) {
      if (arrival > now()) yield holdUntil(origin + arrival);
      arrive();
    }
  }

  /** Notes that a request has begun, if its text was opened anew. */
  const noteBegin = ({ request, text }: Work): void => {
    if (request.text === text) return;
    request.text = text;
    request.begins += 1;
    request.begin ??= now();
  };

  const finish = (request: Queued): void => {
    const { id, promptTokens, outputTokens, arrival, firstToken, begin = arrival, begins } = request;
    const times = { arrival, begin, firstToken, end: now(), cachedTokens: queue.cachedTokens(id) };
    done.push({ id, promptTokens, outputTokens, ...times, preemptions: begins - 1 });
    queue.remove(id);
    if (clients !== undefined && next < asked.requests.length) arrive();
  };

  /** As the engine does after a pass: one request after the other chooses its next token. */
  function* choose(work: readonly Work[]): Steps {
    for (const { text, count } of work) text.advance(count);
    for (const own of work) {
      queue.evaluated(own);
      if (!own.isLast) continue;
      if (host.token > 0) yield hold(host.token);
      const { request } = own;
      if (request.history.length === request.promptTokens) request.firstToken = now();
      request.history.push(0);
      if (request.history.length === request.promptTokens + request.outputTokens) finish(request);
    }
  }

  function* loop(): Steps {
    while (done.length < asked.requests.length) {
      if (queue.requests.length === 0) {
        idle = createOneShot('a request');
        yield idle.wait();
      }
      const work = queue.next();
      if (host.pass > 0) yield hold(host.pass);
      if (work.length === 0) continue;
      for (const own of work) noteBegin(own);
      const { running } = queue;
      const waiting = queue.requests.length - running;
      const texts = work.map(({ count, from, ...kind }): PassText => ({ ...kind, tokens: count, position: from }));
      const load = passLoad(texts);
      const start = now();
      yield* runFrames(ring, limits.chunk === undefined ? [load] : frameLoads(texts, limits.chunk));
      const end = now();
      yield* choose(work);
      passes.push({ start, end, load, running, waiting, usedPages: limits.pages - queue.freePages });
    }
  }

  function* steps(): Steps {
    if (asked.warm) yield* runFrames(ring, [passLoad([{ tokens: 1, position: 0, isGenerated: true, isLast: true }])]);
    origin = simulation.now;
    if (clients === undefined) simulation.spawn('arrivals', arrivals());
    else for (let client = 0; client < Math.min(clients, asked.requests.length); client++) arrive();
    yield* loop();
  }
  return {
    steps: steps(),
    served: {
      get requests() {
        return done.toSorted((a, b) => a.id - b.id).map(({ id: _, ...request }) => request);
      },
      passes,
    },
  };
}
