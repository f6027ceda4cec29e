import { setImmediate } from 'node:timers/promises';
import type { ExpertReads } from '../../experts/expert-reads.ts';
import type { TokenRange } from '../../runtime/pass/forward.ts';
import { outputMultiplied } from '../../runtime/pass/layer-batches.ts';
import { rowsOf } from '../../runtime/pass/wanted-rows.ts';
import { withoutWindows } from '../device/cut-layers.ts';
import type { DevicePart, DevicePartOptions } from '../device/device-part.ts';
import { createDeviceWeights } from '../device/device-weights.ts';
import type { LoadedPart } from '../device/loaded-part.ts';
import { layersInRam, plannedBytes, weightsRoom } from '../device/memory.ts';
import { checkNumbers, createWindowRunner, firstRequest, type WindowRun } from '../device/window-runner.ts';
import { activationBytes, packActivations, unpackActivations } from '../wire/activations.ts';
import { clock } from '../wire/clock.ts';
import { type ActivationFrame, frameRows } from '../wire/frame.ts';
import { FrameError } from '../wire/frame-error.ts';
import type { Assignment, WeightsReport } from '../wire/message.ts';
import { type RingSpan, recordComputation } from '../wire/span.ts';
import type { Assembly } from './assembly.ts';
import type { EnteringFrame, PendingWork } from './passes.ts';
import { type AwaitedDevices, createSentFrames } from './sent-frames.ts';

/** The head's own part of a plan: the embedding, its windows and the output. */
export interface OwnWindows {
  readonly weights: WeightsReport | undefined;
  /** Bytes that can't be given back (plannedBytes). */
  readonly plannedBytes: number;
  /** Experts that were needed and read; `undefined` if they are not cached. */
  readonly expertReads: ExpertReads | undefined;
  /** Embeds tokens and runs the first window, or sends the activations to its device. */
  enter(frame: EnteringFrame): Promise<void>;
  /** Runs one of the head's windows. @throws FrameError for a frame that does not fit the plan */
  accept(frame: ActivationFrame, from: string): void;
  /** Takes the result of the last window and computes what is wanted of it. @throws FrameError */
  takeOutput(frame: ActivationFrame, from: string): void;
  /** Devices whose frame has been waited for the longest. */
  awaited(): AwaitedDevices | undefined;
  end(): Promise<void>;
}

export interface OwnWindowsOptions {
  readonly head: string;
  readonly loaded: LoadedPart;
  /** Runner of the head's windows; closed with them. */
  readonly device: DevicePart;
  /** Parts other than layers that the GPU computes. */
  readonly outer: DevicePartOptions['outer'];
  /** Called before one of the head's windows runs. */
  readonly begins?: ((passed: WindowRun) => void | Promise<void>) | undefined;
  /** The head's share of the plan. */
  readonly assignment: Assignment;
  readonly assembly: Assembly;
  /** Memory for weights and KV caches, bytes. */
  readonly memory: number;
  readonly send: (device: string, frame: ActivationFrame) => void;
  readonly record: (span: RingSpan) => void;
  readonly onFailed: (error: Error) => void;
}

/** Rows of a frame, and the work that waits for them, unless it has given up. */
interface AwaitedRows {
  readonly range: TokenRange;
  readonly waiting: PendingWork | undefined;
}

