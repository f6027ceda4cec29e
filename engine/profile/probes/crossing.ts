import type { Kernels } from '../../kernels/kernels.ts';
import type { MultiplyOperation, Operation } from '../../kernels/operation.ts';
import type { WebgpuKernels } from '../../kernels/webgpu/webgpu-kernels.ts';
import { quantizedBytes } from '../../model/quantization.ts';
import { sampleOf } from '../sample.ts';
import { type Bench, secondsPerUnit } from './bench.ts';

/** Values of a hidden state, and enough that their bytes take most of the time. */
const FEW_VALUES = 2048;
const MANY_VALUES = 2 ** 20;

/** Bytes that go to the processor, and as many back, when few values cross. */
export const CROSSING_BYTES = 4 * FEW_VALUES;
export const LARGE_CROSSING_BYTES = 4 * MANY_VALUES;

/** Seconds that the CPU computes before it crosses: a stage of a few layers. */
const STAGE_SECONDS = 0.01;
/** Crossings of a measurement. */
const CROSSINGS = 12;
/** Weights of a small product, of which the CPU's stage has many and the GPU's has one. */
const [ROWS, COLUMNS] = [2048, 2048];

/** A GPU, and the CPU from which hidden states come. */
export interface CrossingBench {
  readonly gpu: WebgpuKernels;
  readonly cpu: Kernels;
}

/**
 * Measures the seconds in which a hidden state goes to a GPU, and back to the RAM, as a pass of a split model has them:
 * the CPU has computed with all its threads and the GPU nothing, so that the driver's threads sleep; then the GPU
 * computes, and this thread waits for it. What the GPU took by its own clock, and telling it, is subtracted; without
 * such a clock, it computes nothing. On SwiftShader a crossing takes ten times as long as one of many in a row.
 */
export function crossing(bench: CrossingBench): () => Promise<number> {
  return betweenStages(bench, FEW_VALUES);
}

/** Measures the seconds in which LARGE_CROSSING_BYTES go there, and back, in the same state. */
export function largeCrossing(bench: CrossingBench): () => Promise<number> {
  return betweenStages(bench, MANY_VALUES);
}

/** Measures the seconds of one of many crossings in a row, as probes have them that read their result every time. */
export function repeatedCrossing({ kernels, clock }: Bench): () => Promise<number> {
  const vector = kernels.vector(FEW_VALUES);
  return secondsPerUnit(clock, (units) => async () => {
    for (let unit = 0; unit < units; unit++) {
      kernels.write(vector);
      await kernels.read(vector);
    }
  });
}

function betweenStages({ gpu, cpu }: CrossingBench, values: number): () => Promise<number> {
  const [onCpu, onGpu] = [smallProduct(cpu), smallProduct(gpu)];
  const { deviceSeconds } = gpu;
  const vector = gpu.vector(values);
  const secondsOf = async (operations: readonly Operation[]): Promise<number> => {
    const start = performance.now();
    gpu.write(vector);
    const written = performance.now();
    gpu.run(operations);
    const told = performance.now();
    await gpu.read(vector);
    return (performance.now() - told + written - start) / 1000;
  };
  const once = async (): Promise<number> => {
    if (deviceSeconds === undefined) return await secondsOf([]);
    let seconds = 0;
    const computed = await deviceSeconds(async () => {
      seconds = await secondsOf([onGpu]);
    });
    return seconds - computed;
  };
  return async () => {
    const seconds: number[] = [];
    while (seconds.length < CROSSINGS) {
      for (const begun = performance.now(); performance.now() - begun < 1000 * STAGE_SECONDS; ) cpu.run([onCpu]);
      seconds.push(await once());
    }
    return sampleOf(seconds).median;
  };
}

/** A product of 2048 × 2048 weights and a token. */
export function smallProduct(kernels: Kernels): MultiplyOperation {
  const source = new Uint8Array(ROWS * quantizedBytes(COLUMNS, 'Q8_0')).fill(0x2a);
  const matrix = kernels.matrix({ source, type: 'Q8_0', rows: ROWS, columns: COLUMNS });
  return { kind: 'multiply', matrix, x: kernels.vector(COLUMNS), y: kernels.vector(ROWS) };
}
