import { formatPercent } from '../../../engine/input/format.ts';
import { accuracyOf } from '../accuracy.ts';
import type { Aim } from '../aims.ts';
import { type Comparison, inPoints, isTest } from '../comparison.ts';
import { type OrderedPair, orderAgrees, orderedPairs } from './strategies.ts';

const MEDIAN = 0.12;

/** All strategies ordered as published, and a median error of at most 12 %. */
export function heterollmAims(comparisons: readonly Comparison[]): Aim[] {
  const pairs = orderedPairs(comparisons);
  const errors = comparisons.filter((one) => isTest(one) && !inPoints(one.unit));
  const accuracy = accuracyOf(errors.flatMap(({ simulatedError }) => simulatedError ?? []));
  return [
    orderAim(
      'strategies, pair by pair',
      pairs.filter(({ isStrategy }) => isStrategy),
    ),
    orderAim(
      'pairs with another program',
      pairs.filter(({ isStrategy }) => !isStrategy),
    ),
    {
      paper: 'heterollm',
      subject: 'all figures that nothing is fitted to, gains and shares apart',
      target: `median ≤ ${formatPercent(MEDIAN)}`,
      answer: 'simulated',
      found: accuracy === undefined ? '–' : `${(100 * accuracy.median).toFixed(1)} %`,
      isKept: accuracy !== undefined && accuracy.median <= MEDIAN,
    },
  ];
}

function orderAim(subject: string, pairs: readonly OrderedPair[]): Aim {
  const wrong = pairs.filter((pair) => !orderAgrees(pair));
  const names = wrong.map(
    ({ cell, faster, slower }) => `${faster} is not faster than ${slower} (${cell.split(',')[0]})`,
  );
  return {
    paper: 'heterollm',
    subject,
    target: 'ordered as printed',
    answer: 'simulated',
    found: [`${pairs.length - wrong.length} of ${pairs.length}`, ...names].join('; '),
    isKept: wrong.length === 0,
  };
}
