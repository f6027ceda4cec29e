import { setImmediate } from 'node:timers/promises';
import { outputMultiplied } from '../../runtime/layer-batches.ts';
import type { DevicePart, DevicePartOptions } from '../device/device-part.ts';
import { createDeviceWeights } from '../device/device-weights.ts';
import type { LoadedPart } from '../device/loaded-part.ts';
import { layersInRam, plannedBytes, weightsRoom } from '../device/memory.ts';
import { createWindowRunner, firstRequest } from '../device/window-runner.ts';
import { clock } from '../wire/clock.ts';
import {
  type ActivationFrame,
  activationBytes,
  FrameError,
  frameRows,
  packActivations,
  unpackActivations,
} from '../wire/frame.ts';
import type { Assignment, WeightsReport } from '../wire/message.ts';
import { type RingSpan, recordComputation } from '../wire/span.ts';
import type { Assembly } from './assembly.ts';
import type { EnteringFrame } from './passes.ts';

/** The head's own part of a plan: the embedding, its windows and the output. */
export interface OwnWindows {
  readonly weights: WeightsReport | undefined;
  /** Bytes that can't be given back (plannedBytes). */
  readonly plannedBytes: number;
  /** Embeds tokens and runs the first window, or sends the activations to its device. */
  enter(frame: EnteringFrame): Promise<void>;
  /** Runs one of the head's windows. @throws FrameError for a frame that does not fit the plan */
  accept(frame: ActivationFrame, from: string): void;
  /** Takes the result of the last window and computes logits if they are wanted. @throws FrameError */
  takeOutput(frame: ActivationFrame, from: string): void;
  end(): Promise<void>;
}

export interface OwnWindowsOptions {
  readonly head: string;
  readonly loaded: LoadedPart;
  /** What runs the head's windows; ends with them. */
  readonly device: DevicePart;
  /** What the GPU computes besides layers. */
  readonly outer: DevicePartOptions['outer'];
  /** The head's share of the plan. */
  readonly assignment: Assignment;
  readonly assembly: Assembly;
  /** Memory for weights and KV caches, bytes. */
  readonly memory: number;
  readonly send: (device: string, frame: ActivationFrame) => void;
  readonly record: (span: RingSpan) => void;
  readonly onFailed: (error: Error) => void;
}

export function createOwnWindows(options: OwnWindowsOptions): OwnWindows {
  const { head, loaded, assignment, assembly, send, record, onFailed } = options;
  const { activations: format, windows } = assignment;
  const { part } = options.device;
  const { hiddenSize, layers } = part.model;
  const sources = new Map(assignment.sources.map(({ window, from }) => [window, from]));
  const weights = createDeviceWeights({
    loaded,
    windows,
    output: outputPlace(options),
    requested: assignment.weights,
    room: weightsRoom(assignment, loaded, options.memory),
    record: assignment.trace ? record : undefined,
    onStill: (reason) => onFailed(new Error(reason)),
  });

  /** Computes the logits of the rows in the stream, and gives them to the requests of a frame. */
  const giveLogits = async (frame: Pick<ActivationFrame, 'segments'>): Promise<void> => {
    const start = clock();
    const rows = frameRows(frame);
    const multiplied = outputMultiplied(frame.segments);
    const values = await part.logits(rows, [{ first: 0, count: rows }], multiplied);
    const end = clock();
    const stall = weights?.ran('output') ?? 0;
    const times = { request: firstRequest(frame), start, end };
    recordComputation(record, { from: layers, to: layers, tokens: rows, ...times }, stall);
    const width = values.length / rows;
    let at = 0;
    for (const { request, rows: own } of frame.segments) {
      const logits = values.slice(at * width, (at + own) * width);
      at += own;
      if (own > 0) assembly.pending.get(request)?.onLogits(logits, own);
    }
  };
  /** Tells the request with which a frame begins that it has gone through all windows. */
  const left = (frame: Pick<ActivationFrame, 'segments'>): void => assembly.pending.get(firstRequest(frame))?.onFrame();

  const runner = createWindowRunner({
    ...assignment,
    part,
    weights,
    senderOf: (window) => sources.get(window),
    async forward(frame, next) {
      if (next.kind === 'device') return send(next.name, frame);
      // The last window was the head's own.
      left(frame);
      const rows = frameRows(frame);
      if (rows === 0) return;
      unpackActivations(frame.payload, frame.format, part.stream(rows));
      await giveLogits(frame);
    },
    onFailed,
    record,
  });

  return {
    weights: weights?.report,
    plannedBytes: plannedBytes(assignment, loaded, weights?.report),
    enter: ({ tokens, segments }) =>
      runner.queue(async () => {
        if (assembly.broken !== undefined) return;
        await part.embed(tokens);
        const entering = { window: 0, segments };
        const [first] = assembly.windows;
        if (first === undefined || first.device === head) return runner.run(entering);
        const payload = packActivations(part.stream(tokens.length), format);
        const { epoch } = assembly;
        send(first.device, { ...entering, kind: 'activations', epoch, format, sentAt: clock(), payload });
      }),
    accept: runner.accept,
    takeOutput(frame, from) {
      const { format: given, payload, sentAt } = frame;
      const rows = frameRows(frame);
      if (given !== format || payload.length !== activationBytes(rows * hiddenSize, given) || rows > assignment.chunk)
        throw new FrameError(`${payload.length} bytes of ${given} for ${rows} rows`);
      const request = firstRequest(frame);
      const waiting = assembly.pending.get(request);
      if (waiting === undefined) return;
      record({ kind: 'receive', sender: from, bytes: payload.length, request, sentAt, receivedAt: clock() });
      left(frame);
      if (rows === 0) return;
      runner
        .queue(async () => {
          await weights?.arrival('output');
          unpackActivations(payload, format, part.stream(rows));
          await giveLogits(frame);
          if (weights === undefined) return;
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

/** Where the output layer's weights are among those in RAM. */
function outputPlace({ assignment, outer }: OwnWindowsOptions): 'elsewhere' | 'with-last-window' | 'by-itself' {
  if (outer.includes('output')) return 'elsewhere';
  const last = assignment.windows.find(({ index }) => index + 1 === assignment.windowCount);
  return last !== undefined && layersInRam([last]).length > 0 ? 'with-last-window' : 'by-itself';
}
