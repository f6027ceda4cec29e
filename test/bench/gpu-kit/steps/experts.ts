import { availableParallelism } from 'node:os';
import { planWithLayers } from '../../../../engine/commands/gpu-layers.ts';
import { formatSeconds } from '../../../../engine/input/format.ts';
import { openKernels } from '../../../../engine/kernels/open-kernels.ts';
import { openGpuKernels } from '../../../../engine/kernels/webgpu/node-gpu.ts';
import { openSplitModel } from '../../../../engine/runtime/split-transformer.ts';
import { splitRunner } from '../../../../experiments/split-measured/runner.ts';
import { kitModel, mixtureModel } from '../models.ts';
import type { Step } from '../step-tools.ts';

const TOKENS = { promptTokens: 128, outputTokens: 8 };
/** Tokens that a GPU in software processes in seconds. */
const SMALL_TOKENS = { promptTokens: 16, outputTokens: 4 };
/** Rounds that count; one more comes before them. */
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
    for (const cpuExperts of [0, Math.floor(layers / 2), layers]) {
      const plan = planWithLayers(model, 'all', 'with-layers', cpuExperts === 0 ? undefined : cpuExperts);
      runs.push({ cpuExperts, run: splitRunner(await on(plan), model, tokens) });
    }
    for (const { run } of runs) await run.once(); // brings weights to where they are used, and isn't counted
    let [longest, rounds] = [0, 0];
    while (rounds < MOST_ROUNDS && (rounds < 1 || tools.secondsLeft() > 1.2 * longest)) {
      const start = performance.now();
      for (const { cpuExperts, run } of runs) {
        await run.once();
        const { ttft, tpot } = run.measured();
        const about = { kind: 'experts', model: name, mix, cpuExperts, layers, ...tokens, threads } as const;
        tools.save({ ...about, measured: { ttft, tpot } });
      }
      longest = Math.max(longest, (performance.now() - start) / 1000);
      rounds++;
    }
    const each = runs.map(({ cpuExperts, run }) => `${cpuExperts}: ${formatSeconds(run.measured().tpot.median)}`);
    return `${name} ${mix}, a token with the experts of so many of ${layers} layers on the CPU: ${each.join(', ')}`;
  },
};
