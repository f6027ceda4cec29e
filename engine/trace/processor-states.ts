import { coveredSeconds, unite, within } from './intervals.ts';
import type { Trace } from './trace.ts';

/** Seconds between `start` and `end` in which neither, one, or both of a device's GPU and NPU are busy. */
export function processorStates(
  { spans }: Trace,
  device: string,
  bounds: { readonly start: number; readonly end: number },
): { readonly idle: number; readonly gpu: number; readonly npu: number; readonly both: number } {
  const busy = (lane: 'gpu' | 'npu') =>
    unite(
      within(
        spans.filter((span) => span.device === device && span.lane === lane),
        [bounds],
      ),
    );
  const [gpu, npu] = [busy('gpu'), busy('npu')];
  const both = coveredSeconds(within(gpu, npu));
  const [onGpu, onNpu] = [coveredSeconds(gpu) - both, coveredSeconds(npu) - both];
  return { idle: Math.max(0, bounds.end - bounds.start - onGpu - onNpu - both), gpu: onGpu, npu: onNpu, both };
}
