import { setImmediate } from 'node:timers/promises';
import { type PartShape, shapeText } from '../cost/chip/part-times.ts';
import type { Kernels } from '../kernels/kernels.ts';
import type { Matrix } from '../kernels/matrix.ts';
import { type Quantization, quantizedBytes } from '../model/quantization.ts';
import type { MeasuredPart } from './measured-times.ts';
import { quietSample, type TimedRun, timedRun } from './quiet-runs.ts';
import { sampleOf } from './sample.ts';

/** Two processors that share products: one that computes when it is called, and one that computes at the same time. */
export interface PartProcessors {
  /** Has the GPU's part of a chip. */
  readonly main: Kernels;
  /** Has the NPU's. */
  readonly second: Kernels;
  /** Format of the weights. */
  readonly format: Quantization;
}

/** Products of parts, to be run again and again. */
export interface PartProducts {
  of(processor: MeasuredPart['processor'], shape: PartShape): () => Promise<void>;
}

/**
 * Prepares products of these shapes. They share activations, and weights of a size, so that memory is that of the largest
 * part, however many there are and however often they run.
 */
export function createPartProducts(processors: PartProcessors, shapes: readonly PartShape[]): PartProducts {
  const most = (of: (shape: PartShape) => number): number => Math.max(1, ...shapes.map(of));
  const [inputs, results] = [
    most(({ tokens, columns }) => tokens * columns),
    most(({ tokens, rows }) => tokens * rows),
  ];
  const on = (kernels: Kernels) => {
    const x = kernels.vector(new Float32Array(inputs).fill(0.01));
    const y = kernels.vector(results);
    const matrices = new Map<string, Matrix>();
    const matrixOf = ({ rows, columns }: PartShape): Matrix => {
      const key = `${rows} ${columns}`;
      const type = processors.format;
      const source = (): Uint8Array => new Uint8Array(rows * quantizedBytes(columns, type)).fill(WEIGHT_BYTE);
      const matrix = matrices.get(key) ?? kernels.matrix({ source: source(), type, rows, columns });
      matrices.set(key, matrix);
      return matrix;
    };
    return (shape: PartShape): (() => Promise<void>) => {
      const { rows, columns, tokens } = shape;
      const matrix = matrixOf(shape);
      const own = { x: x.slice(0, tokens * columns), y: y.slice(0, tokens * rows) };
      return async () => {
        kernels.write(own.x);
        kernels.run([{ kind: 'multiply', matrix, ...own }]);
        const reading = kernels.read(own.y);
        if (reading !== undefined) await reading;
      };
    };
  };
  const products = { gpu: on(processors.main), npu: on(processors.second) };
  return { of: (processor, shape) => products[processor](shape) };
}

export interface PartsToMeasure {
  readonly products: PartProducts;
  readonly parts: readonly Omit<MeasuredPart, 'seconds'>[];
  readonly onPart: (label: string) => void;
}

/** Runs of each part; one more comes before them. Fewer where they take more than LONG seconds. */
const REPEATS = 5;
const LONG = 0.2;
const LONG_REPEATS = 2;
/** A byte that makes a reasonable weight and a reasonable scale at any position in a block. */
const WEIGHT_BYTE = 0x2a;

/**
 * Runs every part by itself: the real-execution mode of HeteroLLM's profiler (4.3). The second processor's time includes
 * that x goes to it and y comes back.
 */
export async function measureParts({ parts, onPart, products }: PartsToMeasure): Promise<MeasuredPart[]> {
  const measured: MeasuredPart[] = [];
  for (const part of parts) {
    const { processor, ...shape } = part;
    onPart(`${processor === 'npu' ? 'GPU' : 'CPU'}: ${shapeText(shape)}`);
    const run = products.of(processor, shape);
    const first = await timedRun(run);
    const runs: TimedRun[] = [];
    const repeats = first.seconds > LONG ? LONG_REPEATS : REPEATS;
    while (runs.length < repeats) runs.push(await timedRun(run));
    measured.push({ ...part, seconds: quietSample(runs).median });
  }
  return measured;
}

/** Seconds for which the two processors are run side by side, and how often. */
const PACE_SECONDS = 0.15;
const PACE_ROUNDS = 5;

/**
 * The share of its speed that each processor keeps while the other one computes: the second runs products one after the
 * other, and the main one runs its own until they are done, compared with what both take alone.
 * @returns shares between 0 and 1
 */
export async function measurePaces(
  products: PartProducts,
  shape: PartShape,
): Promise<{ readonly gpu: number; readonly npu: number }> {
  const [mine, other] = [products.of('gpu', shape), products.of('npu', shape)];
  const alone = { gpu: await secondsOfOne(mine), npu: await secondsOfOne(other) };
  const count = Math.max(1, Math.round(PACE_SECONDS / alone.npu));
  const paces = { gpu: [] as number[], npu: [] as number[] };
  for (let round = 0; round < PACE_ROUNDS; round++) {
    let isDone = false;
    const inTurn = async (): Promise<void> => {
      for (let turn = 0; turn < count; turn++) await other();
    };
    const start = performance.now();
    const running = inTurn().then(() => {
      isDone = true;
    });
    let own = 0;
    while (!isDone) {
      await mine();
      own++;
      await setImmediate();
    }
    await running;
    const seconds = (performance.now() - start) / 1000;
    paces.gpu.push(Math.min(1, (own * alone.gpu) / seconds));
    paces.npu.push(Math.min(1, (count * alone.npu) / seconds));
  }
  return { gpu: sampleOf(paces.gpu).median, npu: sampleOf(paces.npu).median };
}

async function secondsOfOne(run: () => Promise<void>): Promise<number> {
  await run();
  const runs: TimedRun[] = [];
  while (runs.length < 2 * REPEATS) runs.push(await timedRun(run));
  return quietSample(runs).median;
}
