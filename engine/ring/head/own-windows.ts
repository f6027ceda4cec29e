import { setImmediate } from 'node:timers/promises';
import type { DevicePart, DevicePartOptions } from '../device/device-part.ts';
import { createDeviceWeights } from '../device/device-weights.ts';
import type { LoadedPart } from '../device/loaded-part.ts';
import { layersInRam, plannedBytes, weightsRoom } from '../device/memory.ts';
import { createWindowRunner, type WindowRun } from '../device/window-runner.ts';
import { clock } from '../wire/clock.ts';
import {
  type ActivationFrame,
  activationBytes,
  FrameError,
  packActivations,
  unpackActivations,
} from '../wire/frame.ts';
import type { Assignment, WeightsReport } from '../wire/message.ts';
import { type RingSpan, recordComputation } from '../wire/span.ts';
import type { Assembly } from './assembly.ts';

/** The head's own part of a plan: the embedding, its windows and the output. */
export interface OwnWindows {
  readonly weights: WeightsReport | undefined;
  /** Bytes that can't be given back (plannedBytes). */
  readonly plannedBytes: number;
  /** Embeds tokens and runs the first window, or sends the activations to its device. */
  enter(run: Omit<WindowRun, 'tokens'> & { readonly tokens: readonly number[] }): Promise<void>;
  /** Runs one of the head's windows. @throws FrameError for a frame that does not fit the plan */
  accept(frame: ActivationFrame, from: string): void;
  /** Takes the result of the last window and computes logits if they are wanted. @throws FrameError */
  takeOutput(frame: ActivationFrame, from: string): void;
  /** Frees a request's caches. */
  free(request: number): void;
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

  const logits = async (request: number): Promise<Float32Array> => {
    const start = clock();
    const values = (await part.logits(1)).slice();
    const end = clock();
    const stall = weights?.ran('output') ?? 0;
    recordComputation(record, { from: layers, to: layers, tokens: 1, request, start, end }, stall);
    return values;
  };

  const runner = createWindowRunner({
    ...assignment,
    part,
    weights,
    senderOf: (window) => sources.get(window),
    async forward(frame, next) {
      if (next.kind === 'device') return send(next.name, frame);
      // The last window was the head's own.
      const waiting = assembly.pending.get(frame.request);
      waiting?.onChunk();
      if (frame.rows === 0) return;
      unpackActivations(frame.payload, frame.format, part.stream(1));
      waiting?.resolve(await logits(frame.request));
    },
    onFailed,
    record,
  });

  return {
    weights: weights?.report,
    plannedBytes: plannedBytes(assignment, loaded, weights?.report),
    enter: ({ tokens, ...run }) =>
      runner.queue(async () => {
        if (assembly.broken !== undefined) return;
        await part.embed(tokens);
        const entering = { ...run, tokens: tokens.length };
        const [first] = assembly.windows;
        if (first === undefined || first.device === head) return runner.run(entering);
        const payload = packActivations(part.stream(tokens.length), format);
        const { epoch } = assembly;
        send(first.device, { ...entering, kind: 'activations', epoch, format, sentAt: clock(), payload });
      }),
    accept: runner.accept,
    takeOutput({ request, rows, format: given, payload, sentAt }, from) {
      if (given !== format || payload.length !== activationBytes(rows * hiddenSize, given))
        throw new FrameError(`${payload.length} bytes of ${given} for ${rows} rows`);
      const waiting = assembly.pending.get(request);
      if (waiting === undefined) return;
      record({ kind: 'receive', sender: from, bytes: payload.length, request, sentAt, receivedAt: clock() });
      waiting.onChunk();
      if (rows === 0) return;
      runner
        .queue(async () => {
          await weights?.arrival('output');
          unpackActivations(payload, format, part.stream(1));
          waiting.resolve(await logits(request));
          if (weights === undefined) return;
          await setImmediate(); // chooses the next token first
          weights.after('output');
        })
        .catch(waiting.reject);
    },
    free: runner.free,
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
