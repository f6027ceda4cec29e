import type { Lane, Span, Trace } from './trace.ts';

export interface LaneMetrics {
  readonly device: string;
  readonly lane: Lane;
  /** Time in which the lane has a span. */
  readonly busySeconds: number;
  /** Share of the trace's duration, 0 to 1. */
  readonly utilisation: number;
  /** Sum of the spans' bytes. */
  readonly bytes: number;
}

export interface Metrics {
  /** From 0 to the last end of a span or token. */
  readonly seconds: number;
  /** TPOT: mean seconds of a decoded token; undefined without one. */
  readonly tokenSeconds: number | undefined;
  /** TTFT: seconds of the first prefill; undefined without one. */
  readonly firstTokenSeconds: number | undefined;
  /** Every lane of every device, in their order. */
  readonly lanes: readonly LaneMetrics[];
  readonly bytes: number;
}

/** What a trace amounts to, wherever it comes from. */
export function metrics(trace: Trace): Metrics {
  const seconds = [...trace.spans, ...trace.tokens].reduce((latest, { end }) => Math.max(latest, end), 0);
  const decoded = trace.tokens.filter(({ phase }) => phase === 'decode');
  const prefill = trace.tokens.find(({ phase }) => phase === 'prefill');
  const lanes = trace.devices.flatMap(({ name, lanes }) =>
    lanes.map((lane): LaneMetrics => {
      const spans = trace.spans.filter((span) => span.device === name && span.lane === lane);
      const busySeconds = coveredSeconds(spans);
      const utilisation = seconds === 0 ? 0 : busySeconds / seconds;
      return { device: name, lane, busySeconds, utilisation, bytes: totalBytes(spans) };
    }),
  );
  return {
    seconds,
    tokenSeconds:
      decoded.length === 0 ? undefined : decoded.reduce((sum, { start, end }) => sum + end - start, 0) / decoded.length,
    firstTokenSeconds: prefill && prefill.end - prefill.start,
    lanes,
    bytes: totalBytes(trace.spans),
  };
}

/** Length of the union of the spans. */
function coveredSeconds(spans: readonly Span[]): number {
  let covered = 0;
  let until = Number.NEGATIVE_INFINITY;
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    covered += Math.max(0, end - Math.max(start, until));
    until = Math.max(until, end);
  }
  return covered;
}

function totalBytes(spans: readonly Span[]): number {
  return spans.reduce((sum, { args }) => sum + (args.bytes ?? 0), 0);
}
