import type { SocDevice } from '../hardware/soc.ts';
import type { StepCost } from './chip/phase.ts';
import { demandOf } from './chip/shared-memory.ts';

/** What binds a step of a chip, arithmetic or memory: of the part, GPU's or NPU's, that ends last. */
export function stepBound({ ends, gpu, npu }: StepCost, device: SocDevice): 'compute' | 'memory' {
  const work = Math.max(ends.first, ends.second);
  const [last, bandwidth] = ends.second > ends.first ? [npu, device.npu.bandwidth] : [gpu, device.gpu.bandwidth];
  return work > last.seconds || demandOf(last) >= bandwidth * (1 - 1e-12) ? 'memory' : 'compute';
}
