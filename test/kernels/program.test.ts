import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Operation } from '../../engine/kernels/operation.ts';
import { testNative } from './native-sets.ts';
import { randomFrom, randomValues } from './random-from.ts';

const WIDTH = 32;
const VECTORS = 5;

/** Operations between vectors, given by number. */
const steps = fc.array(
  fc.record({
    what: fc.constantFrom('F32', 'Q8_0', 'add', 'rms-norm', 'gate', 'soft-cap'),
    from: fc.nat(VECTORS - 1),
    second: fc.nat(VECTORS - 1),
    to: fc.nat(VECTORS - 1),
    tokens: fc.constantFrom(1, 9),
  }),
  { minLength: 1, maxLength: 30 },
);
type Steps = typeof steps extends fc.Arbitrary<infer T> ? T : never;

/** The vectors after the steps, in one run or one run per step. */
function results(list: Steps, threads: number, atOnce: boolean): number[][] {
  const kernels = openKernels({ implementation: 'native', threads });
  const random = randomFrom(7);
  const weights = new Uint8Array(Float32Array.from(randomValues(random, WIDTH * WIDTH, 0.3)).buffer);
  const blocks = Uint8Array.from({ length: (WIDTH * WIDTH * 34) / 32 }, (_, i) =>
    i % 34 === 1 ? 0x20 : i % 34 === 0 ? 0 : 256 * random(),
  );
  const matrices = {
    F32: kernels.matrix({ source: weights, type: 'F32', rows: WIDTH, columns: WIDTH }),
    Q8_0: kernels.matrix({ source: blocks, type: 'Q8_0', rows: WIDTH, columns: WIDTH }),
  };
  const vectors = Array.from({ length: VECTORS }, () => kernels.vector(randomValues(random, 9 * WIDTH)));
  const ones = kernels.vector(new Float32Array(WIDTH).fill(1));
  const operations = list.flatMap(({ what, from, second, to, tokens }): Operation[] => {
    const part = (index: number) => vectors[index]!.slice(0, tokens * WIDTH);
    const [x, other, y] = [part(from), part(second), part(to)];
    switch (what) {
      case 'add':
        return from === to ? [] : [{ kind: 'add', x, y }];
      case 'rms-norm':
        return [{ kind: 'rms-norm', x, weight: ones, y, epsilon: 1e-5 }];
      case 'gate':
        return [{ kind: 'gate', activation: second === 0 ? 'gelu' : 'silu', gate: x, up: other, y }];
      case 'soft-cap':
        return [
          { kind: 'soft-cap', y, cap: 2 },
          { kind: 'scale', y: x, factor: 1.5 },
        ];
      default:
        return from === to
          ? []
          : [{ kind: 'multiply', matrix: matrices[what as 'F32'], x, y, accumulate: second === 0 }];
    }
  });
  if (atOnce) kernels.run(operations);
  else for (const operation of operations) kernels.run([operation]);
  const after = vectors.map(({ values }) => [...values]);
  kernels.close();
  return after;
}

testNative('operations in one run on three threads give, bit by bit, what they give one by one on one thread', () => {
  fc.assert(
    fc.property(steps, (list) => assert.equal(results(list, 3, true), results(list, 1, false))),
    { seed: 8, numRuns: 60 },
  );
});

testNative(
  'threads wait where an operation needs what another writes: a long chain is the same on three and on one',
  () => {
    const width = 256;
    const chain = (threads: number, tokens: number): number[] => {
      const kernels = openKernels({ implementation: 'native', threads });
      const random = randomFrom(9);
      const source = new Uint8Array(Float32Array.from(randomValues(random, width * width)).buffer);
      const matrix = kernels.matrix({ source, type: 'F32', rows: width, columns: width });
      const [x, y] = [kernels.vector(randomValues(random, tokens * width)), kernels.vector(tokens * width)];
      const weight = kernels.vector(new Float32Array(width).fill(1));
      const step: Operation[] = [
        { kind: 'multiply', matrix, x, y },
        { kind: 'rms-norm', x: y, weight, y: x, epsilon: 1e-5 },
      ];
      // Takes some milliseconds, so that the other threads take part.
      for (let run = 0; run < 30; run++) kernels.run(Array.from({ length: 100 }, () => step).flat());
      kernels.close();
      return [...x.values];
    };
    for (const tokens of [1, 9]) assert.equal(chain(3, tokens), chain(1, tokens), `${tokens} tokens`);
  },
);

testNative('more threads than processors only take longer', () => {
  const kernels = openKernels({ implementation: 'native', threads: 16, pin: true });
  const [x, y] = [kernels.vector([1, 2]), kernels.vector([10, 20])];
  for (let i = 0; i < 50; i++) kernels.run([{ kind: 'add', x, y }]);
  assert.equal([...y.values], [60, 120]);
  kernels.close();
});

test.run();
