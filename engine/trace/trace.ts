import type { Cause } from '../cost/breakdown.ts';

/** What a device does things with. */
export const LANES = ['cpu', 'gpu', 'npu', 'disk', 'link'] as const;
export type Lane = (typeof LANES)[number];

/** A stretch of time in which a lane is busy. */
export interface Span {
  readonly device: string;
  readonly lane: Lane;
  /** What the time goes into, in the words of a Breakdown. */
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
 * Spans may be in any order. Those of one lane should not overlap: viewers draw that badly, and metrics count a moment
 * that they share once.
 */
export interface Trace {
  /** In ring order. */
  readonly devices: readonly TracedDevice[];
  readonly spans: readonly Span[];
  /** In order of time. */
  readonly tokens: readonly TokenInterval[];
  readonly counters: readonly Counter[];
}
