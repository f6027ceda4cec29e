import { createRingPredictor } from '../../engine/cost/predict-ring.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { ProcessorKind } from '../../engine/hardware/device.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { ringPlan, type Window } from '../../engine/plan/ring-plan.ts';
import type { OptimalOptions } from '../../engine/schedule/optimal.ts';
import { divisors, type SchedulingProblem } from '../../engine/schedule/scheduler.ts';

/** The least predicted TPOT of all plans there are, and how many can run; infinite if none can. */
export function bruteForce(
  { belief, model, workload, ...prediction }: SchedulingProblem,
  { output, headLayers, rounds = 'best' }: Pick<Required<OptimalOptions>, 'output' | 'headLayers'> & OptimalOptions,
): { readonly tokenSeconds: number; readonly runnable: number } {
  const predict = createRingPredictor(belief, model, workload, prediction);
  let tokenSeconds = Number.POSITIVE_INFINITY;
  let runnable = 0;
  for (const k of rounds === 'best' ? divisors(model.layers) : [rounds]) {
    for (const windows of allWindows(belief, model.layers / k)) {
      if (headLayers === 'must' && windows[0]?.layers === 0) continue;
      for (const outputProcessor of outputProcessors(belief, output)) {
        const breakdown = predict(plan(belief, k, windows, outputProcessor));
        if (breakdown.infeasible.length > 0) continue;
        runnable += 1;
        tokenSeconds = Math.min(tokenSeconds, breakdown.tokenSeconds);
      }
    }
  }
  return { tokenSeconds, runnable };
}

/** Every way to cut `layers` into a window per device, empty ones included, and each window between CPU and GPU. */
export function* allWindows({ devices }: Cluster, layers: number, device = 0): Generator<Window[]> {
  const { name, gpu } = devices[device] ?? {};
  if (name === undefined) {
    if (layers === 0) yield [];
    return;
  }
  const least = device === devices.length - 1 ? layers : 0;
  for (let own = least; own <= layers; own++) {
    for (const rest of allWindows({ devices } as Cluster, layers - own, device + 1)) {
      const mostOnGpu = gpu === undefined ? 0 : own;
      for (let gpuLayers = 0; gpuLayers <= mostOnGpu; gpuLayers++) {
        yield [{ device: name, layers: own, gpuLayers }, ...rest];
      }
    }
  }
}

function outputProcessors({ devices }: Cluster, output: 'any' | 'cpu'): ProcessorKind[] {
  return output === 'any' && devices[0]?.gpu !== undefined ? ['cpu', 'gpu'] : ['cpu'];
}

function plan(cluster: Cluster, rounds: number, windows: readonly Window[], outputProcessor: ProcessorKind): Plan {
  return ringPlan({ scheduler: 'brute force', head: cluster.devices[0]?.name ?? '', rounds, windows, outputProcessor });
}
