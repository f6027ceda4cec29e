import type { Counter, Lane, Span, TokenInterval, Trace } from '../../trace/trace.ts';
import { FROM_HEAD } from '../wire/message.ts';
import { layersName, type RingSpan } from '../wire/span.ts';
import type { DeviceSpans } from './inquiries.ts';

/**
 * The trace of a run of the ring, in times of the head's clock: windows on `cpu`; transfers on the sender's `link`,
 * from the call of the transport until the receiver has the frame; reads on `disk`; memory as counters.
 * @param devices the head first
 * @param tokens in order of time, in seconds of the head's clock; the first begins the trace
 */
export function ringTrace(devices: readonly DeviceSpans[], tokens: readonly TokenInterval[]): Trace {
  const [head] = devices;
  const zero = tokens[0]?.start ?? 0;
  const offsets = new Map(devices.map(({ device, offset }) => [device, offset]));
  const context = { zero, head: head?.device ?? '', offsets };
  const spans = devices.flatMap((device) => device.spans.flatMap((span) => spanOf(span, device, context) ?? []));
  const lanes: readonly Lane[] = ['cpu', 'disk', 'link'];
  return {
    devices: devices.map(({ device }) => ({ name: device, lanes })),
    spans: spans.filter(({ start }) => start >= 0),
    tokens: tokens.map(({ phase, start, end }) => ({ phase, start: start - zero, end: end - zero })),
    counters: devices.flatMap((device) => countersOf(device, zero)),
  };
}

interface TraceContext {
  /** The time at which the trace begins. */
  readonly zero: number;
  readonly head: string;
  readonly offsets: ReadonlyMap<string, number>;
}

function spanOf(span: RingSpan, { device, offset }: DeviceSpans, context: TraceContext): Span | undefined {
  const here = (time: number): number => time - offset - context.zero;
  switch (span.kind) {
    case 'compute': {
      const { start, end, tokens, request } = span;
      const times = { start: here(start), end: here(end) };
      return { device, lane: 'cpu', cause: 'compute', name: layersName(span), ...times, args: { tokens, request } };
    }
    case 'receive': {
      const sender = span.sender === FROM_HEAD ? context.head : span.sender;
      const start = span.sentAt - (context.offsets.get(sender) ?? 0) - context.zero;
      // An error of the clocks' offset must not reverse a span.
      const end = Math.max(start, here(span.receivedAt));
      const args = { bytes: span.bytes, request: span.request };
      return { device: sender, lane: 'link', cause: 'link', name: `to ${device}`, start, end, args };
    }
    case 'weights': {
      const { lane, cause, name, start, end, args } = span;
      return { device, lane, cause, name, start: here(start), end: here(end), args };
    }
    case 'sample':
      return undefined;
  }
}

/** A device's counters. Each starts with its last value before the beginning of the trace. */
function countersOf({ device, offset, spans }: DeviceSpans, zero: number): Counter[] {
  const samples = new Map<string, { time: number; value: number }[]>();
  for (const span of spans) {
    if (span.kind !== 'sample') continue;
    const own = samples.get(span.name) ?? [];
    const time = Math.max(0, span.time - offset - zero);
    if (own.at(-1)?.time === time) own.pop();
    if (own.at(-1)?.value !== span.value) own.push({ time, value: span.value });
    samples.set(span.name, own);
  }
  return [...samples].map(([name, own]) => ({ device, name, samples: own }));
}
