import { colour, lineChart } from '../../lib/chart.ts';
import { errorTone, tonesAt, USUAL_LIMIT } from '../../lib/error-tone.ts';
import { provenanceSentence, statementsTable } from '../../lib/provenance.ts';
import type { Report, ReportColumn, Section, TableBlock, Tone } from '../../lib/report.ts';
import { errorText, type SocComparison, valueText } from './comparisons.ts';
import type { HeterollmReproduction } from './compute.ts';
import type { Contradiction } from './contradictions.ts';
import { HETEROLLM_CELLS } from './rules.ts';
import { summaryOf } from './summary.ts';

export const COMPARISON_COLUMNS: readonly ReportColumn[] = [
  { title: 'cell' },
  { title: 'use', label: true },
  { title: 'published', align: 'right' },
  { title: 'predicted', align: 'right' },
  { title: 'error', align: 'right' },
  { title: 'simulated', align: 'right' },
  { title: 'error', align: 'right' },
  { title: 'noise', align: 'right' },
  { title: 'target', align: 'right' },
];

export function comparisonCells({ rule, cell, isFitted, ...found }: SocComparison): string[] {
  const { unit, target, note } = rule;
  return [
    `${cell.row}: ${cell.column}${note === undefined ? '' : ` (${note})`}`,
    isFitted ? 'fit' : 'held out',
    valueText(found.published, unit),
    valueText(found.predicted, unit),
    errorText(found.predictedError, unit),
    valueText(found.simulated, unit),
    errorText(found.simulatedError, unit),
    errorText(found.noise, unit).replace('+', '±'),
    target === undefined ? '' : `±${(100 * target).toFixed(0)} %`,
  ];
}

/** Tables of all cells with their errors, fitted ones marked; where the paper contradicts itself; where inputs come from. */
export function heterollmReport({ comparisons, conflicts, loaded }: HeterollmReproduction): Report {
  const { cluster, statements } = loaded;
  return {
    title: 'HeteroLLM’s figures, cell by cell',
    subtitle: `Snapdragon 8 Gen 3 · W4A16 · ${comparisons.length} figures, ${comparisons.filter(({ isFitted }) => isFitted).length} of them fitted to`,
    summary: summaryOf(comparisons),
    sections: [
      chart(comparisons),
      ...HETEROLLM_CELLS.map((group): Section => {
        const own = comparisons.filter((one) => one.group === group);
        return { title: group.title, blocks: [{ kind: 'text', text: group.note }, table(own)] };
      }),
      contradictionSection(conflicts),
      {
        title: 'Not modelled',
        blocks: [
          {
            kind: 'text',
            text: 'Interference with a game (§5.5, Fig. 18): the paper says nothing of the game’s kernels. MNN, MLC and llama.cpp are one rate each, fitted to Llama-8B; how their rates change with length and model is what the held-out cells above show to be missing.',
          },
        ],
      },
      {
        title: 'Where the inputs come from',
        blocks: [
          { kind: 'text', text: provenanceSentence(cluster.name, statements) },
          statementsTable(cluster.name, statements),
        ],
      },
    ],
  };
}

function table(comparisons: readonly SocComparison[]): TableBlock {
  return {
    kind: 'table',
    columns: COMPARISON_COLUMNS,
    rows: comparisons.map(comparisonCells),
    tones: comparisons.map((one) =>
      tonesAt(COMPARISON_COLUMNS.length, { 4: toneOf(one, one.predictedError), 6: toneOf(one, one.simulatedError) }),
    ),
  };
}

/** Green within the target (25 % where none is set), yellow within twice that. Fitted cells prove nothing. */
function toneOf({ rule, isFitted, noise }: SocComparison, error: number): Tone | undefined {
  if (isFitted) return undefined;
  return errorTone(error, Math.max(rule.target ?? USUAL_LIMIT, noise));
}

function chart(comparisons: readonly SocComparison[]): Section {
  const numbers = comparisons.map((_, index) => index + 1);
  const series = (name: string, ink: number, fitted: boolean, error: (one: SocComparison) => number) => ({
    name,
    colour: colour(ink),
    mode: 'markers' as const,
    symbol: fitted ? ('circle-open' as const) : ('circle' as const),
    x: numbers,
    y: comparisons.map((one) => (one.isFitted === fitted ? 100 * error(one) : null)),
    hover: comparisons.map(
      (one) => `${one.cell.row}: ${one.cell.column}<br>${comparisonCells(one).slice(2, 5).join(', ')}`,
    ),
  });
  return {
    title: 'How close it comes',
    blocks: [
      {
        kind: 'chart',
        title: 'Error of every figure (%)',
        note: 'In the order of the tables below; the pointer names the cell. Hollow: constants were fitted to it. Far above: fast synchronisation on the small models, which the paper’s 2.2 × contradicts.',
        variants: [
          {
            label: 'all',
            figure: lineChart({
              x: { title: 'figure' },
              y: { title: 'error (%)' },
              series: [
                series('predicted, held out', 0, false, (one) => one.predictedError),
                series('predicted, fitted', 0, true, (one) => one.predictedError),
                series('simulated, held out', 1, false, (one) => one.simulatedError),
                series('simulated, fitted', 1, true, (one) => one.simulatedError),
              ],
            }),
          },
        ],
      },
    ],
  };
}

function contradictionSection(conflicts: readonly Contradiction[]): Section {
  return {
    title: 'Where the paper contradicts itself',
    blocks: [
      {
        kind: 'table',
        columns: [{ title: 'what' }, { title: 'printed' }, { title: 'against it' }, { title: 'here' }],
        rows: conflicts.map(({ subject, printed, against, here }) => [subject, printed, against, here]),
      },
    ],
  };
}
