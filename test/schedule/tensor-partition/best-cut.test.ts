import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { operatorCost, operatorParts } from '../../../engine/cost/chip/operator.ts';
import { graphLengths } from '../../../engine/hardware/chip.ts';
import type { Operator } from '../../../engine/model/operators.ts';
import { GPU_ONLY, type Synchronisation } from '../../../engine/plan/tensor-partition.ts';
import { bestCut, type CuttingProblem } from '../../../engine/schedule/tensor-partition/best-cut.ts';
import { graphLists } from '../../../engine/schedule/tensor-partition/graph-lists.ts';
import { near } from '../../support/near.ts';
import { TOY_SOC, toyChip } from '../../support/toy-chip.ts';

/** Every list of graphs with padding up to one longest graph, in any order. */
function* allLists(tokens: number, lengths: readonly number[], before: readonly number[] = []): Generator<number[]> {
  const covered = before.reduce((sum, length) => sum + length, 0);
  if (before.length > 0) yield [...before];
  if (covered >= tokens) return;
  for (const length of lengths) {
    if (length <= (before.at(-1) ?? Number.POSITIVE_INFINITY)) yield* allLists(tokens, lengths, [...before, length]);
  }
}

/** The least T_total over these lists of graphs and every number of rows that is a multiple of `alignment`. */
function bruteForce(problem: CuttingProblem, lists: Iterable<readonly number[]>): number {
  const { device, operator, tokens, synchronisation, rowAlignment = 1 } = problem;
  const secondsOf = (npuRows: number, npuLengths: readonly number[]): number => {
    const cut = npuRows === 0 ? GPU_ONLY : { npuRows, npuLengths };
    return operatorCost(operatorParts({ operator, cut, tokens }, device), device, synchronisation).seconds;
  };
  let least = secondsOf(0, []);
  for (const list of lists) {
    for (let rows = rowAlignment; rows < operator.rows; rows += rowAlignment) {
      least = Math.min(least, secondsOf(rows, list));
    }
    least = Math.min(least, secondsOf(operator.rows, list));
  }
  return least;
}

interface ToyChip {
  readonly gpuFlops: number;
  readonly npuFlops: number;
  readonly onChip: number;
  readonly dequantise: number;
  readonly notify: number;
  readonly drained: number;
  readonly bandwidth: number;
}

const chips: fc.Arbitrary<ToyChip> = fc.record({
  gpuFlops: fc.constantFrom(16, 64, 300),
  npuFlops: fc.constantFrom(64, 128, 1000),
  onChip: fc.constantFrom(64, 400, 2 ** 20),
  dequantise: fc.constantFrom(20, 200, Number.POSITIVE_INFINITY),
  notify: fc.constantFrom(0, 0.5, 4),
  drained: fc.constantFrom(0, 3),
  bandwidth: fc.constantFrom(110, 150, 200),
});

const small = (chip: typeof chips): fc.Arbitrary<CuttingProblem> =>
  fc
    .record({
      chip,
      rows: fc.integer({ min: 1, max: 40 }),
      columns: fc.integer({ min: 1, max: 20 }),
      weightBytes: fc.constantFrom(0, 0.5, 2, 8),
      tokens: fc.integer({ min: 2, max: 34 }),
      rowAlignment: fc.constantFrom(1, 4, 7),
      synchronisation: fc.constantFrom<Synchronisation>('fast', 'naive'),
    })
    .map(
      ({
        chip: { gpuFlops, npuFlops, onChip, dequantise, notify, drained, bandwidth },
        rows,
        columns,
        weightBytes,
        ...rest
      }) => ({
        ...rest,
        device: toyChip(
          {
            bandwidth,
            npu: { ...TOY_SOC.npu, onChip, dequantise },
            gpu: { queued: 0, drained, dequantise },
            synchronisation: { ...TOY_SOC.synchronisation, notify, copy: notify },
          },
          { gpuFlops, npuFlops },
        ),
        operator: { name: 'qkv', rows, columns, bytes: rows * columns * weightBytes },
      }),
    );

const LENGTHS = graphLengths(TOY_SOC.npu);

test('the search equals brute force over every row count and every list in graphLists', () => {
  fc.assert(
    fc.property(small(chips), (problem) => {
      near(bestCut(problem).best.cost.seconds, bruteForce(problem, graphLists(problem.tokens, LENGTHS)), 1e-12);
    }),
    { numRuns: 300 },
  );
});

test('omitted lists lose nothing if the bandwidth suffices for both and an empty queue is free', () => {
  const roomy = chips.map((chip) => ({ ...chip, bandwidth: 200, drained: 0 }));
  fc.assert(
    fc.property(small(roomy), (problem) => {
      near(bestCut(problem).best.cost.seconds, bruteForce(problem, allLists(problem.tokens, LENGTHS)), 1e-12);
    }),
    { numRuns: 300 },
  );
});

test('otherwise omitted lists, which slow the NPU and leave the GPU more bandwidth, gain at most a twentieth', () => {
  fc.assert(
    fc.property(small(chips), (problem) => {
      const least = bruteForce(problem, allLists(problem.tokens, LENGTHS));
      const found = bestCut(problem).best.cost.seconds;
      assert.ok(found >= least * (1 - 1e-12));
      assert.ok(found <= least * 1.05);
    }),
    { numRuns: 300 },
  );
});

test('the best cut of 8 rows of 4 columns and 4 tokens is the one computed by hand', () => {
  const operator: Operator = { name: 'qkv', rows: 8, columns: 4, bytes: 0 };
  // GPU alone 2·8·4·4/64 = 4 s. NPU alone: two tiles of 1 s, and 3 + 3 s of hand-over. Half each: GPU 2 s, NPU 1 s, 3 s.
  const { best, byKind } = bestCut({
    device: toyChip({ synchronisation: { ...TOY_SOC.synchronisation, notify: 3 } }),
    operator,
    tokens: 4,
    synchronisation: 'fast',
    rowAlignment: 4,
  });
  assert.equal(
    byKind.map(({ kind, cost }) => [kind, cost.seconds]),
    [
      ['gpu', 4],
      ['row', 5],
      ['npu', 8],
    ],
  );
  assert.equal(best.cut, GPU_ONLY);
  // Without hand-over, and 64 bytes of weights expanded in 1 s: 4 rows each, the NPU in 0.5 + 1 s, the GPU in 2 s.
  const free = toyChip({
    npu: { ...TOY_SOC.npu, dequantise: 64 },
    gpu: { ...TOY_SOC.gpu, drained: 0 },
    synchronisation: { copy: 0, sleep: 0, poll: 0, notify: 0 },
  });
  const found = bestCut({ device: free, operator, tokens: 4, synchronisation: 'fast', rowAlignment: 4 });
  assert.equal(found.best.cut, { npuRows: 4, npuLengths: [4] });
  assert.is(found.best.cost.seconds, 2);
});

test('kinds that are not allowed are not chosen', () => {
  const operator: Operator = { name: 'down', rows: 16, columns: 16, bytes: 0 };
  const problem = { device: toyChip(), operator, tokens: 10, synchronisation: 'fast', rowAlignment: 4 } as const;
  for (const kind of ['gpu', 'npu', 'sequence', 'multi-sequence', 'hybrid'] as const) {
    const { byKind } = bestCut({ ...problem, tokens: 15, kinds: [kind] });
    assert.equal(
      byKind.map((candidate) => candidate.kind),
      [kind],
    );
  }
  assert.throws(() => bestCut({ ...problem, kinds: ['row'] }), 'down has no cut of the kinds row');
});

test.run();
