import { setImmediate } from 'node:timers/promises';
import type { KeyValueCacheShape } from '../../kernels/key-value-cache.ts';
import type { LayerCaches, ModelPart } from '../../runtime/model-part.ts';
import { activationBytes, packActivations, unpackActivations } from '../wire/activations.ts';
import { clock } from '../wire/clock.ts';
import { type ActivationFormat, type ActivationFrame, FrameError } from '../wire/frame.ts';
import { createJobQueue } from '../wire/job-queue.ts';
import type { AssignedWindow } from '../wire/message.ts';
import { layersName, type RingSpan } from '../wire/span.ts';
import type { DeviceWeights } from './device-weights.ts';

/** A frame's facts without its activations, which are in the stream while a device works on them. */
export type Passage = Pick<ActivationFrame, 'request' | 'window' | 'position' | 'tokens' | 'rows' | 'capacity'>;

/** Carries out a device's windows: frames in the order in which they come, one at a time. */
export interface WindowRunner {
  /**
   * Takes a frame for one of the device's windows.
   * @throws FrameError for a frame that doesn't fit the plan; frames of freed requests are dropped
   */
  accept(frame: ActivationFrame, sender: string): void;
  /** Runs `job` when the device is through with what came before: it may use the stream. */
  inTurn<Result>(job: () => Result | Promise<Result>): Promise<Result>;
  /** Within a turn: does windows from `passage.window` on with what is in the stream, and sends the result on. */
  run(passage: Passage): Promise<void>;
  /** Frees a request's caches. */
  free(request: number): void;
  /** Does nothing any more, and frees everything, once what is under way is done. */
  end(): Promise<void>;
}

export interface WindowRunnerOptions {
  readonly part: ModelPart;
  readonly epoch: number;
  readonly windowCount: number;
  readonly windows: readonly AssignedWindow[];
  readonly context: number;
  readonly requests: number;
  readonly kvCache: KeyValueCacheShape['type'];
  readonly activations: ActivationFormat;
  /** Tokens in a frame at most. */
  readonly chunk: number;
  /** Whose frames are taken for a window. */
  readonly senderOf: (window: number) => string | undefined;
  /** Sends a result on; its payload is only valid until this returns. */
  readonly forward: (frame: ActivationFrame, next: AssignedWindow['next']) => void;
  readonly onFailed: (error: Error) => void;
  readonly record: (span: RingSpan) => void;
  /** Undefined: they are where they are. */
  readonly weights: DeviceWeights | undefined;
}

interface HeldRequest {
  readonly caches: LayerCaches;
  /** Of each own window: tokens in its caches, those of frames that wait counted. */
  readonly filled: Map<number, number>;
}

/** Frames that may wait for their turn; heads send far fewer. */
const MOST_WAITING = 1024;