export function createOwnWindows(options: OwnWindowsOptions): OwnWindows {
  const { head, loaded, assignment, assembly, send, record, onFailed } = options;
  const { activations: format, windows } = assignment;
  const { part } = options.device;
  const { hiddenSize, layers } = part.model;
  const sentFrames = createSentFrames(head, assembly.windows, clock);
  const sendOn = (device: string, frame: ActivationFrame): void => {
    sentFrames.sent(frame);
    send(device, frame);
  };
  let entered = 0;
  const sources = new Map(assignment.sources.map(({ window, from }) => [window, from]));
  const weights = createDeviceWeights({
    loaded,
    windows,
    isCut: assignment.cut !== undefined,
    output: outputPlace(options),
    requested: assignment.weights,
    room: weightsRoom(assignment, loaded, options.memory),
    record: assignment.trace ? record : undefined,
    onStill: (reason) => onFailed(new Error(reason)),
  });

  /** Gives each work its rows of values. */
  const give = (works: readonly AwaitedRows[], values: Float32Array | undefined): void => {
    if (values === undefined) return;
    const width = values.length / rowsOf(works.map(({ range }) => range));
    let at = 0;
    for (const { range, waiting } of works) {
      waiting?.onRows(values.slice(at * width, (at + range.count) * width), range.count);
      at += range.count;
    }
  };
  /** Computes logits or hidden states of the rows in the stream, and gives them to the requests of a frame. */
  const giveRows = async (frame: Pick<ActivationFrame, 'segments'>): Promise<void> => {
    const start = clock();
    const rows = frameRows(frame);
    let first = 0;
    const own = frame.segments.map(({ request, rows: count }): AwaitedRows => {
      const [range, waiting] = [{ first, count }, assembly.pending.get(request)];
      first += count;
      return { range, waiting };
    });
    const asked = (wanted: PendingWork['wanted']) =>
      own.filter(({ range, waiting }) => range.count > 0 && waiting?.wanted === wanted);
    const [logits, hidden] = [asked('logits'), asked('hidden')];
    const rangesOf = (works: readonly AwaitedRows[]) => works.map(({ range }) => range);
    const multiplied = outputMultiplied(frame.segments);
    const values = {
      logits: logits.length > 0 ? await part.logits(rows, rangesOf(logits), multiplied) : undefined,
      hidden: hidden.length > 0 ? await part.hidden(rows, rangesOf(hidden)) : undefined,
    };
    const end = clock();
    const stall = weights?.ran('output') ?? 0;
    const times = { request: firstRequest(frame), start, end };
    recordComputation(record, { from: layers, to: layers, tokens: rows, ...times }, stall);
    give(logits, values.logits);
    give(hidden, values.hidden);
  };
  /** Tells the request with which a frame begins that it has gone through all windows. */
  const left = (frame: Pick<ActivationFrame, 'segments'>): void => assembly.pending.get(firstRequest(frame))?.onFrame();

  const runner = createWindowRunner({
    ...assignment,
    part,
    weights,
    begins: options.begins ?? options.device.streamed?.begins,
    senderOf: (window) => sources.get(window),
    async forward(frame, next) {
      if (next.kind === 'device') return sendOn(next.name, frame);
      // The last window was the head's own.
      left(frame);
      const rows = frameRows(frame);
      if (rows === 0) return;
      unpackActivations(frame.payload, frame.format, part.stream(rows));
      await giveRows(frame);
    },
    onFailed,
    record: assignment.cut === undefined && options.device.streamed === undefined ? record : withoutWindows(record),
  });

  return {
    weights: options.device.experts?.report ?? weights?.report,
    plannedBytes: plannedBytes(assignment, loaded, {
      weights: weights?.report,
      experts: options.device.experts ?? options.device.streamed,
    }),
    get expertReads() {
      return options.device.experts?.reads;
    },
    enter({ tokens, ...frame }) {
      const [first] = assembly.windows;
      const number = entered++;
      const isOwn = first === undefined || first.device === head;
      const enter = async (): Promise<void> => {
        if (assembly.broken !== undefined) return;
        await part.embed(tokens);
        const entering = { window: 0, number, ...frame };
        if (isOwn) return runner.run(entering);
        const payload = packActivations(part.stream(tokens.length), format);
        const { epoch } = assembly;
        sendOn(first.device, { ...entering, kind: 'activations', epoch, format, sentAt: clock(), payload });
      };
      return runner.queue(enter, isOwn ? 0 : undefined);
    },
    accept(frame, from) {
      sentFrames.returned(frame);
      runner.accept(frame, from);
    },
    awaited: sentFrames.awaited,
    takeOutput(frame, from) {
      const { format: given, payload, sentAt } = frame;
      const rows = frameRows(frame);
      if (given !== format || payload.length !== activationBytes(rows * hiddenSize, given) || rows > assignment.chunk)
        throw new FrameError(`${payload.length} bytes of ${given} for ${rows} rows`);
      sentFrames.returned(frame);
      const request = firstRequest(frame);
      const waiting = assembly.pending.get(request);
      if (waiting === undefined) return;
      record({ kind: 'receive', sender: from, bytes: payload.length, request, sentAt, receivedAt: clock() });
      left(frame);
      if (rows === 0) return;
      runner
        .queue(async () => {
          await weights?.arrival('output');
          const stream = part.stream(rows);
          unpackActivations(payload, format, stream);
          checkNumbers(stream, from);
          await giveRows(frame);
          if (weights === undefined || frame.isFollowed) return;
          await setImmediate(); // chooses the next token first
          weights.after('output');
        })
        .catch(waiting.reject);
    },
    async end() {
      await runner.end();
      options.device.close();
    },
  };
}

/** Location of the output layer's weights among those in RAM. */
function outputPlace({ assignment, outer }: OwnWindowsOptions): 'elsewhere' | 'with-last-window' | 'by-itself' {
  if (outer.includes('output')) return 'elsewhere';
  const last = assignment.windows.find(({ index }) => index + 1 === assignment.windowCount);
  return last !== undefined && layersInRam([last]).length > 0 ? 'with-last-window' : 'by-itself';
}
