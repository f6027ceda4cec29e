import type { ProcessorKind } from '../hardware/device.ts';
import { createPlan } from './create-plan.ts';
import type { Plan, Stage } from './plan.ts';
import type { Prefetch } from './weights-policy.ts';

/**
 * The size of a device's window, the same in every round: `layers` (w), of which the last `gpuLayers` (n) run on the
 * GPU.
 */
export interface WindowSize {
  readonly device: string;
  readonly layers: number;
  readonly gpuLayers: number;
}

interface RingPlanParts {
  readonly scheduler: string;
  readonly head: string;
  readonly rounds: number;
  /** In ring order; windows without layers are omitted from the plan. */
  readonly windows: readonly WindowSize[];
  readonly outputProcessor?: ProcessorKind;
  /** How every device prefetches its windows; all leave releasing to their operating systems. */
  readonly prefetch?: Prefetch;
}

/** The plan of a pipelined ring: every round runs every device's window once (prima.cpp 3.1, Fig. 1). */
export function ringPlan({
  scheduler,
  head,
  rounds,
  windows,
  outputProcessor = 'cpu',
  prefetch = 'willneed',
}: RingPlanParts): Plan {
  const stages: Stage[] = [];
  let from = 0;
  const run = (device: string, processor: ProcessorKind, layers: number): void => {
    if (layers > 0) stages.push({ device, processor, from, to: from + layers });
    from += layers;
  };
  for (let round = 0; round < rounds; round++) {
    for (const { device, layers, gpuLayers } of windows) {
      run(device, 'cpu', layers - gpuLayers);
      run(device, 'gpu', gpuLayers);
    }
  }
  const holders = windows.filter((window) => window.layers > 0);
  return createPlan({
    scheduler,
    rounds: holders.length === 1 ? 1 : rounds,
    stages: holders.length === 1 ? mergeRounds(stages) : stages,
    embedding: { device: head, processor: 'cpu' },
    output: { device: head, processor: outputProcessor },
    weights: Object.fromEntries(holders.map(({ device }) => [device, { prefetch, release: 'none' }])),
    kvCache: 'with-layers',
  });
}

/** Stages of a single device, whose rounds are merged into one, since there is no ring to go around. */
function mergeRounds(stages: readonly Stage[]): Stage[] {
  const total = (processor: ProcessorKind): number =>
    stages.filter((stage) => stage.processor === processor).reduce((sum, stage) => sum + stage.to - stage.from, 0);
  const device = stages[0]?.device ?? '';
  const cpuLayers = total('cpu');
  const gpuLayers = total('gpu');
  return [
    { device, processor: 'cpu' as const, from: 0, to: cpuLayers },
    { device, processor: 'gpu' as const, from: cpuLayers, to: cpuLayers + gpuLayers },
  ].filter((stage) => stage.to > stage.from);
}
