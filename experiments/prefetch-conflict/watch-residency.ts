import { withFile } from '../../engine/gguf/file-source.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Model } from '../../engine/model/model.ts';
import { pagesOf } from '../../engine/runtime/weights/mapped-weights.ts';
import { weightsLayout } from '../../engine/runtime/weights/weights-layout.ts';
import type { Residency } from './residency.ts';

const SAMPLE_MILLISECONDS = 25;

/**
 * Samples which pages of a device's layers are in memory (mincore). Sampling from outside the device neither touches
 * pages nor charges them to a control group.
 * @param path file of the device's part of the model
 * @param layers the device's layers
 * @returns a function that stops sampling and returns the samples, with times in seconds since 1970
 */
export function watchResidency(path: string, model: Model, layers: readonly number[]): () => Residency[] {
  const kernels = openKernels({ implementation: 'native', threads: 1 });
  const pages = pagesOf(kernels, kernels.mapFile(path));
  const layout = weightsLayout(withFile(path, readGguf), model);
  const ranges = layers.map((layer) => layout.ranges(layer));
  const seen: Residency[] = [];
  const sample = (): void => {
    const shares = ranges.map((own) => {
      const resident = own.reduce((sum, range) => sum + pages.resident(range), 0);
      return resident / own.reduce((sum, { from, to }) => sum + to - from, 0);
    });
    seen.push({ time: (performance.timeOrigin + performance.now()) / 1000, shares });
  };
  const timer = setInterval(sample, SAMPLE_MILLISECONDS);
  return () => {
    clearInterval(timer);
    pages.close();
    kernels.close();
    return seen;
  };
}
