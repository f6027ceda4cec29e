import type { Counter, Span, TokenInterval } from './trace.ts';

/** Collects what happens for a Trace. */
export interface Recorder {
  /** Whether spans and counters are recorded; tokens always are. */
  readonly wantsSpans: boolean;
  span(span: Span): void;
  token(token: TokenInterval): void;
  /** Records the value of a quantity from `time` on; repeated values are omitted. */
  sample(device: string, name: string, time: number, value: number): void;
  readonly spans: readonly Span[];
  readonly tokens: readonly TokenInterval[];
  readonly counters: readonly Counter[];
}

interface OpenCounter extends Counter {
  readonly samples: { time: number; value: number }[];
}

/** @param spans whether to record spans and counters; sweeps need tokens only and run faster without */
export function createRecorder({ spans: wanted }: { readonly spans: boolean }): Recorder {
  const spans: Span[] = [];
  const tokens: TokenInterval[] = [];
  const counters: OpenCounter[] = [];

  const byKey = new Map<string, OpenCounter>();
  const counterOf = (device: string, name: string): OpenCounter => {
    const key = `${device}\n${name}`;
    const found = byKey.get(key);
    if (found !== undefined) return found;
    const counter = { device, name, samples: [] };
    byKey.set(key, counter);
    counters.push(counter);
    return counter;
  };

  return {
    wantsSpans: wanted,
    spans,
    tokens,
    counters,
    span(span) {
      if (wanted && span.end > span.start) spans.push(span);
    },
    token: (token) => tokens.push(token),
    sample(device, name, time, value) {
      if (!wanted) return;
      const { samples } = counterOf(device, name);
      const last = samples.at(-1);
      if (last?.value === value) return;
      if (last?.time === time) samples.pop();
      samples.push({ time, value });
    },
  };
}
