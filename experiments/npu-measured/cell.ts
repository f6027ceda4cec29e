import type { ChipDevice } from '../../engine/hardware/chip.ts';
import { type KernelOptions, openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { ChipPlan } from '../../engine/plan/plan.ts';
import { type TimedRun, timedRun } from '../../engine/profile/quiet-runs.ts';
import { openStandIn } from '../../engine/ring/device/npu/stand-in.ts';
import { loadPartitionedTransformer } from '../../engine/runtime/cut/partitioned-transformer.ts';
import type { ChipSystemName } from '../../engine/schedule/tensor-partition/systems.ts';

export interface CellToOpen {
  readonly file: string;
  readonly model: Model;
  /** Kernels of the control thread, and of the NPU's. */
  readonly kernels: KernelOptions;
  readonly npuKernels: KernelOptions;
  /** The chip whose NPU is stood for. */
  readonly device: ChipDevice;
  readonly system: ChipSystemName;
  readonly plan: ChipPlan;
  readonly workload: Workload;
}

/** A system that is ready to run a prompt and the tokens after it. */
export interface OpenCell extends Pick<CellToOpen, 'system' | 'plan' | 'workload'> {
  /** Seconds of the prompt, and of a token, in every run so far. */
  readonly times: { readonly prefill: readonly TimedRun[]; readonly decode: readonly TimedRun[] };
  /** Runs it once. Graphs that are generated online are generated in each run. */
  run(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens kernels and a thread of its own for a system, so that systems can run in turn: what one leaves in memory is not
 * in the way of the others.
 */
export async function openCell(cell: CellToOpen): Promise<OpenCell> {
  const { file, model, kernels, npuKernels, device, system, plan, workload } = cell;
  const { promptTokens, outputTokens, context } = workload;
  const { partition } = plan.stages[0];
  const main = openKernels(kernels);
  const second = await openStandIn({
    ...{ file, model, device, kernels: npuKernels, partition, ownTokens: promptTokens },
    graphTokens: promptTokens + device.soc.npu.longestGraph,
  });
  const transformer = loadPartitionedTransformer(file, { main, second, partition, context });
  const token = (index: number): number => (7 * index + 1) % model.vocabularySize;
  const prompt = Array.from({ length: promptTokens }, (_, index) => token(index));
  const times = { prefill: [] as TimedRun[], decode: [] as TimedRun[] };
  return {
    ...{ system, plan, workload, times },
    async run() {
      second.forget();
      transformer.rewind(0);
      times.prefill.push(await timedRun(() => transformer.evaluate(prompt)));
      const decoding = async (): Promise<void> => {
        for (let index = 0; index < outputTokens; index++) await transformer.evaluate([token(promptTokens + index)]);
      };
      const { seconds, waited } = await timedRun(decoding);
      times.decode.push({ seconds: seconds / outputTokens, waited: waited / outputTokens });
    },
    async close() {
      transformer.close();
      main.close();
      await second.close();
    },
  };
}
