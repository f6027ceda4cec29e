import type { Cause } from '../../cost/breakdown.ts';
import type { Lane, SpanArguments } from '../../trace/trace.ts';

/** What a device did or counted, and when, on clocks that are still to be made one. */
export type RingSpan =
  | {
      readonly kind: 'compute';
      readonly from: number;
      readonly to: number;
      readonly tokens: number;
      readonly request: number;
      /** Seconds, on the device's clock. */
      readonly start: number;
      readonly end: number;
    }
  | {
      readonly kind: 'receive';
      /** Who sent it. */
      readonly sender: string;
      readonly bytes: number;
      readonly request: number;
      /** Seconds, on the sender's clock and on the device's. */
      readonly sentAt: number;
      readonly receivedAt: number;
    }
  | {
      /** What became of its weights: a read, a stall, a release. */
      readonly kind: 'weights';
      readonly lane: Lane;
      readonly cause: Cause;
      readonly name: string;
      readonly start: number;
      readonly end: number;
      readonly args: SpanArguments;
    }
  | {
      /** A quantity has a value from `time` on. */
      readonly kind: 'sample';
      readonly name: string;
      readonly time: number;
      readonly value: number;
    };

/** What layers are called in a trace; none: the output. */
export function layersName({ from, to }: { readonly from: number; readonly to: number }): string {
  if (from === to) return 'output';
  return to - from === 1 ? `layer ${from}` : `layers ${from}–${to - 1}`;
}
