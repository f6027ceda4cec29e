import { availableParallelism } from 'node:os';
import { planWithLayers } from '../../../../commands/gpu-layers.ts';
import { formatSeconds } from '../../../../engine/input/format.ts';
import { openKernels } from '../../../../engine/kernels/open-kernels.ts';
import { openGpuKernels } from '../../../../engine/kernels/webgpu/node-gpu.ts';
import { openSplitModel } from '../../../../engine/runtime/split/split-transformer.ts';
import { splitRunner } from '../../../../experiments/split-measured/runner.ts';
import { kitModel, mixtureModel } from '../models.ts';
import type { Step } from '../step-tools.ts';

const TOKENS = { promptTokens: 128, outputTokens: 8 };
/** Tokens that a GPU in software processes in seconds. */
const SMALL_TOKENS = { promptTokens: 4, outputTokens: 2 };
/** Rounds that count; one more of each placement comes before them. */
const MOST_ROUNDS = 5;

/** A mixture with the experts of no layer, of half of the layers and of all on the CPU, by turns. */
export const experts: Step = {
  name: 'experts',
  title: 'experts on the CPU against on the GPU',
  weight: 6,
  async run(tools) {
    const { path, made } = await kitModel(tools.models, mixtureModel(tools.software));
    if (made !== undefined) tools.save(made);
    const tokens = tools.software ? SMALL_TOKENS : TOKENS;
    const threads = availableParallelism();
    const cpu = openKernels({ implementation: 'native', threads });
    const { kernels: gpu } = await openGpuKernels({ adapter: tools.device });
    const { model, on } = openSplitModel(path, { cpu, gpu, context: tokens.promptTokens + tokens.outputTokens });
    const { layers, name, mix } = model;
    const runs: { readonly cpuExperts: number; readonly run: ReturnType<typeof splitRunner> }[] = [];
    const measure = async ({ cpuExperts, run }: (typeof runs)[number]): Promise<void> => {
      await run.once();
      const { ttft, tpot } = run.measured();
      const about = { kind: 'experts', model: name, mix, cpuExperts, layers, ...tokens, threads } as const;
      tools.save({ ...about, measured: { ttft, tpot } });
    };
    let [longest, rounds] = [0, 1];
    // Both ends come before the middle, and each is measured at once: a run that is cut off has what it had time for.
    for (const cpuExperts of [0, layers, Math.floor(layers / 2)]) {
      const plan = planWithLayers(model, 'all', 'with-layers', cpuExperts === 0 ? undefined : cpuExperts);
      const one = { cpuExperts, run: splitRunner(await on(plan), model, tokens) };
      await one.run.once(); // brings weights to where they are used, and isn't counted
      const start = performance.now();
      await measure(one);
      longest += (performance.now() - start) / 1000;
      runs.push(one);
    }
    while (rounds < MOST_ROUNDS && tools.secondsLeft() > 1.2 * longest) {
      const start = performance.now();
      for (const one of runs) await measure(one);
      longest = Math.max(longest, (performance.now() - start) / 1000);
      rounds++;
    }
    const each = runs.map(({ cpuExperts, run }) => `${cpuExperts}: ${formatSeconds(run.measured().tpot.median)}`);
    return `${name} ${mix}, a token with the experts of so many of ${layers} layers on the CPU: ${each.join(', ')}`;
  },
};
