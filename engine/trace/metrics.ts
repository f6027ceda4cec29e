import { coveredSeconds, unite, within } from './intervals.ts';
import {
  isProcessorLane,
  type Lane,
  type Span,
  type SpanKind,
  spanKind,
  type Trace,
  type TracedDevice,
} from './trace.ts';

/** Busy time of one lane of a device. */
export interface LaneMetrics {
  readonly device: string;
  readonly lane: Lane;
  /** Seconds in which the lane has a span. Stalls don't count, since the processor waits during them. */
  readonly busySeconds: number;
  /** Share of the trace's duration, 0 to 1. */
  readonly utilisation: number;
  /** Sum of the spans' bytes. */
  readonly bytes: number;
}

/** Waits and bytes of one device. */
export interface DeviceMetrics {
  readonly device: string;
  /** Seconds in which computations wait for the disk. */
  readonly stallSeconds: number;
  /** Seconds within tokens in which no processor of the device is busy or stalled: it waits for other devices. */
  readonly bubbleSeconds: number;
  /** The part of `bubbleSeconds` in which disk and link are idle too (white in prima.cpp's Fig. 6). */
  readonly idleSeconds: number;
  /** Bytes read because a computation needed them. */
  readonly faultedBytes: number;
  /** Bytes read ahead of the computation that needs them. */
  readonly prefetchedBytes: number;
}

/** Figures of a trace, simulated or measured. */
export interface Metrics {
  /** Duration of the trace: the latest end of a span or token. */
  readonly seconds: number;
  /** TPOT: mean, median and 95th percentile of a decoded token's seconds; `undefined` without decoded tokens. */
  readonly tokenSeconds: number | undefined;
  readonly tokenSecondsP50: number | undefined;
  readonly tokenSecondsP95: number | undefined;
  /** TTFT: seconds of the first prefill; `undefined` without a prefill. */
  readonly firstTokenSeconds: number | undefined;
  readonly devices: readonly DeviceMetrics[];
  /** One entry for each lane of each device, in the trace's order. */
  readonly lanes: readonly LaneMetrics[];
  readonly bytes: number;
}

/** A difference of sums below a nanosecond counts as zero. */
const ROUNDING = 1e-9;

/** Sums up a trace, whether predicted, simulated or measured. */
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

/**
 * The value below which a `share` (0 to 1) of all values lies, interpolated linearly between neighbours (definition 7
 * of Hyndman and Fan 1996); `undefined` without values.
 */
export function quantile(values: readonly number[], share: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  const position = share * (sorted.length - 1);
  const below = sorted[Math.floor(position)];
  const above = sorted[Math.ceil(position)];
  if (below === undefined || above === undefined) return undefined;
  return below + (above - below) * (position - Math.floor(position));
}
