import { isProcessorLane, type Lane, type Trace } from './trace.ts';

/** A row of a timeline: a lane of a device, or the contents of its memory. */
export interface TimelineRow {
  readonly device: string;
  readonly lane: Lane | 'memory';
  /** Position of the row's middle, from the top down; a row is 1 high. */
  readonly y: number;
}

/** The counter drawn as a row for devices that have it. */
export const RESIDENT = 'resident weights (bytes)';

/** Vertical space between two devices. */
const GAP = 0.5;

/** One band per device: its processors, disk and link, then its memory. GPUs and NPUs without spans are omitted. */
export function timelineRows({ devices, spans, counters }: Trace): TimelineRow[] {
  let y = -1;
  return devices.flatMap(({ name, lanes }, index) => {
    const isShown = (lane: Lane): boolean =>
      !isProcessorLane(lane) || lane === 'cpu' || spans.some((span) => span.device === name && span.lane === lane);
    const hasCounter = counters.some((counter) => counter.device === name && counter.name === RESIDENT);
    if (index > 0) y += GAP;
    return [...lanes.filter(isShown), ...(hasCounter ? (['memory'] as const) : [])].map((lane): TimelineRow => {
      y += 1;
      return { device: name, lane, y };
    });
  });
}
