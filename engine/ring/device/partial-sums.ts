import { setImmediate } from 'node:timers/promises';
import { activationBytes, packActivations, unpackActivations } from '../wire/activations.ts';
import { clock } from '../wire/clock.ts';
import type { SumsFrame } from '../wire/frame.ts';
import { FrameError } from '../wire/frame-error.ts';
import { type Assignment, FROM_HEAD, type TensorCut } from '../wire/message.ts';
import type { RingSpan } from '../wire/span.ts';
import { checkNumbers, nameOf } from './window-runner.ts';

/** Halves of a layer, attention and the feed-forward part: each ends in a sum over all devices. */
export const HALVES_PER_LAYER = 2;

/** Sums, over the devices of a cut, of what their slices add to the residual stream: an all-reduce. */
export interface PartialSums {
  /**
   * Sends what this device has of a half, and waits for the others: `exchange`: each sends to all; `star`: the head adds up and
   * sends the sum. All devices have the same sum, to the bit.
   * @param own [tokens][hidden]; may be overwritten
   * @returns [tokens][hidden]; `undefined` on a worker after the last half, whose sum only the head needs. Rejects once it has ended
   */
  total(half: number, own: Float32Array): Promise<Float32Array | undefined>;
  /** Takes a frame of another device. @throws FrameError for one that doesn't come next, or doesn't fit the plan */
  take(frame: SumsFrame, from: string): void;
  /** Devices whose results a half waits for, and for how long; `undefined` while it waits for none. */
  awaited(): { readonly devices: string[]; readonly seconds: number } | undefined;
  /** Ends all waits. */
  end(reason: Error): void;
}

export interface PartialSumsOptions extends Pick<Assignment, 'epoch' | 'activations' | 'chunk'> {
  readonly cut: TensorCut;
  readonly hiddenSize: number;
  readonly layers: number;
  /** Sends to a device of the cut; the payload is only valid until this returns. */
  readonly send: (device: string, frame: SumsFrame) => void;
  readonly record: (span: RingSpan) => void;
}

/** Sums that come from one device. */
interface Arrivals {
  /** Frames so far. */
  count: number;
  /** Sums that no half has taken yet. */
  readonly waiting: Float32Array[];
  /** The half that waits for one. */
  taker: { readonly resolve: (sums: Float32Array) => void; readonly reject: (error: Error) => void } | undefined;
}

/**
 * Sums that a device may be ahead: it has those before the half that this one waits for, since it got this device's, and then
 * needs this device's again.
 */
const MOST_AHEAD = 2;

export function createPartialSums(options: PartialSumsOptions): PartialSums {
  const { cut, epoch, activations: format, chunk, hiddenSize, layers, send, record } = options;
  const { members, allReduce } = cut;
  const own = members[cut.own]?.device ?? FROM_HEAD;
  const isHead = own === FROM_HEAD;
  const halves = HALVES_PER_LAYER * layers;
  const names = members.map(({ device }) => device);
  const others = names.filter((name) => name !== own);
  /** The devices that sums come from. */
  const senders = allReduce === 'exchange' || isHead ? others : [FROM_HEAD];
  const arrivals = new Map(
    senders.map((name): [string, Arrivals] => [name, { count: 0, waiting: [], taker: undefined }]),
  );
  const sent = new Map<string, number>();
  /** Frames of a pass from one device to this one: workers don't need the last sum. */
  const perPass = isHead ? halves : halves - 1;
  let ended: Error | undefined;
  let since = 0;

  const post = (to: readonly string[], half: number, values: Float32Array): void => {
    const layer = Math.floor(half / HALVES_PER_LAYER);
    const payload = packActivations(values, format);
    const rows = values.length / hiddenSize;
    for (const name of to) {
      const number = sent.get(name) ?? 0;
      sent.set(name, number + 1);
      send(name, { kind: 'sums', epoch, number, layer, rows, format, sentAt: clock(), payload });
    }
    // Others have the values as they were sent.
    if (format !== 'F32') unpackActivations(payload, format, values);
  };
  const receive = async (from: string, length: number): Promise<Float32Array> => {
    const arrival = arrivals.get(from) as Arrivals;
    if (ended !== undefined) throw ended;
    const sums =
      arrival.waiting.shift() ??
      (await new Promise<Float32Array>((resolve, reject) => {
        arrival.taker = { resolve, reject };
      }));
    if (sums.length !== length)
      throw new Error(
        `${nameOf(from)}: sent sums of ${sums.length / hiddenSize} tokens; ${length / hiddenSize} are in the pass`,
      );
    checkNumbers(sums, from);
    return sums;
  };
  /** The sum of all devices' values, in the plan's order. */
  const added = async (values: Float32Array): Promise<Float32Array> => {
    since = clock();
    const all = await Promise.all(names.map((name) => (name === own ? values : receive(name, values.length))));
    const [first, ...rest] = all as [Float32Array, ...Float32Array[]];
    const sum = Float32Array.from(first);
    for (const one of rest)
      for (let index = 0; index < sum.length; index++) sum[index] = (sum[index] as number) + (one[index] as number);
    return sum;
  };

  return {
    async total(half, values) {
      const isLast = half + 1 === halves;
      if (allReduce === 'exchange') {
        post(isLast ? others.filter((name) => name === FROM_HEAD) : others, half, values);
        if (isLast && !isHead) return undefined;
        await setImmediate(); // sends first
        return await added(values);
      }
      if (isHead) {
        const sum = await added(values);
        if (isLast) return sum;
        post(others, half, sum);
        await setImmediate();
        return sum;
      }
      post([FROM_HEAD], half, values);
      if (isLast) return undefined;
      since = clock();
      return await receive(FROM_HEAD, values.length);
    },
    take(frame, from) {
      if (ended !== undefined) return;
      const { number, layer, rows, payload, sentAt } = frame;
      const arrival = arrivals.get(from);
      if (arrival === undefined) throw new FrameError('sums of a device that sends none here in the plan');
      if (number !== arrival.count) throw new FrameError(`sums ${number}; the next ones are ${arrival.count}`);
      const expected = Math.floor((number % perPass) / HALVES_PER_LAYER);
      if (layer !== expected) throw new FrameError(`sums of layer ${layer}; those of layer ${expected} come next`);
      if (rows > chunk) throw new FrameError(`sums of ${rows} tokens; the plan has ${chunk} at most`);
      const bytes = activationBytes(rows * hiddenSize, format);
      if (frame.format !== format || payload.length !== bytes)
        throw new FrameError(
          `${payload.length} bytes of ${frame.format} for ${rows} sums; ${bytes} of ${format} are planned`,
        );
      if (arrival.waiting.length >= MOST_AHEAD)
        throw new FrameError(`more than ${MOST_AHEAD} sums ahead of this device`);
      arrival.count += 1;
      record({ kind: 'receive', sender: from, bytes: payload.length, request: number, sentAt, receivedAt: clock() });
      const sums = new Float32Array(rows * hiddenSize);
      unpackActivations(payload, format, sums);
      const { taker } = arrival;
      arrival.taker = undefined;
      if (taker === undefined) arrival.waiting.push(sums);
      else taker.resolve(sums);
    },
    awaited() {
      const devices = [...arrivals].flatMap(([name, { taker }]) => (taker === undefined ? [] : [name]));
      return devices.length === 0 ? undefined : { devices, seconds: clock() - since };
    },
    end(reason) {
      ended = reason;
      for (const { taker } of arrivals.values()) taker?.reject(reason);
    },
  };
}
