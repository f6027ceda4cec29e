import type { Matrix } from '../../kernels/matrix.ts';
import type { Operation } from '../../kernels/operation.ts';
import { quantizedBytes } from '../../model/quantization.ts';
import { quietSample, type TimedRun, timedRun } from '../quiet-runs.ts';
import { type Bench, isCpu, secondsPerUnit } from './bench.ts';

/** Weights that are read before each run: more than caches keep of a run that comes again. */
const READ = { matrices: 12, rows: 1024, columns: 2048 };
const RUNS = 40;

/**
 * Measures the seconds of a run whose code and data caches have lost since the last one, as the weights of real layers
 * make them: on a CPU it takes up to four times as long then. Weights are read before each run, which is timed alone.
 */
export function afterWeights(bench: Bench, run: () => unknown): () => Promise<number> {
  const { kernels, clock } = bench;
  if (isCpu(bench)) {
    const read = weightsReading(bench);
    return async () => {
      const runs: TimedRun[] = [];
      while (runs.length < RUNS) {
        read();
        runs.push(await timedRun(run));
      }
      return quietSample(runs).median;
    };
  }
  const last = kernels.vector(1);
  return secondsPerUnit(clock, (times) => async () => {
    for (let time = 0; time < times; time++) {
      await run();
      await kernels.read(last);
    }
  });
}

/** Products with READ.matrices matrices that follow one another through the file. */
function weightsReading({ kernels, weights, weightBytes }: Bench): () => void {
  const { rows, columns } = READ;
  const bytes = rows * quantizedBytes(columns, 'F16');
  const matrices = Array.from({ length: Math.floor(weightBytes / bytes) }, (_, index) =>
    kernels.matrix({ source: weights, offset: index * bytes, type: 'F16', rows, columns }),
  );
  const [x, y] = [kernels.vector(columns), kernels.vector(rows)];
  let next = 0;
  const product = (): Operation => ({
    kind: 'multiply',
    matrix: matrices[next++ % matrices.length] as Matrix,
    ...{ x, y },
  });
  return () => kernels.run(Array.from({ length: READ.matrices }, product));
}
