import type { Trace } from './trace.ts';
import { traceWindow } from './trace-window.ts';

/**
 * The part of a trace in which some of the decoded tokens come about, the first of them number 0 (the prefill doesn't
 * count).
 * @param count tokens from `first` on; fewer if the trace has fewer
 * @throws RangeError if there is no token `first`
 */
export function decodedTokens(trace: Trace, first: number, count: number): Trace {
  const tokens = trace.tokens.filter(({ phase }) => phase === 'decode');
  const start = tokens[first];
  const end = tokens.slice(first, first + count).at(-1);
  if (start === undefined || end === undefined)
    throw new RangeError(`the trace has ${tokens.length} decoded tokens; there is no number ${first}`);
  return traceWindow(trace, start.start, end.end);
}
