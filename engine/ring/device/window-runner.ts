import { setImmediate } from 'node:timers/promises';
import { InputError } from '../../input/input-error.ts';
import { allFinite } from '../../runtime/pass/finite-logits.ts';
import { joined } from '../../runtime/pass/wanted-rows.ts';
import type { WindowPart } from '../../runtime/split/gpu-layers.ts';
import { activationBytes, packActivations, unpackActivations } from '../wire/activations.ts';
import { clock } from '../wire/clock.ts';
import { type ActivationFrame, type FrameSegment, frameTokens } from '../wire/frame.ts';
import { FrameError } from '../wire/frame-error.ts';
import { createJobQueue } from '../wire/job-queue.ts';
import { type Assignment, FROM_HEAD, type WindowAssignment } from '../wire/message.ts';
import { type RingSpan, recordComputation } from '../wire/span.ts';
import type { DeviceWeights } from './device-weights.ts';
import { pageCount } from './memory.ts';
import { checkPages, createNumberedPages, type NumberedPages } from './numbered-pages.ts';

/** One run of a window: an activation frame without its activations, which are in the device's residual stream. */
export type WindowRun = Pick<ActivationFrame, 'number' | 'window' | 'copies' | 'segments' | 'isFollowed'>;

/** Runs a device's windows: frames in the order in which they come, one at a time. */
export interface WindowRunner {
  /**
   * Queues a frame for one of the device's windows. Frames of requests whose beginning it hasn't seen are dropped.
   * Each window gets all frames of its assembly, one after the other: twice the same one, or one too few, is an error.
   * @throws FrameError for a frame that does not fit the plan
   */
  accept(frame: ActivationFrame, sender: string): void;
  /**
   * Runs `job` after all jobs queued before; it may use the residual stream. @param window which it will run, if any
   */
  queue<Result>(job: () => Result | Promise<Result>, window?: number): Promise<Result>;
  /** Runs a window on the residual stream and forwards the result; must be called within a queued job. */
  run(run: WindowRun): Promise<void>;
  /** Stops, and frees all caches when the current job has ended. */
  end(): Promise<void>;
}

type Planned = Pick<
  Assignment,
  | 'epoch'
  | 'windowCount'
  | 'windows'
  | 'context'
  | 'requests'
  | 'pageTokens'
  | 'kvCache'
  | 'keysInRam'
  | 'activations'
  | 'chunk'
>;

export interface WindowRunnerOptions extends Planned {
  readonly part: WindowPart;
  /** Called before a window runs, with its input in the stream. */
  readonly begins?: ((passed: WindowRun) => void | Promise<void>) | undefined;
  /** The device that sends a window's input. */
  readonly senderOf: (window: number) => string | undefined;
  /** Sends a result to the next window; its payload is only valid until this returns. */
  readonly forward: (frame: ActivationFrame, next: WindowAssignment['next']) => void | Promise<void>;
  readonly onFailed: (error: Error) => void;
  readonly record: (span: RingSpan) => void;
  /** `undefined`: weights are not managed. */
  readonly weights: DeviceWeights | undefined;
}

/** Frames that may wait; a head sends far fewer. */
const MOST_WAITING = 1024;

