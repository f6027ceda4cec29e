import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { operatorCost, operatorParts } from '../../../engine/cost/operator-cost.ts';
import { graphLengths, type SocDevice } from '../../../engine/hardware/soc.ts';
import type { Operator } from '../../../engine/model/operators.ts';
import { GPU_ONLY, type Synchronisation } from '../../../engine/plan/tensor-partition.ts';
import { bestCut } from '../../../engine/schedule/tensor-partition/best-cut.ts';
import { near } from '../../support/near.ts';
import { TOY_SOC, toyChip } from '../../support/toy-soc.ts';

/** Every list of graphs up to a padding of one longest graph, in any order. */
function* allLists(tokens: number, lengths: readonly number[], before: readonly number[] = []): Generator<number[]> {
  const covered = before.reduce((sum, length) => sum + length, 0);
  if (before.length > 0) yield [...before];
  if (covered >= tokens) return;
  for (const length of lengths) {
    if (length <= (before.at(-1) ?? Number.POSITIVE_INFINITY)) yield* allLists(tokens, lengths, [...before, length]);
  }
}

/** The least T_total over every list of graphs and every number of rows that is a multiple of `alignment`. */
function bruteForce(
  device: SocDevice,
  operator: Operator,
  tokens: number,
  synchronisation: Synchronisation,
  alignment: number,
): number {
  const secondsOf = (npuRows: number, npuLengths: readonly number[]): number => {
    const cut = npuRows === 0 ? GPU_ONLY : { npuRows, npuLengths };
    return operatorCost(operatorParts({ operator, cut, tokens }, device), device, synchronisation).seconds;
  };
  let least = secondsOf(0, []);
  for (const list of allLists(tokens, graphLengths(device.soc.npu))) {
    for (let rows = alignment; rows < operator.rows; rows += alignment) least = Math.min(least, secondsOf(rows, list));
    least = Math.min(least, secondsOf(operator.rows, list));
  }
  return least;
}

const small = fc.record({
  rows: fc.integer({ min: 1, max: 40 }),
  columns: fc.integer({ min: 1, max: 20 }),
  weightBytes: fc.constantFrom(0, 0.5, 2, 8),
  tokens: fc.integer({ min: 2, max: 34 }),
  alignment: fc.constantFrom(1, 4, 7),
  synchronisation: fc.constantFrom<Synchronisation>('fast', 'naive'),
  gpuFlops: fc.constantFrom(16, 64, 300),
  npuFlops: fc.constantFrom(64, 128, 1000),
  tileLoad: fc.constantFrom(0, 0.2, 1),
  notify: fc.constantFrom(0, 0.5, 4),
  drained: fc.constantFrom(0, 3),
  bandwidth: fc.constantFrom(110, 150, 200),
});

test('the search equals brute force over every row count and every list of graphs', () => {
  fc.assert(
    fc.property(small, ({ rows, columns, weightBytes, tokens, alignment, synchronisation, ...given }) => {
      const { gpuFlops, npuFlops, tileLoad, notify, drained, bandwidth } = given;
      const chip = toyChip(
        {
          bandwidth,
          npu: { ...TOY_SOC.npu, tileLoad },
          gpu: { queued: 0, drained },
          synchronisation: { ...TOY_SOC.synchronisation, notify, copy: notify },
        },
        { gpuFlops, npuFlops },
      );
      const operator: Operator = { name: 'qkv', rows, columns, bytes: rows * columns * weightBytes };
      const { best } = bestCut({ device: chip, operator, tokens, synchronisation, rowAlignment: alignment });
      near(best.cost.seconds, bruteForce(chip, operator, tokens, synchronisation, alignment), 1e-12);
    }),
    { numRuns: 300 },
  );
});

test('by hand: 8 rows of 4 columns and 4 tokens', () => {
  const operator: Operator = { name: 'qkv', rows: 8, columns: 4, bytes: 0 };
  // GPU alone 2·8·4·4/64 = 4 s. NPU alone: one tile, 1 + 8/4 = 3 s, and 2 + 3 s of hand-over.
  const { best, byKind } = bestCut({
    device: toyChip(),
    operator,
    tokens: 4,
    synchronisation: 'fast',
    rowAlignment: 4,
  });
  assert.equal(
    byKind.map(({ kind, cost }) => [kind, cost.seconds]),
    [
      ['gpu', 4],
      ['row', 7],
      ['npu', 8],
    ],
  );
  assert.equal(best.cut, GPU_ONLY);
  // Without hand-over, 4 rows each: the NPU in 1 + 1 s, the GPU in 2 s.
  const free = toyChip({ gpu: { queued: 0, drained: 0 }, synchronisation: { copy: 0, sleep: 0, poll: 0, notify: 0 } });
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
