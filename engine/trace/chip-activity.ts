import type { Activity, ChipActivity } from '../cost/energy.ts';
import { coveredSeconds, within } from './intervals.ts';
import { spanKind, type Trace } from './trace.ts';

/**
 * Activity of a device's GPU and NPU within `bounds`: a processor calculates in the seconds that its spans say, all of
 * them where they say nothing, and otherwise waits while it has a span. Stalls don't count, since it has no work then.
 */
export function chipActivity(
  { spans }: Trace,
  device: string,
  bounds: { readonly start: number; readonly end: number },
): ChipActivity {
  const activity = (lane: 'gpu' | 'npu'): Activity => {
    const own = spans.filter((span) => span.device === device && span.lane === lane && spanKind(span) !== 'stall');
    const busy = coveredSeconds(within(own, [bounds]));
    const calculating = own.reduce((sum, { start, end, args }) => {
      const inside = Math.max(0, Math.min(end, bounds.end) - Math.max(start, bounds.start));
      return inside === 0 ? sum : sum + (args.calculating ?? end - start) * (inside / (end - start));
    }, 0);
    return { calculating: Math.min(busy, calculating), waiting: Math.max(0, busy - calculating) };
  };
  return { seconds: bounds.end - bounds.start, gpu: activity('gpu'), npu: activity('npu') };
}