export function createWindowRunner(options: WindowRunnerOptions): WindowRunner {
  const { part, epoch, windowCount, context, requests, kvCache, activations, chunk, weights } = options;
  const windows = new Map(options.windows.map((window) => [window.index, window]));
  const layers = options.windows.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, i) => from + i));
  const held = new Map<number, HeldRequest>();
  const { hiddenSize } = part.model;
  const jobs = createJobQueue();
  /** Windows of the frames that wait: the same one again needn't be released before. */
  const due: number[] = [];
  let ended = false;

  const hold = (request: number, capacity: number): HeldRequest => {
    const known = held.get(request);
    if (known !== undefined) return known;
    if (held.size >= requests) throw new FrameError(`request ${request} beside ${held.size}; ${requests} were planned`);
    const made = { caches: part.createCaches(layers, capacity, kvCache), filled: new Map<number, number>() };
    held.set(request, made);
    return made;
  };

  /** Memory that isn't there is no fault of the frame. */
  const holdOrFail = (request: number, capacity: number): HeldRequest | undefined => {
    try {
      return hold(request, capacity);
    } catch (error) {
      if (error instanceof FrameError) throw error;
      options.onFailed(error as Error);
      return undefined;
    }
  };

  const run = async (passage: Passage): Promise<void> => {
    const window = windows.get(passage.window) as AssignedWindow;
    const { from, to, next } = window;
    const { request, position, tokens, rows, capacity } = passage;
    const caches = hold(request, capacity).caches;
    if (weights !== undefined) {
      await weights.arrival(passage.window);
      if (ended) return;
    }
    const start = clock();
    await part.run(from, to, caches, position, tokens);
    if (ended) return;
    const end = clock();
    if (to > from) recordComputation({ from, to, tokens, request, start, end }, weights?.ran(passage.window) ?? 0);
    const stream = part.stream(tokens);
    const wanted = passage.window + 1 === windowCount ? stream.subarray((tokens - rows) * hiddenSize) : stream;
    const payload = packActivations(wanted, activations);
    const frame = { ...passage, kind: 'activations', epoch, window: passage.window + 1, format: activations } as const;
    options.forward({ ...frame, sentAt: clock(), payload }, next);
    if (weights === undefined || due[0] === passage.window) return;
    await setImmediate(); // the result is on its way before anything else is done
    weights.after(passage.window);
  };

  /** Where in a window page faults were waited for isn't known: the stall is shown before it. */
  const recordComputation = (
    { start, ...computed }: Omit<Extract<RingSpan, { kind: 'compute' }>, 'kind'>,
    stall: number,
  ) => {
    const name = `page faults of ${layersName(computed)}`;
    const between = start + stall;
    if (stall > 0) options.record({ kind: 'weights', lane: 'cpu', cause: 'disk', name, start, end: between, args: {} });
    options.record({ kind: 'compute', ...computed, start: between });
  };

  const check = (frame: ActivationFrame, sender: string): void => {
    const { window, tokens, capacity, format, payload } = frame;
    if (!windows.has(window) || options.senderOf(window) !== sender)
      throw new FrameError(`activations for window ${window}, which ${sender} doesn't send here`);
    if (tokens > chunk || capacity > context)
      throw new FrameError(`${tokens} tokens of ${capacity}; the plan has ${chunk} of ${context} at most`);
    const bytes = activationBytes(tokens * hiddenSize, activations);
    if (format !== activations || payload.length !== bytes)
      throw new FrameError(`${payload.length} bytes of ${format}; ${bytes} of ${activations} are planned`);
    if (jobs.length >= MOST_WAITING) throw new FrameError(`more than ${MOST_WAITING} frames at once`);
  };

  return {
    inTurn: jobs.add,
    run,
    accept(frame, sender) {
      if (ended || frame.epoch !== epoch) return;
      check(frame, sender);
      const { request, window, position, tokens, capacity, format, payload } = frame;
      if (!held.has(request) && position > 0) return;
      const filled = holdOrFail(request, capacity)?.filled;
      if (filled === undefined) return;
      const expected = filled.get(window) ?? 0;
      if (position !== expected)
        throw new FrameError(`token ${position} of request ${request} where ${expected} is next`);
      filled.set(window, position + tokens);
      options.record({
        kind: 'receive',
        sender,
        bytes: payload.length,
        request,
        sentAt: frame.sentAt,
        receivedAt: clock(),
      });
      due.push(window);
      jobs
        .add(async () => {
          due.shift();
          if (ended || !held.has(request)) return;
          unpackActivations(payload, format, part.stream(tokens));
          await run(frame);
        })
        .catch((error: Error) => {
          if (!ended) options.onFailed(error);
        });
    },
    free(request) {
      jobs.add(() => {
        const own = held.get(request);
        if (own !== undefined) part.freeCaches(own.caches);
        held.delete(request);
      });
    },
    end() {
      ended = true;
      weights?.cancel();
      return jobs.add(() => {
        weights?.close();
        for (const { caches } of held.values()) part.freeCaches(caches);
        held.clear();
      });
    },
  };
}
