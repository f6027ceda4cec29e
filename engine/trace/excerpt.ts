import type { Counter, Span, Trace } from './trace.ts';

/**
 * The part of a trace between the seconds `from` and `to`, which become 0 and `to − from`. Spans that reach beyond are
 * cut, their bytes in proportion to the time. Tokens that reach beyond are omitted. A counter begins with the value
 * that it had at `from`.
 * @throws RangeError unless from < to
 */
export function excerpt(trace: Trace, from: number, to: number): Trace {
  if (!(from < to)) throw new RangeError(`from ${from} to ${to} s is empty; from must be before to`);
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
  const isWhole = start === span.start && end === span.end;
  const share = (end - start) / (span.end - span.start);
  const { bytes, calculating } = span.args;
  const args = isWhole
    ? span.args
    : {
        ...span.args,
        ...(bytes !== undefined && { bytes: bytes * share }),
        ...(calculating !== undefined && { calculating: calculating * share }),
      };
  return { ...span, start: start - from, end: end - from, args };
}

function cutCounter({ device, name, samples }: Counter, from: number, to: number): Counter {
  const before = samples.findLast(({ time }) => time <= from);
  const inside = samples.filter(({ time }) => time > from && time < to);
  const first = before === undefined ? [] : [{ time: 0, value: before.value }];
  return { device, name, samples: [...first, ...inside.map(({ time, value }) => ({ time: time - from, value }))] };
}

/**
 * The part of a trace in which `count` decoded tokens are computed, from number `first` on. Numbers begin at 0; the
 * prefill is not counted.
 * @param count fewer are taken if the trace has fewer
 * @throws RangeError if there is no token `first`
 */
export function decodedTokens(trace: Trace, first: number, count: number): Trace {
  const tokens = trace.tokens.filter(({ phase }) => phase === 'decode');
  const start = tokens[first];
  const end = tokens.slice(first, first + count).at(-1);
  if (start === undefined || end === undefined)
    throw new RangeError(`the trace has ${tokens.length} decoded tokens; there is no number ${first}`);
  return excerpt(trace, start.start, end.end);
}
