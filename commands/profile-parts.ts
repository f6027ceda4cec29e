import { withFile } from '../engine/gguf/file-source.ts';
import { modelFromGguf } from '../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { InputError } from '../engine/input/input-error.ts';
import { openKernels } from '../engine/kernels/open-kernels.ts';
import type { GpuKernels } from '../engine/kernels/webgpu/node-gpu.ts';
import { modelOperators } from '../engine/model/operators.ts';
import { createPartsProfiler, OTHER_STEPS, type PartsProfile } from '../engine/profile/parts-profile.ts';
import { coarseParts } from '../engine/schedule/tensor-partition/coarse-cuts.ts';
import { readCount, readList } from '../engine/terminal/options.ts';
import type { ShareProgress } from '../engine/terminal/progress.ts';

export interface PartsToProfile {
  /** A GGUF file. */
  readonly file: string;
  readonly lengths: readonly number[];
  readonly threads: number;
  readonly gpu: GpuKernels | undefined;
  readonly progress: ShareProgress;
}

export function readLengths(given: string): number[] {
  return readList('--lengths', given).map((item) => readCount('--lengths', item, 2, 100_000));
}

/** Measures parts of a model's products on CPU and GPU, for the tensor-partition solver. @throws InputError without a GPU */
export async function profilePartsOf({ file, lengths, threads, gpu, progress }: PartsToProfile): Promise<PartsProfile> {
  if (gpu === undefined)
    throw new InputError(
      '--parts-of',
      'needs a GPU to share products with; name one with --device (hearth inspect --devices)',
    );
  const model = modelFromGguf(withFile(file, readGguf));
  const format = model.tensors.find(({ role }) => role === 'ffn_down')?.quantization ?? 'Q8_0';
  const main = openKernels({ implementation: 'native', threads });
  const parts = coarseParts(modelOperators(model), lengths);
  let step = 0;
  const onPart = (label: string): void => progress.show(label, step++ / (parts.length + OTHER_STEPS));
  try {
    return await createPartsProfiler(model, { main, second: gpu.kernels, format, parts })(onPart);
  } finally {
    main.close();
    gpu.kernels.close();
  }
}
