import { createRecorder } from './recorder.ts';
import { LANES, type Lane, type Span, type TokenInterval, type Trace } from './trace.ts';

/** Records what one device does in a real run. All times are given in seconds on one clock, the caller's. */
export interface RunRecorder {
  /** Records a span of this device. */
  span(span: Omit<Span, 'device'>): void;
  /** Records the time of a prompt or a token, seconds. */
  token(phase: TokenInterval['phase'], start: number, end: number): void;
  /** Records the value of a quantity from `time` on. */
  sample(name: string, time: number, value: number): void;
  /** The trace so far, in seconds since the recorder's `begin`. */
  trace(): Trace;
}

/**
 * @param device the device's name in the trace
 * @param begin the time on the caller's clock that is 0 in the trace, seconds
 */
export function createRunRecorder(device: string, begin: number): RunRecorder {
  const recorder = createRecorder({ spans: true });
  const used = new Set<Lane>();
  return {
    span(span) {
      used.add(span.lane);
      recorder.span({ ...span, device, start: span.start - begin, end: span.end - begin });
    },
    token: (phase, start, end) => recorder.token({ phase, start: start - begin, end: end - begin }),
    sample: (name, time, value) => recorder.sample(device, name, time - begin, value),
    trace: () => ({
      devices: [{ name: device, lanes: LANES.filter((lane) => used.has(lane)) }],
      spans: [...recorder.spans],
      tokens: [...recorder.tokens],
      counters: recorder.counters.map((counter) => ({
        ...counter,
        samples: counter.samples.toSorted((a, b) => a.time - b.time),
      })),
    }),
  };
}
