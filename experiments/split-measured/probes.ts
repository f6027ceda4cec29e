import type { Kernels } from '../../engine/kernels/kernels.ts';
import type { GpuKernels } from '../../engine/kernels/webgpu/node-gpu.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Quantization } from '../../engine/model/quantization.ts';
import { clusterFile } from '../../engine/profile/cluster-file.ts';
import type { DiskMeasures } from '../../engine/profile/disk.ts';
import { createGpuProbes } from '../../engine/profile/gpu-probes.ts';
import { THIS_HOST } from '../../engine/profile/memory/host.ts';
import { readMemory } from '../../engine/profile/memory/read-memory.ts';
import type { clockFor } from '../../engine/profile/processor-clock.ts';
import { createProcessorProbes } from '../../engine/profile/processor-probes.ts';
import { DEVICE } from './splits.ts';

interface Probed {
  readonly cpu: Kernels;
  readonly clock: ReturnType<typeof clockFor>['clock'];
  readonly gpu: GpuKernels;
  readonly model: Model;
  readonly weightsFile: string;
  readonly disk: DiskMeasures;
  /** Whether passes of several texts are probed too, which takes twice as long. */
  readonly passes: boolean;
}

/** The probes of `hearth profile` for both processors, in the formats that the model has. */
export async function openProbes({ cpu, clock, gpu, model, weightsFile, disk, passes }: Probed) {
  const used = model.tensors.filter(({ rows }) => rows > 1).map(({ quantization }) => quantization);
  // A cluster file states a rate for all other formats: that of F16.
  const formats = [...new Set<Quantization>([...used, 'F16'])];
  const weights = cpu.mapFile(weightsFile);
  const memory = readMemory(THIS_HOST);
  const bench = { kernels: cpu, clock, weights, weightBytes: weights.size };
  const onCpu = createProcessorProbes(bench, formats, { passes });
  const freeRam = memory.memory.available;
  const onGpu = await createGpuProbes({ gpu, cpu, weightsFile, formats, freeRam, passes });
  return {
    async round(): Promise<void> {
      await onCpu.round();
      await onGpu.round();
    },
    profile: (): string =>
      clusterFile({
        name: DEVICE,
        memory,
        disk,
        cache: undefined,
        cpu: onCpu.measures(),
        gpu: onGpu.measures(),
        instructionSet: cpu.instructionSet,
      }),
  };
}
