import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadPublished } from '../../../../datasets/load.ts';
import { policiesOf } from '../../../../experiments/papers/prima/policies.ts';
import { quantityOf } from '../../../../experiments/papers/prima/quantities.ts';
import { cellsOf, type PrimaComparison } from '../../../../experiments/papers/prima/rules.ts';
import { isMet, summarise } from '../../../../experiments/papers/prima/summary.ts';
import { PRIMA_TABLES, targetOf } from '../../../../experiments/papers/prima/tables.ts';

const table = PRIMA_TABLES.find(({ number }) => number === '8');
if (table === undefined) throw new Error('Table 8 is missing');
const [alone] = policiesOf('llama.cpp', '8');

/** llama.cpp's column of Table 8 with errors made up: 8B (fit), 14B, 30B, … */
function comparisons(errors: readonly number[]): PrimaComparison[] {
  const own = table as (typeof PRIMA_TABLES)[number];
  const cells = cellsOf(loadPublished(), own).filter(({ system }) => system === 'llama.cpp');
  return cells.map((cell, index) => {
    const aim = targetOf('8', 'llama.cpp', cell.model);
    return {
      paper: 'prima',
      cell,
      policy: 'alone',
      unit: 's',
      published: quantityOf(cell),
      noise: undefined,
      use: cell.use === 'fit' ? 'fit' : 'held-out',
      predicted: 1,
      simulated: 1,
      predictedError: errors[index],
      simulatedError: errors[index],
      target: aim?.limit,
      detail: { table: own, policy: alone, execution: undefined, aim, contradiction: undefined, seen: false },
    };
  });
}

test('cells with and without a target, held out and fit, are summarised separately', () => {
  const [aimed, others] = summarise(comparisons([0.5, 9, 0.01, -0.02, 0.03, -0.04, 0.05]), new Set());
  assert.equal(aimed?.models, ['Llama-1-30B', 'Llama-3-45B', 'Llama-3-60B', 'Llama-1-65B', 'Llama-3-70B']);
  assert.equal(aimed?.heldOut.predicted, { cells: 5, median: 0.03, worst: 0.05 });
  assert.is(aimed?.fit.predicted, undefined);
  assert.equal(others?.heldOut.predicted, { cells: 1, median: 9, worst: 9 });
  assert.equal(others?.fit.predicted, { cells: 1, median: 0.5, worst: 0.5 });
});

test('one cell beyond the limit is enough to miss the target', () => {
  const met = (errors: readonly number[]): (boolean | undefined)[] =>
    summarise(comparisons(errors), new Set()).map(isMet);
  assert.equal(met([0.5, 9, 0.01, -0.02, 0.03, -0.04, 0.05]), [true, undefined]);
  assert.equal(met([0.5, 9, 0.01, -0.02, 0.03, -0.06, 0.05]), [false, undefined]);
});

test('prima.cpp’s column is the program’s Halda; other readings stand next to it', () => {
  const names = (system: string): string[] => policiesOf(system, '4').map(({ name }) => name);
  assert.equal(names('prima.cpp'), [
    'halda-program',
    'halda-program, Eq. 15',
    'halda-program, two lists',
    'halda-program, line 13 of its source',
    'halda',
    'halda, any GPU',
    'halda-repaired',
    'optimum of Eq. 1',
    'ring-aware',
  ]);
  for (const system of ['llama.cpp', 'prima.cpp', 'prima.cpp-no-halda', 'prima.cpp-no-prefetch'])
    assert.equal(
      policiesOf(system, '4').map(({ claimed }, index) => claimed === (index === 0)),
      names(system).map(() => true),
    );
  // One acceptance rate is calibrated, so that nothing is claimed of drafts.
  assert.equal(
    policiesOf('prima.cpp-speculative', '10').map(({ name, claimed }) => [name, claimed]),
    [['halda-program, five drafted', false]],
  );
});

test.run();
