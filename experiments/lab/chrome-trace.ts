import type { Cause } from '../../engine/cost/breakdown.ts';
import { type ChromeEvent, type ChromeTrace, perfettoTrace } from '../../engine/trace/perfetto.ts';
import { type Counter, LANES, type Lane, type TokenInterval, type Trace } from '../../engine/trace/trace.ts';

/** Reads back a trace that perfettoTrace wrote (`hearth run --trace`). Times are exact to a nanosecond. */
export function traceOfChrome({ traceEvents }: ChromeTrace): Trace {
  const names = (kind: string): ReadonlyMap<string, string> =>
    new Map(
      traceEvents.flatMap(({ ph, name, pid, tid, args }) =>
        ph === 'M' && name === kind ? [[`${pid} ${kind === 'thread_name' ? tid : ''}`, String(args?.name)]] : [],
      ),
    );
  const [processes, threads] = [names('process_name'), names('thread_name')];
  const deviceOf = ({ pid }: ChromeEvent): string => processes.get(`${pid} `) ?? '';
  const laneOf = ({ pid, tid }: ChromeEvent): Lane | undefined => {
    const name = threads.get(`${pid} ${tid}`)?.split(' ')[0];
    return LANES.find((lane) => lane === name);
  };
  const tokens: TokenInterval[] = [];
  const spans: Trace['spans'][number][] = [];
  const counters = new Map<string, Counter & { samples: { time: number; value: number }[] }>();
  for (const event of traceEvents) {
    const { ph, name, cat, ts = 0, dur = 0, args = {} } = event;
    const [start, end] = [ts / 1e6, (ts + dur) / 1e6];
    const device = deviceOf(event);
    const lane = laneOf(event);
    if (ph === 'X' && (cat === 'prefill' || cat === 'decode')) tokens.push({ phase: cat, start, end });
    else if (ph === 'X' && lane !== undefined)
      spans.push({ device, lane, cause: cat as Cause, name: name.slice(`${cat}: `.length), start, end, args });
    else if (ph === 'C') {
      const key = `${device}\n${name}`;
      const counter = counters.get(key) ?? { device, name, samples: [] };
      counters.set(key, counter);
      counter.samples.push({ time: start, value: Number(args.value) });
    }
  }
  const lanesOf = (device: string): Lane[] =>
    LANES.filter((lane) =>
      [...threads].some(([key, name]) => processes.get(`${key.split(' ')[0]} `) === device && name === lane),
    );
  const devices = [...processes.values()]
    .filter((name) => name !== 'tokens')
    .map((name) => ({ name, lanes: lanesOf(name) }));
  return { devices, spans, tokens, counters: [...counters.values()] };
}

/** Several traces in one Perfetto file, one above the other and aligned at time 0; devices are named `LABEL: DEVICE`. */
export function stackedTraces(traces: Readonly<Record<string, Trace>>): ChromeTrace {
  let offset = 0;
  const events: ChromeEvent[] = [];
  for (const [label, trace] of Object.entries(traces)) {
    for (const event of perfettoTrace(trace).traceEvents) events.push(shifted(event, label, offset));
    offset += trace.devices.length + 1;
  }
  return { traceEvents: events, displayTimeUnit: 'ms' };
}

/** An event whose process is `offset` further down, and whose process's name begins with the label. */
function shifted(event: ChromeEvent, label: string, offset: number): ChromeEvent {
  const { name, pid, args } = event;
  const moved = { ...event, pid: pid + offset };
  if (name === 'process_name') return { ...moved, args: { name: `${label}: ${args?.name}` } };
  if (name === 'process_sort_index') return { ...moved, args: { sort_index: Number(args?.sort_index) + offset } };
  return moved;
}
