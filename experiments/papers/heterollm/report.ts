import { lineChart } from '../../report/charts/chart.ts';
import { colour } from '../../report/charts/colours.ts';
import { type Column, tableBlock } from '../../report/columns.ts';
import { median } from '../../report/median.ts';
import type { Page, Section } from '../../report/page/page.ts';
import { type Answer, type Conflict, inPoints, isTest } from '../comparison.ts';
import {
  bothAnswers,
  conflictsSection,
  publishedColumn,
  TARGET_COLUMN,
  USE_COLUMN,
  type ValueText,
} from '../tables.ts';
import { errorText, halfWidthText } from '../text.ts';
import { DISPLAY_RATE } from './game.ts';
import type { FigureComparison } from './rules/rule.ts';
import { HETEROLLM_FIGURES } from './rules.ts';

/** A figure as the paper prints it. */
const valueText: ValueText<FigureComparison> = (value, { detail }) => {
  if (typeof value !== 'number') return '';
  const { unit } = detail.rule;
  switch (unit) {
    case '%':
      return errorText('', value);
    case 'FPS':
      return `${(DISPLAY_RATE * value).toFixed(1)} FPS`;
    case 'share':
      return `${(100 * value).toFixed(1)} %`;
    case 'x':
      return `${value.toFixed(2)} ×`;
    case 'ms':
      return `${value.toFixed(value < 1000 ? 1 : 0)} ms`;
    case 'W':
    case 'tok/s':
      return `${value.toFixed(2)} ${unit}`;
  }
};

function nameOf({ cell, detail: { rule } }: FigureComparison): string {
  return `${cell.row}: ${cell.column}${rule.note === undefined ? '' : ` (${rule.note})`}`;
}

/** A figure on a terminal and a page. */
export const FIGURE_COLUMNS: readonly Column<FigureComparison>[] = [
  { title: 'cell', value: nameOf, wraps: true },
  USE_COLUMN,
  publishedColumn(valueText),
  ...bothAnswers(valueText),
  {
    title: 'noise',
    value: ({ noise }) => noise,
    text: ({ unit, noise }) => halfWidthText(unit, noise),
    align: 'right',
  },
  TARGET_COLUMN,
];

/** Tables of all figures with their errors, fitted ones marked; where the paper contradicts itself. */
export function heterollmPage(comparisons: readonly FigureComparison[], conflicts: readonly Conflict[]): Page {
  return {
    title: 'HeteroLLM’s figures, cell by cell',
    subtitle: `Snapdragon 8 Gen 3 · W4A16 · ${comparisons.length} figures, ${comparisons.filter(({ use }) => use === 'fit').length} of them fitted to`,
    summary: findings(comparisons),
    sections: [
      errorChart(comparisons),
      ...HETEROLLM_FIGURES.map((group): Section => {
        const rows = comparisons.filter(({ detail }) => detail.group === group);
        return {
          title: group.title,
          blocks: [{ kind: 'text', text: group.note }, tableBlock({ columns: FIGURE_COLUMNS, rows })],
        };
      }),
      conflictsSection('Where the paper contradicts itself', conflicts),
    ],
  };
}

/** The findings from the tables, in a few sentences. */
function findings(comparisons: readonly FigureComparison[]): string[] {
  const held = comparisons.filter((one) => isTest(one) && !inPoints(one.unit));
  const size = (one: FigureComparison, answer: Answer): number => Math.abs(one[`${answer}Error`] ?? 0);
  const errors = (answer: Answer): string => {
    const worst = held.reduce((one, other) => (size(other, answer) > size(one, answer) ? other : one));
    const middle = median(held.map((one) => size(one, answer)));
    return `median ${(100 * middle).toFixed(1)} %, worst ${(100 * size(worst, answer)).toFixed(0)} % (${worst.cell.row}: ${worst.cell.column})`;
  };
  const aimed = comparisons.filter(({ target }) => target !== undefined);
  const kept = (answer: Answer): number => aimed.filter((one) => size(one, answer) <= (one.target as number)).length;
  return [
    `Of ${comparisons.length} figures, ${held.length} are held out and neither gains nor shares, whose errors are in points. Predicted: ${errors('predicted')}. Simulated: ${errors('simulated')}.`,
    `Of ${aimed.length} with a target, ${kept('predicted')} keep it as predicted and ${kept('simulated')} as simulated.`,
    'Decoding has one fitted constant (the time of a hand-over), prefill three (the rates of NPU and GPU, and how fast a GPU expands weights), graph generation two, power two, a game’s frames one; each other engine has two.',
  ];
}

function errorChart(comparisons: readonly FigureComparison[]): Section {
  const numbers = comparisons.map((_, index) => index + 1);
  const series = (answer: Answer, ink: number, isFitted: boolean) => ({
    name: `${answer}, ${isFitted ? 'fitted' : 'held out'}`,
    colour: colour(ink),
    mode: 'markers' as const,
    symbol: isFitted ? ('circle-open' as const) : ('circle' as const),
    x: numbers,
    y: comparisons.map((one) => ((one.use === 'fit') === isFitted ? 100 * (one[`${answer}Error`] ?? 0) : null)),
    hover: comparisons.map((one) => {
      const { published, predicted, predictedError, unit } = one;
      const texts = [valueText(published, one), valueText(predicted, one), errorText(unit, predictedError)];
      return `${one.cell.row}: ${one.cell.column}<br>${texts.join(', ')}`;
    }),
  });
  return {
    title: 'How close it comes',
    blocks: [
      {
        kind: 'chart',
        title: 'Error of every figure (%; in points for gains and shares)',
        note: 'In the order of the tables below; the pointer names the cell. Hollow: constants were fitted to it. Far above: fast synchronisation on the small models, which the paper’s 2.2 × contradicts.',
        variants: [
          {
            label: 'all',
            figure: lineChart({
              x: { title: 'figure' },
              y: { title: 'error (%)' },
              series: [
                series('predicted', 0, false),
                series('predicted', 0, true),
                series('simulated', 1, false),
                series('simulated', 1, true),
              ],
            }),
          },
        ],
      },
    ],
  };
}
