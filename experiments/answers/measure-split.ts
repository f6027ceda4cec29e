import type { Cluster } from '../../engine/hardware/cluster.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { openGpuKernels } from '../../engine/kernels/webgpu/node-gpu.ts';
import { validatePlan } from '../../engine/plan/validate-plan.ts';
import { clockFor } from '../../engine/profile/processor-clock.ts';
import { openSplitModel } from '../../engine/runtime/split/split-transformer.ts';
import {
  contextOf,
  drawnTokens,
  type MeasuredAnswer,
  ownCluster,
  type RingCase,
  type RunTimings,
  samplesOf,
  timedRun,
} from './measure-ring.ts';

type SplitCase = Omit<RingCase, 'gpu' | 'chip' | 'members' | 'keys' | 'memoryLimit'> & {
  /** The GPU's name; `undefined`: the fastest. */
  readonly device: string | undefined;
};

/**
 * Carries a plan out on this machine's CPU and GPU, where they share keys and values or experts, and measures it. Nothing is
 * recorded, so that no parts are known.
 * @throws InputError without such a GPU, and for a plan that the two can't carry out
 */
export async function measureSplit(asked: SplitCase): Promise<{ measured: MeasuredAnswer; cluster: Cluster }> {
  const { model: path, plan, kvFormat: kvCache, promptTokens, repeats, onRun } = asked;
  if (plan.kind !== 'split') throw new InputError(asked.file, `is of kind "${plan.kind}"; allowed: split`);
  const { opened: cpu, clock } = clockFor(() => openKernels(asked.kernels));
  const cluster = asked.cluster ?? (await ownCluster(asked, cpu.threads));
  const { kernels: gpu } = await openGpuKernels({ adapter: asked.device, exact: asked.kernels.exact });
  try {
    const opened = openSplitModel(path, { cpu, gpu, context: contextOf(asked), kvCache });
    try {
      validatePlan(plan, cluster, opened.model, asked.file);
      const transformer = await opened.on(plan);
      const tokens = drawnTokens(asked, opened.model.vocabularySize);
      const runs: RunTimings[] = [];
      for (let run = 0; run <= repeats; run++) {
        onRun(run === 0 ? 'first run' : `run ${run} of ${repeats}`);
        transformer.rewind(0);
        runs.push(await timedRun(transformer.evaluate, tokens, promptTokens, clock));
      }
      // A GPU's threads aren't counted.
      const samples = samplesOf(asked, runs.slice(1), 'wall');
      const phaseOf = (seconds: number) => ({ seconds, parts: undefined });
      return {
        cluster,
        measured: {
          ...{ samples, plan, clock: 'wall', trace: undefined, readBytes: undefined },
          ttft: phaseOf(samples.ttft.median),
          tpot: phaseOf(samples.tpot.median),
        },
      };
    } finally {
      opened.close();
    }
  } finally {
    gpu.close();
    cpu.close();
  }
}
