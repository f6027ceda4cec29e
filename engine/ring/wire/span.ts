import type { Cause } from '../../cost/breakdown.ts';
import type { Lane, SpanArguments } from '../../trace/trace.ts';

/** The most spans of a device that are kept until the head asks for them. */
export const MOST_SPANS = 1_000_000;

/** An interval or a sample that a device recorded, in times of that device's clock (head/trace.ts aligns the clocks). */
export type RingSpan =
  | {
      /** The computation of a window's layers, or of the output where `from` equals `to`. */
      readonly kind: 'compute';
      readonly from: number;
      readonly to: number;
      readonly tokens: number;
      readonly request: number;
      /** Seconds. */
      readonly start: number;
      readonly end: number;
    }
  | {
      /** The transfer of a frame. */
      readonly kind: 'receive';
      readonly sender: string;
      readonly bytes: number;
      readonly request: number;
      /** Seconds on the sender's clock. */
      readonly sentAt: number;
      /** Seconds on this device's clock. */
      readonly receivedAt: number;
    }
  | {
      /** An event of weights in memory: a read, a stall, a release. */
      readonly kind: 'weights';
      readonly lane: Lane;
      readonly cause: Cause;
      readonly name: string;
      readonly start: number;
      readonly end: number;
      readonly args: SpanArguments;
    }
  | {
      /** The value of a quantity from `time` on. */
      readonly kind: 'sample';
      readonly name: string;
      readonly time: number;
      readonly value: number;
    };

type ComputeSpan = Extract<RingSpan, { readonly kind: 'compute' }>;

/** The name of layers in a trace: `layer 3`, `layers 0–7`, or `output` for none. */
export function layersName({ from, to }: { readonly from: number; readonly to: number }): string {
  if (from === to) return 'output';
  return to - from === 1 ? `layer ${from}` : `layers ${from}–${to - 1}`;
}

/**
 * Records a computation. It is unknown which of its layers waited for page faults, so the stall is shown first.
 * @param stall seconds of the computation that were spent in page faults
 */
export function recordComputation(
  record: (span: RingSpan) => void,
  { start, ...computed }: Omit<ComputeSpan, 'kind'>,
  stall: number,
): void {
  const name = `page faults of ${layersName(computed)}`;
  const end = start + stall;
  if (stall > 0) record({ kind: 'weights', lane: 'cpu', cause: 'disk', name, start, end, args: {} });
  record({ kind: 'compute', ...computed, start: end });
}
