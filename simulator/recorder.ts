import type { Span, TokenInterval } from '../engine/trace/trace.ts';

/** Writes down what happens, if anyone wants to read it. */
export interface Recorder {
  span(span: Span): void;
  token(token: TokenInterval): void;
  readonly spans: readonly Span[];
  readonly tokens: readonly TokenInterval[];
}

/** @param spans record spans, or tokens only: sweeps need no more, and go faster */
export function createRecorder({ spans: wanted }: { readonly spans: boolean }): Recorder {
  const spans: Span[] = [];
  const tokens: TokenInterval[] = [];
  return {
    spans,
    tokens,
    span(span) {
      if (wanted && span.end > span.start) spans.push(span);
    },
    token: (token) => tokens.push(token),
  };
}
