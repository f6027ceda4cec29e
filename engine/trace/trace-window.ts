import type { Counter, Span, Trace } from './trace.ts';

/**
 * Part of a trace, from second `from` up to `to`, which becomes 0 to `to − from`. Spans that reach beyond are cut, with
 * their bytes in proportion to the time; of the tokens only whole ones stay. A counter begins with the value it had.
 * @throws RangeError unless from < to
 */
export function traceWindow(trace: Trace, from: number, to: number): Trace {
  if (!(from < to)) throw new RangeError(`from ${from} to ${to} s is no window; from must be before to`);
  return {
    devices: trace.devices,
    spans: trace.spans.filter(({ start, end }) => start < to && end > from).map((span) => cut(span, from, to)),
    tokens: trace.tokens
      .filter(({ start, end }) => start >= from && end <= to)
      .map(({ phase, start, end }) => ({ phase, start: start - from, end: end - from })),
    counters: trace.counters.map((counter) => cutCounter(counter, from, to)),
  };
}

function cut(span: Span, from: number, to: number): Span {
  const start = Math.max(span.start, from);
  const end = Math.min(span.end, to);
  const { bytes } = span.args;
  const isWhole = start === span.start && end === span.end;
  const args =
    bytes === undefined || isWhole
      ? span.args
      : { ...span.args, bytes: (bytes * (end - start)) / (span.end - span.start) };
  return { ...span, start: start - from, end: end - from, args };
}

function cutCounter({ device, name, samples }: Counter, from: number, to: number): Counter {
  const before = samples.findLast(({ time }) => time <= from);
  const inside = samples.filter(({ time }) => time > from && time < to);
  const first = before === undefined ? [] : [{ time: 0, value: before.value }];
  return { device, name, samples: [...first, ...inside.map(({ time, value }) => ({ time: time - from, value }))] };
}
