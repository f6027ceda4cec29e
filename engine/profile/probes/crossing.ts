import { type Bench, secondsPerUnit } from './bench.ts';

/** Values of a hidden state, and enough that their bytes take most of the time. */
const FEW_VALUES = 2048;
const MANY_VALUES = 2 ** 20;

/** Bytes that go to the processor, and as many back, when few values cross. */
export const CROSSING_BYTES = 4 * FEW_VALUES;

/** Measures the seconds in which a hidden state goes to a processor with memory of its own, and back to the RAM. */
export function crossing(bench: Bench): () => Promise<number> {
  return thereAndBack(bench, FEW_VALUES);
}

/** Measures the seconds in which LARGE_CROSSING_BYTES go to a processor with memory of its own, and back to the RAM. */
export function largeCrossing(bench: Bench): () => Promise<number> {
  return thereAndBack(bench, MANY_VALUES);
}

export const LARGE_CROSSING_BYTES = 4 * MANY_VALUES;

function thereAndBack({ kernels, clock }: Bench, values: number): () => Promise<number> {
  const vector = kernels.vector(values);
  return secondsPerUnit(clock, (units) => async () => {
    for (let unit = 0; unit < units; unit++) {
      kernels.write(vector);
      await kernels.read(vector);
    }
  });
}
