import type { Cause } from '../cost/breakdown.ts';

/** The parts of a device that can be busy. */
export const LANES = ['cpu', 'gpu', 'npu', 'disk', 'link'] as const;
/** Part of a device that does one thing at a time: a processor, a disk or a link. */
export type Lane = (typeof LANES)[number];

/** Whether the lane belongs to a processor, rather than to a disk or link. */
export function isProcessorLane(lane: Lane): boolean {
  return lane === 'cpu' || lane === 'gpu' || lane === 'npu';
}

/** A period in which a lane is occupied by one thing. */
export interface Span {
  readonly device: string;
  readonly lane: Lane;
  /**
   * Cause of the time, as in a Breakdown. `disk` on a processor's lane is a stall, e.g. `waits for layer
   * 12`: a computation there waits for its weights, and the processor is not busy. The reads themselves are on the
   * disk's lane, called `page fault` or `prefetch`.
   */
  readonly cause: Cause;
  /** A text for readers, e.g. `layers 0–3`. */
  readonly name: string;
  /** Seconds since the trace began; end ≥ start. */
  readonly start: number;
  readonly end: number;
  readonly args: SpanArguments;
}

/**
 * Meaning of a span in a search for lost time (prima.cpp Fig. 6): `computing` (including memory access and KV cache),
 * `stall` (a computation waits for the disk), `prefetch` (a read ahead of the computation), `page-fault` (a read that a
 * computation needs, and every other read that isn't called a prefetch), `copy` (between a device's memories, or to its
 * disk), `communication`.
 */
export type SpanKind = 'computing' | 'stall' | 'prefetch' | 'page-fault' | 'copy' | 'communication';

export function spanKind({ lane, cause, name }: Pick<Span, 'lane' | 'cause' | 'name'>): SpanKind {
  if (lane === 'disk' && cause === 'deviceCopy') return 'copy';
  if (lane === 'disk') return name === 'prefetch' ? 'prefetch' : 'page-fault';
  if (isProcessorLane(lane) && cause === 'disk') return 'stall';
  if (cause === 'deviceCopy') return 'copy';
  return lane === 'link' ? 'communication' : 'computing';
}

/**
 * Details of a span. Metrics sum up `bytes` (moved or read) and `calculating` (seconds of a GPU's or NPU's span that
 * its arithmetic takes); the others are shown to readers of the trace.
 */
export interface SpanArguments {
  readonly bytes?: number;
  readonly calculating?: number;
  readonly [name: string]: string | number | undefined;
}

/** The period in which one token is computed. A request's first token ends its prefill. */
export interface TokenInterval {
  readonly phase: 'prefill' | 'decode';
  readonly start: number;
  readonly end: number;
}

/** A quantity of a device over time; each value holds until the next. */
export interface Counter {
  readonly device: string;
  /** Includes the unit, e.g. `resident weights (bytes)`. */
  readonly name: string;
  /** In order of time. */
  readonly samples: readonly { readonly time: number; readonly value: number }[];
}

/** A device of a trace, and its lanes. */
export interface TracedDevice {
  readonly name: string;
  readonly lanes: readonly Lane[];
}

/**
 * Record of what happened when, on which device and lane: plain data, with the same form for a prediction, a simulation
 * and a real run. Spans may be in any order. Spans of one lane may overlap, as a page fault and a prefetch on the same
 * disk do; metrics count the time that they share once.
 */
export interface Trace {
  /** In ring order. */
  readonly devices: readonly TracedDevice[];
  readonly spans: readonly Span[];
  /** In order of time. */
  readonly tokens: readonly TokenInterval[];
  readonly counters: readonly Counter[];
}
