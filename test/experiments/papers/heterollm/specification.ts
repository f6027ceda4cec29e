import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Reproduced } from '../../../../experiments/papers/paper.ts';
import { median } from '../../../../experiments/report/median.ts';

interface Cell {
  readonly row: string;
  readonly column: string;
  readonly predictedError: number;
  readonly simulated: number;
  readonly predicted?: number | null;
  readonly simulatedError: number;
  readonly unit: string;
  readonly isFitted: boolean;
  readonly target?: number;
}

/** The results required of HeteroLLM's figures. */
export function heterollmSpecification(heterollm: Reproduced): void {
  const { cells, contradictions } = JSON.parse(JSON.stringify(heterollm.data)) as {
    cells: Cell[];
    contradictions: { here: string }[];
  };

  test('in simulation all but one of eight figures with a target keep it', () => {
    const aimed = cells.filter(({ target }) => target !== undefined);
    assert.is(aimed.length, 8);
    const missed = aimed.filter(({ simulatedError, target = 0 }) => Math.abs(simulatedError) > target);
    assert.equal(
      missed.map(({ row, column }) => `${row}, ${column}`),
      ['Hetero-tensor, Llama-8B, prefill speed'],
    );
  });

  test('held-out figures other than gains and shares have a median error of at most 12 %', () => {
    const sizes = cells
      .filter(({ isFitted, unit }) => !isFitted && unit !== '%' && unit !== 'share')
      .map(({ simulatedError }) => Math.abs(simulatedError));
    assert.ok(median(sizes) <= 0.12, String(median(sizes)));
  });

  test('sixteen figures are fitted to; the others are held out', () => {
    assert.is(cells.filter(({ isFitted }) => isFitted).length, 16);
    assert.is(cells.length, 66);
  });

  test('beside a game, GPU-only takes all frames and the others none (5.5)', () => {
    const rates = cells.filter(({ column }) => column === 'frame rate of the game');
    assert.equal(
      rates.map(({ simulated }) => Math.round(60 * simulated)),
      [60, 60, 0],
    );
    assert.ok(rates.every((rate) => !('predicted' in rate) || rate.predicted === null));
  });

  test('what the paper says twice is shown twice', () => {
    assert.is(contradictions.length, 12);
    assert.ok(contradictions.every(({ here }) => here.length > 0));
  });
}
