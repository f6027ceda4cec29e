import { formatPercent } from '../../../engine/input/format.ts';
import { accuracyOf } from '../accuracy.ts';
import type { Aim } from '../aims.ts';
import { type Comparison, isTest } from '../comparison.ts';
import { mainReadings } from '../groups.ts';
import { errorText, medianText } from '../text.ts';
import type { PaperFigure, PrimaFigureComparison } from './figures/figure.ts';
import { ABLATION } from './figures/prefetching.ts';
import { FIGURE_2 } from './figures/rounds.ts';
import type { PrimaComparison } from './rules.ts';
import { AIM } from './schedulers.ts';

/** By what part prefetching is to reduce TPOT, model by model. */
const PREFETCHING = { least: 0.05, most: 0.25 } as const;
/** "About half", which the paper prints of rounds: within ten points. */
const HALF = { least: 0.4, most: 0.6 } as const;

/** Tables 4 and 8 and the blind cells, the ablation without prefetching, and the rounds of Fig. 2; as simulated. */
export function primaAims(comparisons: readonly PrimaComparison[], figures: readonly PrimaFigureComparison[]): Aim[] {
  const answered = comparisons.filter(({ cell, detail }) => cell.metric === 'tpot' && detail.policy !== undefined);
  const times = (mainReadings(answered) as PrimaComparison[]).filter(
    (one) => isTest(one) && typeof one.published === 'number',
  );
  const ofTables = (...numbers: string[]) => times.filter(({ detail }) => numbers.includes(detail.table.number));
  const ofPrima = ({ cell }: Comparison): boolean => cell.system === 'prima.cpp';
  const readings = (of: PaperFigure) => figures.filter(({ detail }) => detail.figure === of);
  return [
    errorAim('Table 4, TPOT of prima.cpp', ofTables('4').filter(ofPrima)),
    errorAim('Table 4, TPOT of all systems', ofTables('4')),
    errorAim('Table 8, TPOT of prima.cpp', ofTables('8').filter(ofPrima)),
    errorAim('Table 8, TPOT of all systems', ofTables('8')),
    errorAim('blind cells (first version), TPOT of prima.cpp', ofTables('v1-3', 'v1-6').filter(ofPrima)),
    rangeAim('prefetching, TPOT without it against with it, 30B to 70B (§4.2)', PREFETCHING, readings(ABLATION)),
    ...readings(FIGURE_2).map((one) => rangeAim(`rounds under ${one.policy}, k = 2 against 1 (Fig. 2)`, HALF, [one])),
  ];
}

/** A cell for which the system has no plan misses the aim. */
function errorAim(subject: string, comparisons: readonly Comparison[]): Aim {
  const accuracy = accuracyOf(comparisons.flatMap(({ simulatedError }) => simulatedError ?? []));
  const missing = comparisons.filter(({ simulatedError }) => simulatedError === undefined).length;
  const numbers = accuracy && `${medianText('s', accuracy.median)}, ${errorText('s', accuracy.worst)}`;
  const cells = `of ${comparisons.length - missing}`;
  return {
    paper: 'prima',
    subject,
    target: `median ≤ ${formatPercent(AIM.median)}, worst ≤ ${formatPercent(AIM.worst)}`,
    answer: 'simulated',
    found: `${numbers ?? '–'} ${cells}${missing === 0 ? '' : `; ${missing} without an answer`}`,
    isKept:
      missing === 0 && accuracy !== undefined && accuracy.median <= AIM.median && Math.abs(accuracy.worst) <= AIM.worst,
  };
}

/** All gains of a figure lie in a range. */
function rangeAim(
  subject: string,
  { least, most }: { readonly least: number; readonly most: number },
  comparisons: readonly Comparison[],
): Aim {
  const gains = comparisons.flatMap(({ simulated }) => (typeof simulated === 'number' ? [simulated] : []));
  return {
    paper: 'prima',
    subject,
    target: `${formatPercent(least)} to ${formatPercent(most)} less`,
    answer: 'simulated',
    found: [...new Set(gains.map((gain) => formatPercent(Math.round(1000 * gain) / 1000 || 0)))].join(' to ') || '–',
    isKept: gains.length === comparisons.length && gains.every((gain) => gain >= least && gain <= most),
  };
}
