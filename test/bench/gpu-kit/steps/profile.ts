import { join } from 'node:path';
import { openKernels } from '../../../../engine/kernels/open-kernels.ts';
import { openGpuKernels } from '../../../../engine/kernels/webgpu/node-gpu.ts';
import { QUANTIZATIONS, type Quantization } from '../../../../engine/model/quantization.ts';
import { createGpuProbes, type GpuMeasures } from '../../../../engine/profile/gpu-probes.ts';
import { THIS_HOST } from '../../../../engine/profile/memory/host.ts';
import { readMemory } from '../../../../engine/profile/memory/read-memory.ts';
import { LARGE_CROSSING_BYTES } from '../../../../engine/profile/probes/crossing.ts';
import { DEPTHS } from '../../../../engine/profile/probes/small-pass.ts';
import { withWeightsFile } from '../../../../engine/profile/probes/weights-file.ts';
import { type Sample, scaled } from '../../../../engine/profile/sample.ts';
import type { Cell } from '../results.ts';
import type { Step } from '../step-tools.ts';

const FORMATS = ['F16', 'Q8_0', 'Q4_K', 'Q6_K', 'MXFP4'] as const satisfies readonly Quantization[];

/** Rounds of probes that count; after LEAST none begins that wouldn't end in time. */
const MOST_ROUNDS = 7;

/** The probes of `hearth profile --device`. */
export const profile: Step = {
  name: 'profile',
  title: 'bandwidth, arithmetic, dispatch, crossing, memory',
  weight: 8,
  async run({ device, models, save, secondsLeft }) {
    const gpu = await openGpuKernels({ adapter: device });
    const cpu = openKernels({ threads: 1 });
    const { available } = readMemory(THIS_HOST).memory;
    const weightsFile = join(models, `weights.${process.pid}.tmp`);
    return await withWeightsFile(weightsFile, 1, async () => {
      const probes = await createGpuProbes({ gpu, cpu, weightsFile, formats: FORMATS, freeRam: available });
      const cells = new Map<string, Quantity>();
      let longest = 0;
      let rounds = -1; // the first isn't counted
      while (rounds < MOST_ROUNDS && (rounds < 1 || secondsLeft() > 1.5 * longest)) {
        const start = performance.now();
        await probes.round();
        longest = Math.max(longest, (performance.now() - start) / 1000);
        rounds++;
        for (const cell of rounds === 0 ? [] : quantities(probes.measures())) {
          cells.set(cell.name, cell);
          save(cell);
        }
      }
      const rate = (name: string, unit: number): string => {
        const cell = cells.get(name);
        return cell === undefined ? '–' : (cell.median / unit).toPrecision(3);
      };
      return `${rounds} rounds: reads F16 at ${rate('reading F16', 1e9)} GB/s, multiplies at ${rate('multiplying F16', 1e12)} TFLOPS, a layer starts in ${rate('a layer', 1e-6)} µs, a crossing takes ${rate('crossing', 1e-6)} µs`;
    });
  },
};

type Quantity = Extract<Cell, { kind: 'quantity' }>;

function quantities({ processor, ...crossings }: GpuMeasures): Quantity[] {
  const of = (name: string, unit: Quantity['unit'], sample: Sample): Quantity => ({
    kind: 'quantity',
    name,
    unit,
    ...sample,
  });
  const { shallow, deep } = processor.smallPass;
  return [
    ...FORMATS.flatMap((type) => {
      const { bytes, block } = QUANTIZATIONS[type];
      const [vector, matrix] = [processor.vectorProducts.get(type), processor.matrixProducts.get(type)];
      return [
        ...(vector ? [of(`reading ${type}`, 'B/s', scaled(vector, bytes / block, 'inverse'))] : []),
        ...(matrix ? [of(`multiplying ${type}`, 'operations/s', scaled(matrix, 2, 'inverse'))] : []),
      ];
    }),
    of('attention from memory', 'B/s', processor.attentionFromMemory),
    of('attention from a cache', 'B/s', processor.attentionFromCache),
    of('activations', 'B/s', processor.activations),
    of('a layer', 's', {
      ...deep,
      median: (deep.median - shallow.median) / (DEPTHS.deep - DEPTHS.shallow),
    }),
    of('crossing', 's', crossings.crossing),
    of('copying', 'B/s', scaled(crossings.largeCrossing, 2 * LARGE_CROSSING_BYTES, 'inverse')),
    of('crossing again and again', 's', crossings.repeatedCrossing),
    of('memory', 'B', { median: crossings.memory.bytes, spread: 0, repeats: 1 }),
  ];
}
