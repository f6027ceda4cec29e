import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Reproduced } from '../../../../experiments/papers/paper.ts';

interface Cell {
  readonly row: string;
  readonly column: string;
  readonly predictedError: number;
  readonly simulatedError: number;
  readonly isFitted: boolean;
  readonly target?: number;
}

/** What HeteroLLM's figures have to come to. */
export function heterollmSpecification(heterollm: Reproduced): void {
  const { cells, contradictions } = JSON.parse(JSON.stringify(heterollm.data)) as {
    cells: Cell[];
    contradictions: { here: string }[];
  };

  test('every figure with a target keeps it, as predicted', () => {
    const aimed = cells.filter(({ target }) => target !== undefined);
    assert.is(aimed.length, 8);
    for (const { row, column, predictedError, target = 0 } of aimed) {
      assert.ok(Math.abs(predictedError) <= target, `${row}, ${column}: ${predictedError}`);
    }
  });

  test('thirteen figures are fitted to; the others are held out', () => {
    assert.is(cells.filter(({ isFitted }) => isFitted).length, 13);
    assert.is(cells.length, 51);
  });

  test('what the paper says twice is shown twice', () => {
    assert.is(contradictions.length, 9);
    assert.ok(contradictions.every(({ here }) => here.length > 0));
  });
}
