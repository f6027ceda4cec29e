import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { withFile } from '../../../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../../../engine/gguf/model-from-gguf.ts';
import { ownModule } from '../../../../engine/gguf/own-module.ts';
import { readGguf } from '../../../../engine/gguf/read-gguf.ts';
import { openKernels } from '../../../../engine/kernels/open-kernels.ts';
import { openGpuKernels } from '../../../../engine/kernels/webgpu/node-gpu.ts';
import type { MemberAddress } from '../../../../engine/ring/head/member.ts';
import { openSplitModel } from '../../../../engine/runtime/split/split-transformer.ts';
import { median } from '../../../../experiments/report/median.ts';
import { batchRuns } from '../../../../experiments/split-measured/batches.ts';
import { allSplits, type Split } from '../../../../experiments/split-measured/splits.ts';
import { headHere, requestOf, SETTINGS } from '../../../ring/ring-in-process.ts';
import { kitModel, splitModel } from '../models.ts';
import { RING_MEMORY, ringGpu } from '../ring-gpu.ts';
import type { RingWorkerTask } from '../ring-worker.ts';
import type { Step, StepTools } from '../step-tools.ts';

const BATCHES = [1, 4, 8, 16];
const TOKENS = { promptTokens: 64, outputTokens: 16 };
/** Tokens that a GPU in software computes in seconds. */
const SMALL_TOKENS = { promptTokens: 4, outputTokens: 2 };
/** Rounds over all batches; one more of each comes before them. */
const MOST_ROUNDS = 4;
const PAGE_TOKENS = 16;

/** Requests that decode together, and a ring of two processes with all layers on the GPU. */
export const together: Step = {
  name: 'together',
  title: 'batches of 1, 4, 8, 16; a ring of two processes',
  weight: 9,
  async run(tools) {
    const { path, made } = await kitModel(tools.models, splitModel(tools.software));
    if (made !== undefined) tools.save(made);
    const batches = await batchesOf(path, tools);
    return `${batches}; ${await ringOf(path, tools)}`;
  },
};

/** In at most half of the time, unless there is less than a batch in it. */
async function batchesOf(path: string, tools: StepTools): Promise<string> {
  const until = tools.secondsLeft() / 2;
  const tokens = tools.software ? SMALL_TOKENS : TOKENS;
  const cpu = openKernels({ threads: 1 });
  const gpu = await openGpuKernels({ adapter: tools.device });
  // A pass has at most as many tokens as a context.
  const context = Math.max(...BATCHES, tokens.promptTokens + tokens.outputTokens);
  const opened = openSplitModel(path, { cpu, gpu: gpu.kernels, context });
  const { model } = opened;
  const onGpu = allSplits(model)[0] as Split;
  const runs = await batchRuns(opened, onGpu, BATCHES, { model, ...tokens, pageTokens: PAGE_TOKENS });
  const steps = new Map<number, number>();
  let longest = 0;
  for (let round = 0; round < MOST_ROUNDS && (round === 0 || tools.secondsLeft() - longest > until); round++) {
    const start = performance.now();
    for (const { batch, once: run, measured } of runs) {
      if (tools.secondsLeft() < until) break;
      if (round === 0) await run(); // compiles, and isn't counted
      await run();
      const sample = measured();
      steps.set(batch, sample.median);
      const { promptTokens } = tokens;
      tools.save({ kind: 'batch', model: model.name, mix: model.mix, requests: batch, promptTokens, measured: sample });
    }
    longest = Math.max(longest, (performance.now() - start) / 1000);
  }
  opened.close();
  gpu.kernels.close();
  cpu.close();
  const rates = [...steps].map(([batch, seconds]) => `${batch}: ${(batch / seconds).toFixed(1)}`);
  return `tokens/s of batches ${rates.join(', ')}`;
}

/** Half of the layers in this process, half in another one, all on the same GPU, over loopback. */
async function ringOf(path: string, tools: StepTools): Promise<string> {
  const { promptTokens, outputTokens } = tools.software ? SMALL_TOKENS : TOKENS;
  const { path: file, args, execArgv } = ownModule(new URL('../ring-worker.ts', import.meta.url));
  const task: RingWorkerTask = { model: path, device: tools.device };
  const child = fork(file, [...args, JSON.stringify(task)], { execArgv: [...execArgv] });
  try {
    const [member] = (await Promise.race([once(child, 'message'), endOf(child)])) as [MemberAddress];
    const settings = { ...SETTINGS, kvCache: 'F16', trace: false } as const;
    const { head } = headHere(path, [member], { ...RING_MEMORY, settings, gpu: ringGpu(tools.device) });
    await head.gather();
    const { layers, name, mix, vocabularySize } = withFile(path, (bytes) => modelFromGguf(readGguf(bytes)));
    const half = Math.ceil(layers / 2);
    const windows = [
      { device: 'head', from: 0, to: half },
      { device: member.name, from: half, to: layers },
    ].map((window) => ({ ...window, onGpu: numbers(window.from, window.to) }));
    await head.assemble({ windows, weights: {}, onGpu: ['embedding', 'output'] });
    const token = (index: number): number => (7 * index + 1) % vocabularySize;
    const [firsts, laters]: [number[], number[]] = [[], []];
    const timed = async (run: () => Promise<unknown>): Promise<number> => {
      const start = performance.now();
      await run();
      return (performance.now() - start) / 1000;
    };
    for (let round = 0; round < 2; round++) {
      const request = requestOf(head);
      firsts.push(await timed(() => request.evaluate(numbers(0, promptTokens).map(token))));
      for (let index = 0; index < outputTokens; index++)
        laters.push(await timed(() => request.evaluate([token(index)])));
    }
    const [ttft, tpot] = [firsts.at(-1) as number, median(laters.slice(outputTokens))];
    tools.save({ kind: 'ring', model: name, mix, processes: 2, promptTokens, ttft, tpot });
    await head.close();
    return `a ring of two processes decodes ${(1 / tpot).toFixed(1)} tokens/s`;
  } finally {
    child.kill('SIGKILL');
  }
}

const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index);

/** Rejects if the process ends before it says anything. */
async function endOf(child: ChildProcess): Promise<never> {
  const [code] = await once(child, 'exit');
  throw new Error(`the ring’s second process ended (${code})`);
}