export function createWindowRunner(options: WindowRunnerOptions): WindowRunner {
  const { part, epoch, windowCount, activations, weights } = options;
  const { hiddenSize } = part.model;
  const windows = new Map(options.windows.map((window) => [window.index, window]));
  /** By window, except for those of relays, which keep nothing. */
  const pages = new Map<number, NumberedPages>();
  for (const { index, from, to, onGpu } of options.windows)
    if (to > from) {
      const onHost = options.keysInRam ? onGpu : [];
      pages.set(index, createNumberedPages({ ...options, from, to, onHost, pages: pageCount(options) }));
    }
  const jobs = createJobQueue();
  /** Frames that each window has got. */
  const received = new Map<number, number>();
  /** Windows of waiting frames; a window that runs again next need not be released. */
  const waiting: number[] = [];
  let ended = false;

  const run = async (passed: WindowRun): Promise<void> => {
    const { from, to, next } = windows.get(passed.window) as WindowAssignment;
    const tokens = frameTokens(passed);
    const segments = pages.get(passed.window)?.begin(passed);
    if (weights !== undefined) {
      await weights.arrival(passed.window);
      if (ended) return;
    }
    await options.begins?.(passed);
    const start = clock();
    if (segments !== undefined) {
      await part.run(from, to, segments);
      if (ended) return;
      const end = clock();
      const stall = weights?.ran(passed.window) ?? 0;
      recordComputation(options.record, { from, to, tokens, request: firstRequest(passed), start, end }, stall);
    }
    const stream = part.stream(tokens);
    const wanted = passed.window + 1 === windowCount ? wantedRows(stream, passed, hiddenSize) : stream;
    const payload = packActivations(wanted, activations);
    const frame = { ...passed, kind: 'activations', epoch, window: passed.window + 1, format: activations } as const;
    await options.forward({ ...frame, sentAt: clock(), payload }, next);
    if (weights === undefined || passed.isFollowed || waiting[0] === passed.window) return;
    await setImmediate(); // sends the result first
    weights.after(passed.window);
  };

  const queue = <Result>(job: () => Result | Promise<Result>, window?: number): Promise<Result> => {
    if (window === undefined) return jobs.add(job);
    waiting.push(window);
    return jobs.add(() => {
      waiting.shift();
      return job();
    });
  };

  return {
    queue,
    run,
    accept(frame, sender) {
      if (ended || frame.epoch !== epoch) return;
      if (!windows.has(frame.window) || options.senderOf(frame.window) !== sender)
        throw new FrameError(`activations for window ${frame.window}, which ${nameOf(sender)} doesn’t send here`);
      const next = received.get(frame.window) ?? 0;
      if (frame.number !== next)
        throw new FrameError(`frame ${frame.number} for window ${frame.window}; the next one is ${next}`);
      checkFrame(frame, options);
      if (jobs.length >= MOST_WAITING) throw new FrameError(`more than ${MOST_WAITING} frames at once`);
      const { window, format, payload, sentAt } = frame;
      const follows = pages.get(window)?.admit(frame);
      received.set(window, next + 1);
      if (follows === false) return;
      const [bytes, receivedAt] = [payload.length, clock()];
      options.record({ kind: 'receive', sender, bytes, request: firstRequest(frame), sentAt, receivedAt });
      queue(async () => {
        if (ended) return;
        const stream = part.stream(frameTokens(frame));
        unpackActivations(payload, format, stream);
        checkNumbers(stream, sender);
        await run(frame);
      }, window).catch((error: Error) => {
        if (!ended) options.onFailed(error);
      });
    },
    end() {
      ended = true;
      weights?.cancel();
      return jobs.add(() => {
        weights?.close();
        for (const own of pages.values()) own.freeAll();
      });
    },
  };
}

/** A sender as messages name it. */
export const nameOf = (sender: string): string => (sender === FROM_HEAD ? 'the head' : sender);

/** Number by which traces name a frame. */
export function firstRequest({ segments: [first] }: Pick<ActivationFrame, 'segments'>): number {
  return (first as FrameSegment).request;
}

/** Thrown for results of a device that aren't numbers. */
export class NoNumbersError extends InputError {}

/** @throws NoNumbersError for values that aren't numbers, which no later layer can repair */
export function checkNumbers(values: Float32Array, sender: string): void {
  if (allFinite(values)) return;
  const reason = 'sent activations that are not numbers: its weights are damaged, or too large for --activations F16';
  throw new NoNumbersError(nameOf(sender), reason);
}

/** The rows of a stream whose logits are wanted: of one segment they are a view of it. */
function wantedRows(stream: Float32Array, { segments }: WindowRun, hiddenSize: number): Float32Array {
  let end = 0;
  const parts = segments.map(({ tokens, rows }) => {
    end += tokens;
    return stream.subarray((end - rows) * hiddenSize, end * hiddenSize);
  });
  return joined(parts);
}

/** @throws FrameError for a frame of another size or format than planned */
function checkFrame(frame: ActivationFrame, options: WindowRunnerOptions): void {
  const { chunk, context, activations, part, pageTokens } = options;
  const { segments, format, payload } = frame;
  const tokens = frameTokens(frame);
  const end = Math.max(...segments.map((segment) => segment.position + segment.tokens));
  if (tokens > chunk || end > context)
    throw new FrameError(`${tokens} tokens, up to ${end}; the plan has ${chunk}, up to ${context}, at most`);
  checkPages(frame, { pages: pageCount(options), pageTokens });
  const bytes = activationBytes(tokens * part.model.hiddenSize, activations);
  if (format !== activations || payload.length !== bytes)
    throw new FrameError(`${payload.length} bytes of ${format}; ${bytes} of ${activations} are planned`);
}
