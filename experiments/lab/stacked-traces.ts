import { type ChromeEvent, type ChromeTrace, perfettoTrace } from '../../engine/trace/perfetto.ts';
import type { Trace } from '../../engine/trace/trace.ts';

/** Several traces in one Perfetto file, one above the other, each from its first token on: `measured: one`, … */
export function stackedTraces(traces: Readonly<Record<string, Trace>>): ChromeTrace {
  let offset = 0;
  const events: ChromeEvent[] = [];
  for (const [label, trace] of Object.entries(traces)) {
    const { traceEvents } = perfettoTrace(trace);
    for (const event of traceEvents) events.push(moved(event, label, offset));
    offset += trace.devices.length + 1;
  }
  return { traceEvents: events, displayTimeUnit: 'ms' };
}

function moved(event: ChromeEvent, label: string, offset: number): ChromeEvent {
  const { name, pid, args } = event;
  const there = { ...event, pid: pid + offset };
  if (name === 'process_name') return { ...there, args: { name: `${label}: ${args?.name}` } };
  if (name === 'process_sort_index') return { ...there, args: { sort_index: Number(args?.sort_index) + offset } };
  return there;
}
