import { createRingPredictor } from '../../engine/cost/ring.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Device, ProcessorKind } from '../../engine/hardware/device.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { ringPlan, type WindowSize } from '../../engine/plan/ring-plan.ts';
import type { Prefetch } from '../../engine/plan/weights-policy.ts';
import type { OptimalOptions } from '../../engine/schedule/exact/optimal.ts';
import { divisors, type SchedulingProblem } from '../../engine/schedule/scheduler.ts';

/** The least predicted TPOT over all plans; infinite if none is feasible. */
export function bruteForce(
  { belief, model, workload, ...prediction }: SchedulingProblem,
  { output = 'any', headLayers = 'may', rounds = 'best' }: OptimalOptions = {},
): number {
  const predict = createRingPredictor(belief, model, workload, prediction);
  let least = Number.POSITIVE_INFINITY;
  for (const k of rounds === 'best' ? divisors(model.layers) : [rounds]) {
    for (const windows of allWindows(belief.devices, model.layers / k)) {
      if (headLayers === 'must' && windows[0]?.layers === 0) continue;
      for (const outputProcessor of outputProcessors(belief, output)) {
        for (const prefetch of ['willneed', 'none'] as const) {
          const { infeasible, tokenSeconds } = predict(plan(belief, k, windows, outputProcessor, prefetch));
          if (infeasible.length === 0) least = Math.min(least, tokenSeconds);
        }
      }
    }
  }
  return least;
}

/**
 * Every division of `layers` into one window per device, including empty ones, with every split of each window between
 * CPU and GPU.
 */
function* allWindows([device, ...others]: readonly Device[], layers: number): Generator<WindowSize[]> {
  if (device === undefined) {
    if (layers === 0) yield [];
    return;
  }
  for (let own = others.length === 0 ? layers : 0; own <= layers; own++) {
    for (const rest of allWindows(others, layers - own)) {
      const mostOnGpu = device.gpu === undefined ? 0 : own;
      for (let gpuLayers = 0; gpuLayers <= mostOnGpu; gpuLayers++) {
        yield [{ device: device.name, layers: own, gpuLayers }, ...rest];
      }
    }
  }
}

function outputProcessors({ devices }: Cluster, output: 'any' | 'cpu'): ProcessorKind[] {
  return output === 'any' && devices[0]?.gpu !== undefined ? ['cpu', 'gpu'] : ['cpu'];
}

function plan(
  cluster: Cluster,
  rounds: number,
  windows: readonly WindowSize[],
  outputProcessor: ProcessorKind,
  prefetch: Prefetch,
): Plan {
  const head = cluster.devices[0]?.name ?? '';
  return ringPlan({ scheduler: 'brute force', head, rounds, windows, outputProcessor, prefetch });
}
