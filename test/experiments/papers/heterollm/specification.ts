import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Reproduced } from '../../../../experiments/papers/paper.ts';
import { median } from '../../../../experiments/report/median.ts';
import { near } from '../../../support/near.ts';

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

  test('figures that nothing is fitted to, other than gains and shares, keep the aimed median of 12 %', () => {
    const sizes = cells
      .filter(({ isFitted, unit }) => !isFitted && !['%', 'share', 'FPS'].includes(unit))
      .map(({ simulatedError }) => Math.abs(simulatedError));
    near(median(sizes), 0.079, 0.001);
  });

  test('strategies come out in the printed order, but for Padding at 525 tokens', () => {
    const found = heterollm.aims.map((aim) => [aim.subject, aim.found, aim.isKept]);
    assert.equal(found, [
      ['strategies, pair by pair', '17 of 18; Padding is not faster than Online-prepare (§5.2.2)', false],
      ['pairs with another program', '22 of 22', true],
      ['all figures that nothing is fitted to, gains and shares apart', '7.9 %', true],
    ]);
  });

  test('seventeen figures are fitted to; nothing is to the others', () => {
    assert.is(cells.filter(({ isFitted }) => isFitted).length, 17);
    assert.is(cells.length, 67);
  });

  test('during a game, GPU-only takes all frames and the others none (5.5)', () => {
    const rates = cells.filter(({ column }) => column === 'frame rate of the game');
    assert.equal(
      rates.map(({ simulated }) => Math.round(60 * simulated)),
      [60, 60, 0],
    );
    assert.ok(rates.every((rate) => !('predicted' in rate) || rate.predicted === null));
  });

  test('GPU and NPU are fitted to one power each, and both together draw 36 % more than is printed (5.6)', () => {
    const own = (column: string): Cell => cells.find((cell) => cell.column === column) as Cell;
    near(own('power').simulatedError, 0, 0.001);
    near(own('power increase over Hetero-layer').simulatedError, 0.441, 0.005);
    near(own('energy efficiency over PPL-OpenCL').simulatedError, -0.26, 0.005);
    const bound = contradictions.find(({ here }) => here.includes('no powers of 0 or more'))?.here ?? '';
    assert.ok(bound.startsWith('3.73 W (+35.8 %)') && bound.includes('less than 3.04 W'), bound);
  });

  test('what the paper says twice is shown twice', () => {
    assert.is(contradictions.length, 12);
    assert.ok(contradictions.every(({ here }) => here.length > 0));
  });
}
