import { formatBytes } from '../engine/input/format.ts';
import type { Kernels } from '../engine/kernels/kernels.ts';
import { openGpuKernels } from '../engine/kernels/webgpu/node-gpu.ts';
import { expertBytes } from '../engine/model/model.ts';
import type { SplitPlan } from '../engine/plan/plan.ts';
import { openSplitModel, type SplitModel } from '../engine/runtime/split/split-transformer.ts';
import { createProgress } from '../engine/terminal/progress.ts';
import { type AutoRequest, planAutomatically, planWithLayers } from './gpu-layers.ts';
import type { GpuRequest } from './place-options.ts';

export interface SplitRequest extends Omit<AutoRequest, 'threads' | 'gpu' | 'profile' | 'log'> {
  readonly cpu: Kernels;
  readonly gpu: GpuRequest;
  /** Whether products round no activations (KernelOptions.exact). */
  readonly exact: boolean | undefined;
}

export interface OpenedSplit<Result> {
  readonly result: Result;
  close(): void;
}

/**
 * A model on CPU and GPU, with its weights where the plan puts them; `undefined` if it is best on the CPU alone.
 * @param bring what is made of the model under the plan, with what to call for each layer that came to the GPU
 * @throws InputError without such a GPU, for more layers than the model has, and as SplitModel does
 */
export async function openSplit<Result>(
  { cpu, gpu: { layers, cpuExperts, device, profile }, exact, ...asked }: SplitRequest,
  bring: (model: SplitModel, plan: SplitPlan, onLayer: (layer: number) => void) => Promise<Result>,
): Promise<OpenedSplit<Result> | undefined> {
  const { model, file, context, kvFormat: kvCache, paging } = asked;
  const { kernels: gpu, adapter } = await openGpuKernels({ adapter: device, exact });
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  let close = (): void => gpu.close();
  try {
    const plan =
      layers === 'auto'
        ? await planAutomatically({ ...asked, profile, threads: cpu.threads, gpu: device ?? adapter, log })
        : planWithLayers(model, layers, paging === undefined ? 'with-layers' : 'host', cpuExperts);
    if (plan === undefined) {
      close();
      return undefined;
    }
    const opened = openSplitModel(file, { cpu, gpu, context, kvCache, paging });
    close = () => {
      opened.close();
      gpu.close();
    };
    const onGpu = plan.stages.reduce((sum, { processor, from, to }) => sum + (processor === 'gpu' ? to - from : 0), 0);
    const progress = createProgress(onGpu);
    const brought = bring(opened, plan, (layer) => progress.step(`layer ${layer} to the GPU`));
    const result = await brought.finally(() => progress.stop());
    const away = plan.stages.reduce(
      (sum, { from, cpuExperts: own = 0 }) => sum + expertBytes(model, from, from + own),
      0,
    );
    const kept = away === 0 ? '' : `, with ${formatBytes(away)} of their experts on the CPU`;
    log(`${onGpu} of ${model.layers} layers on ${adapter}${kept}`);
    return { result, close };
  } catch (error) {
    close();
    throw error;
  }
}
