import type { Cause } from '../cost/breakdown.ts';

/** What a device does things with. */
export const LANES = ['cpu', 'gpu', 'npu', 'disk', 'link'] as const;
export type Lane = (typeof LANES)[number];

/** The lanes that compute. */
export function isProcessorLane(lane: Lane): boolean {
  return lane === 'cpu' || lane === 'gpu' || lane === 'npu';
}

/** A stretch of time that one thing takes on a lane. */
export interface Span {
  readonly device: string;
  readonly lane: Lane;
  /**
   * What the time goes into, in the words of a Breakdown. `disk` on a processor's lane is a stall, e.g. `waits for layer
   * 12`: a computation there waits for its weights, and the processor is not busy. The reads themselves are on the
   * disk's lane, called `page fault` or `prefetch`.
   */
  readonly cause: Cause;
  /** For people, e.g. `layers 0–3`. */
  readonly name: string;
  /** Seconds since the trace began; end ≥ start. */
  readonly start: number;
  readonly end: number;
  readonly args: SpanArguments;
}

/** Particulars of a span. `bytes` (moved or read) is summed up by metrics; others are for whoever looks at the span. */
export interface SpanArguments {
  readonly bytes?: number;
  readonly [name: string]: string | number | undefined;
}

/** The time in which one token comes about; the first of a request ends the prefill. */
export interface TokenInterval {
  readonly phase: 'prefill' | 'decode';
  readonly start: number;
  readonly end: number;
}

/** A quantity of a device over time; each value holds until the next. */
export interface Counter {
  readonly device: string;
  /** With its unit where it is not SI, e.g. `resident weights (bytes)`. */
  readonly name: string;
  /** In order of time. */
  readonly samples: readonly { readonly time: number; readonly value: number }[];
}

export interface TracedDevice {
  readonly name: string;
  readonly lanes: readonly Lane[];
}

/**
 * What happened when, on which device and lane: plain data, the same from a prediction, a simulation or a real run.
 * Spans may be in any order. Those of one lane may overlap, as a page fault and a prefetch that share the disk do:
 * metrics count a moment that they share once.
 */
export interface Trace {
  /** In ring order. */
  readonly devices: readonly TracedDevice[];
  readonly spans: readonly Span[];
  /** In order of time. */
  readonly tokens: readonly TokenInterval[];
  readonly counters: readonly Counter[];
}
