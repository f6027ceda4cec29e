import type { Lane, Span, TokenInterval, Trace } from '../trace/trace.ts';
import type { DeviceSpans } from './head.ts';
import { FROM_HEAD } from './message.ts';

/**
 * A run of the ring as a trace, on the head's clock: windows on `cpu`, what travels on the sender's `link`, from when it
 * was handed to the transport until the receiver had it.
 * @param devices the head first
 * @param tokens in seconds of the head's clock, in order of time; the first begins the trace
 */
export function ringTrace(devices: readonly DeviceSpans[], tokens: readonly TokenInterval[]): Trace {
  const [head] = devices;
  const zero = tokens[0]?.start ?? 0;
  const offsets = new Map(devices.map(({ device, offset }) => [device, offset]));
  const spans = devices.flatMap(({ device, offset, spans: own }) =>
    own.map((span): Span => {
      if (span.kind === 'compute') {
        const { from, to, start, end, request } = span;
        const name = from === to ? 'output' : to - from === 1 ? `layer ${from}` : `layers ${from}–${to - 1}`;
        const times = { start: start - offset - zero, end: end - offset - zero };
        return { device, lane: 'cpu', cause: 'compute', name, ...times, args: { tokens: span.tokens, request } };
      }
      const sender = span.sender === FROM_HEAD ? (head?.device ?? '') : span.sender;
      const start = span.sentAt - (offsets.get(sender) ?? 0) - zero;
      // What clocks are off by must not make time run backwards.
      const end = Math.max(start, span.receivedAt - offset - zero);
      const args = { bytes: span.bytes, request: span.request };
      return { device: sender, lane: 'link', cause: 'link', name: `to ${device}`, start, end, args };
    }),
  );
  const lanes: readonly Lane[] = ['cpu', 'link'];
  return {
    devices: devices.map(({ device }) => ({ name: device, lanes })),
    spans: spans.filter(({ start }) => start >= 0),
    tokens: tokens.map(({ phase, start, end }) => ({ phase, start: start - zero, end: end - zero })),
    counters: [],
  };
}
