import { coveredSeconds, unite, within } from './intervals.ts';
import { quantile } from './quantile.ts';
import { type SpanKind, spanKind } from './span-kind.ts';
import { isProcessorLane, type Lane, type Span, type Trace, type TracedDevice } from './trace.ts';

export interface LaneMetrics {
  readonly device: string;
  readonly lane: Lane;
  /** Time in which the lane has a span; stalls don't count, for then the processor waits. */
  readonly busySeconds: number;
  /** Share of the trace's duration, 0 to 1. */
  readonly utilisation: number;
  /** Sum of the spans' bytes. */
  readonly bytes: number;
}

export interface DeviceMetrics {
  readonly device: string;
  /** Computations wait for the disk. */
  readonly stallSeconds: number;
  /** Within tokens, no processor of the device is busy or stalled: it waits for others. */
  readonly bubbleSeconds: number;
  /** The part of its bubbles in which its disk and link rest, too: what prima.cpp's Fig. 6 leaves white. */
  readonly idleSeconds: number;
  /** Bytes read because a computation needed them, and read ahead of it. */
  readonly faultedBytes: number;
  readonly prefetchedBytes: number;
}

export interface Metrics {
  /** From 0 to the last end of a span or token. */
  readonly seconds: number;
  /** TPOT: mean, median and 95th percentile of a decoded token's seconds; undefined without one. */
  readonly tokenSeconds: number | undefined;
  readonly tokenSecondsP50: number | undefined;
  readonly tokenSecondsP95: number | undefined;
  /** TTFT: seconds of the first prefill; undefined without one. */
  readonly firstTokenSeconds: number | undefined;
  readonly devices: readonly DeviceMetrics[];
  /** Every lane of every device, in their order. */
  readonly lanes: readonly LaneMetrics[];
  readonly bytes: number;
}

/** A difference of sums below a nanosecond is none. */
const ROUNDING = 1e-9;

/** What a trace amounts to, wherever it comes from. */
export function metrics(trace: Trace): Metrics {
  const seconds = [...trace.spans, ...trace.tokens].reduce((latest, { end }) => Math.max(latest, end), 0);
  const decoded = trace.tokens.filter(({ phase }) => phase === 'decode').map(({ start, end }) => end - start);
  const prefill = trace.tokens.find(({ phase }) => phase === 'prefill');
  return {
    seconds,
    tokenSeconds: decoded.length === 0 ? undefined : decoded.reduce((sum, one) => sum + one, 0) / decoded.length,
    tokenSecondsP50: quantile(decoded, 0.5),
    tokenSecondsP95: quantile(decoded, 0.95),
    firstTokenSeconds: prefill && prefill.end - prefill.start,
    devices: trace.devices.map((device) => deviceMetrics(device, trace)),
    lanes: trace.devices.flatMap((device) => laneMetrics(device, trace, seconds)),
    bytes: totalBytes(trace.spans),
  };
}

function deviceMetrics({ name }: TracedDevice, { spans, tokens }: Trace): DeviceMetrics {
  const own = spans.filter(({ device }) => device === name);
  const ofKind = (kind: SpanKind): Span[] => own.filter((span) => spanKind(span) === kind);
  const inTokens = unite(tokens);
  const without = (occupied: readonly Span[]): number => {
    const seconds = coveredSeconds(inTokens) - coveredSeconds(within(occupied, inTokens));
    return seconds < ROUNDING ? 0 : seconds;
  };
  return {
    device: name,
    stallSeconds: coveredSeconds(ofKind('stall')),
    bubbleSeconds: without(own.filter(({ lane }) => isProcessorLane(lane))),
    idleSeconds: without(own),
    faultedBytes: totalBytes(ofKind('page-fault')),
    prefetchedBytes: totalBytes(ofKind('prefetch')),
  };
}

function laneMetrics({ name, lanes }: TracedDevice, { spans }: Trace, seconds: number): LaneMetrics[] {
  return lanes.map((lane) => {
    const own = spans.filter((span) => span.device === name && span.lane === lane);
    const busySeconds = coveredSeconds(own.filter((span) => spanKind(span) !== 'stall'));
    const utilisation = seconds === 0 ? 0 : busySeconds / seconds;
    return { device: name, lane, busySeconds, utilisation, bytes: totalBytes(own) };
  });
}

function totalBytes(spans: readonly Span[]): number {
  return spans.reduce((sum, { args }) => sum + (args.bytes ?? 0), 0);
}
