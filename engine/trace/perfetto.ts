import type { SpanArguments, Trace } from './trace.ts';

/** An event of Chrome's trace-event format: `X` a span, `C` a counter's sample, `M` a name. Times in microseconds. */
export interface ChromeEvent {
  readonly ph: 'X' | 'C' | 'M';
  readonly name: string;
  readonly pid: number;
  readonly tid?: number;
  readonly cat?: string;
  readonly ts?: number;
  readonly dur?: number;
  readonly args?: SpanArguments;
}

export interface ChromeTrace {
  readonly traceEvents: readonly ChromeEvent[];
  readonly displayTimeUnit: 'ms';
}

/**
 * A trace in the trace-event format that ui.perfetto.dev and chrome://tracing open (Trace Event Format, Google 2016):
 * one process per device, one thread per lane, and one process for the tokens on top. Write it with JSON.stringify.
 * @throws RangeError if a span or counter names a device or lane that the trace doesn't list
 */
export function perfettoTrace({ devices, spans, tokens, counters }: Trace): ChromeTrace {
  const events: ChromeEvent[] = [];
  const tokensProcess = devices.length + 1;
  if (tokens.length > 0)
    events.push(...nameProcess(tokensProcess, 'tokens', 0), ...nameThread(tokensProcess, 1, 'tokens'));
  devices.forEach(({ name, lanes }, index) => {
    events.push(...nameProcess(index + 1, name, index + 1));
    lanes.forEach((lane, position) => {
      events.push(...nameThread(index + 1, position + 1, lane));
    });
  });
  const processOf = (device: string): number => {
    const index = devices.findIndex(({ name }) => name === device);
    if (index < 0) throw new RangeError(`the trace does not list the device "${device}"`);
    return index + 1;
  };
  tokens.forEach(({ phase, start, end }, index) => {
    const times = { ts: start * 1e6, dur: (end - start) * 1e6 };
    events.push({ ph: 'X', name: `token ${index}`, cat: phase, pid: tokensProcess, tid: 1, ...times });
  });
  for (const { device, lane, cause, name, start, end, args } of spans) {
    const pid = processOf(device);
    const tid = (devices[pid - 1]?.lanes.indexOf(lane) ?? -1) + 1;
    if (tid === 0) throw new RangeError(`the trace does not list the lane "${lane}" of "${device}"`);
    events.push({
      ph: 'X',
      name: `${cause}: ${name}`,
      cat: cause,
      pid,
      tid,
      ts: start * 1e6,
      dur: (end - start) * 1e6,
      args,
    });
  }
  for (const { device, name, samples } of counters) {
    const pid = processOf(device);
    for (const { time, value } of samples) events.push({ ph: 'C', name, pid, ts: time * 1e6, args: { value } });
  }
  return { traceEvents: events, displayTimeUnit: 'ms' };
}

/** Names a process, shown at `position` from the top. */
function nameProcess(pid: number, name: string, position: number): ChromeEvent[] {
  return [
    { ph: 'M', name: 'process_name', pid, args: { name } },
    { ph: 'M', name: 'process_sort_index', pid, args: { sort_index: position } },
  ];
}

function nameThread(pid: number, tid: number, name: string): ChromeEvent[] {
  return [
    { ph: 'M', name: 'thread_name', pid, tid, args: { name } },
    { ph: 'M', name: 'thread_sort_index', pid, tid, args: { sort_index: tid } },
  ];
}
