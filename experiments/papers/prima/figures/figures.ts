import type { PublishedCell } from '../../../../datasets/published.ts';
import { type Column, tableBlock } from '../../../report/columns.ts';
import type { Section } from '../../../report/page/page.ts';
import { cellAt, compare, type Rule, useOf } from '../../comparison.ts';
import { type SummaryRow, summaryRow } from '../../summary.ts';
import { bothAnswers, publishedColumn, type ValueText } from '../../tables.ts';
import { FIGURE_8 } from './devices.ts';
import type { PaperFigure, PrimaFigureComparison } from './figure.ts';
import { ABLATION } from './prefetching.ts';
import { FIGURE_2 } from './rounds.ts';
import type { FigureRuns } from './runs.ts';
import { FIGURE_10 } from './schedulers.ts';

/** Numbers that the text draws from figures, and from tables by way of prefetching. */
export const PRIMA_FIGURES: readonly PaperFigure[] = [FIGURE_2, ABLATION, FIGURE_8, FIGURE_10];

/** Predicts and simulates every number. */
export function figureComparisons(
  runs: FigureRuns,
  published: readonly PublishedCell[],
  step: (label: string) => void,
): PrimaFigureComparison[] {
  const cells = published.filter(({ paper }) => paper === 'prima-cpp');
  const rules = PRIMA_FIGURES.flatMap((figure) =>
    figure.rules.map((rule): Rule<PrimaFigureComparison['detail']> => {
      const cell = cellAt(cells, rule);
      const scale = rule.unit === 'share' ? 100 : 1;
      const value = Number(cell.value) / scale;
      const noise = (cell.noise ?? 0) / scale;
      return {
        paper: 'prima',
        cell,
        policy: rule.policy,
        unit: rule.unit,
        published: value,
        noise: rule.unit === 'share' ? noise : noise / value,
        use: useOf(cell),
        answer: () => ({
          predicted: rule.value(runs, 'predicted', cell),
          simulated: rule.value(runs, 'simulated', cell),
          target: undefined,
          detail: { figure },
        }),
      };
    }),
  );
  return compare(rules, step);
}

/** A line for every figure and reading. */
export function figureSummary(comparisons: readonly PrimaFigureComparison[]): SummaryRow[] {
  return PRIMA_FIGURES.flatMap((figure) => {
    const own = comparisons.filter(({ detail }) => detail.figure === figure);
    return [...new Set(own.map(({ policy }) => policy))].map((policy) => {
      const mine = own.filter((one) => one.policy === policy);
      return summaryRow({
        paper: 'prima',
        table: figure.figure,
        what: `${figure.title}${policy === '' ? '' : `, under "${policy}"`}`,
        comparisons: mine,
        answer: 'simulated',
        shownAnswer: '',
        target: undefined,
        points: mine[0]?.unit === 'share',
      });
    });
  });
}

const valueText: ValueText<PrimaFigureComparison> = (value, { unit }) => {
  if (typeof value !== 'number') return value ?? '';
  return unit === 'share' ? `${(100 * value).toFixed(1)} %` : `${value.toFixed(2)} ×`;
};

const COLUMNS: readonly Column<PrimaFigureComparison>[] = [
  { title: 'what', value: ({ cell }) => `${cell.row}: ${cell.column}`, wraps: true },
  { title: 'reading', value: ({ policy }) => policy },
  publishedColumn(valueText),
  ...bothAnswers(valueText),
];

/** A section for every figure. @param remarks what follows from it, by figure */
export function figureSections(
  comparisons: readonly PrimaFigureComparison[],
  remarks: ReadonlyMap<PaperFigure, readonly string[]>,
): Section[] {
  return PRIMA_FIGURES.map((figure) => ({
    title: `${figure.figure}: ${figure.title}`,
    blocks: [
      { kind: 'text', text: figure.note },
      ...(remarks.get(figure) ?? []).map((text) => ({ kind: 'text', text }) as const),
      tableBlock(
        { columns: COLUMNS, rows: comparisons.filter(({ detail }) => detail.figure === figure), sparse: true },
        { title: 'Printed and computed' },
      ),
    ],
  }));
}
