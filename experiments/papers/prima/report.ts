import { enumerate } from '../../../engine/input/format.ts';
import { layersText } from '../../../engine/plan/plan-text.ts';
import type { Figure } from '../../report/charts/chart.ts';
import { type Column, tableBlock } from '../../report/columns.ts';
import { errorTone, USUAL_LIMIT } from '../../report/error-tone.ts';
import type { Block, Page, Section, TableBlock, Tone } from '../../report/page/page.ts';
import { againstPublished } from '../charts.ts';
import { ANSWERS, type Answer, isUpperBound } from '../comparison.ts';
import { bothAnswers, type ValueText } from '../tables.ts';
import { halfWidthText, quantityText, rangeText, relativeErrorText } from '../text.ts';
import type { PaperFigure, PrimaFigureComparison } from './figures/figure.ts';
import { figureSections } from './figures/figures.ts';
import { primaFindings } from './findings.ts';
import type { PrimaOptions } from './options.ts';
import { LLAMA_CPP, PRIMA_CPP } from './program.ts';
import { METRIC_NAMES, metricOf, systemName } from './quantities.ts';
import type { PrimaComparison } from './rules.ts';
import { contradictionsSection, policiesSection, sensitivitySection } from './sections.ts';
import type { Sensitivity } from './sensitivity.ts';
import { primaSummaryTable, type Summary } from './summary.ts';
import { type PaperTable, tableName } from './tables.ts';

export interface PrimaReport {
  readonly tables: readonly PaperTable[];
  readonly comparisons: readonly PrimaComparison[];
  readonly summaries: readonly Summary[];
  readonly sensitivities: readonly Sensitivity[];
  readonly options: PrimaOptions;
  readonly figures: readonly PrimaFigureComparison[];
  readonly remarks: ReadonlyMap<PaperFigure, readonly string[]>;
}

/** The page: findings, a section per table, fitted constants, the effect of uncertain inputs. */
export function primaPage(report: PrimaReport): Page {
  const { tables, comparisons, summaries, sensitivities, options } = report;
  return {
    title: 'prima.cpp’s tables, cell by cell',
    subtitle: `Tables ${enumerate(tables.map(({ number }) => number))} · ${comparisons.length} comparisons · ${tokensText(options)} (the paper states none of them)`,
    summary: primaFindings(comparisons, summaries),
    sections: [
      overview(report),
      ...tables.map((table) => tableSection(table, comparisons)),
      ...figureSections(report.figures, report.remarks),
      ...contradictionsSection(comparisons),
      policiesSection(comparisons),
      ...(sensitivities.length === 0 ? [] : [sensitivitySection(sensitivities)]),
    ],
  };
}

/** `room for 1024 tokens in llama.cpp and 256 in prima.cpp, all read, and a prompt of 6`. */
function tokensText({ reserved, context, prompt }: PrimaOptions): string {
  const own = `${LLAMA_CPP.room} tokens in llama.cpp and ${PRIMA_CPP.room} in prima.cpp`;
  const room = reserved === undefined ? own : `${reserved} tokens`;
  return `room for ${room}, ${context === undefined ? 'all' : `${context} of them`} read, and a prompt of ${prompt}`;
}

function overview({ comparisons, summaries }: PrimaReport): Section {
  const hasTimes = comparisons.some(({ cell }) => cell.metric === 'tpot');
  const chart: Block = {
    kind: 'chart',
    title: 'Published and reproduced time per output token',
    note: 'Every point is a cell. In the grey band it is within ±25 %; above it the workbench is too slow, below it too fast. Filled: memory as the paper states it; hollow: another policy of the same system.',
    choose: 'Show',
    variants: (['simulated', 'predicted'] as const).map((answer) => ({
      label: answer,
      figure: timesChart(comparisons, answer),
    })),
  };
  return {
    title: 'How close it comes',
    blocks: [
      ...(hasTimes ? [chart] : []),
      {
        kind: 'text',
        text: 'Medians and worst errors, over cells held out; cells that constants could be fitted to have lines of their own, and none were fitted. Under "met" is whether every cell keeps the target, in the answer that is claimed for the system. Errors of memory pressure are in percentage points (pp). In the tables below, policies that change nothing about a cell are left out.',
      },
      tableBlock(primaSummaryTable(summaries)),
    ],
  };
}

/**
 * Cells with a target in the colour of their system, the first policy with filled marks; claimed cells without one are
 * pale.
 */
function timesChart(comparisons: readonly PrimaComparison[], answer: Answer): Figure {
  const claimed = comparisons.filter(({ cell, detail }) => cell.metric === 'tpot' && detail.policy?.claimed === true);
  const shown = claimed.filter((one) => typeof one.published === 'number' && typeof one[answer] === 'number');
  const aimed = shown.filter(({ target }) => target !== undefined);
  const systems = [...new Set(aimed.map(({ cell }) => cell.system))];
  return againstPublished({
    answer,
    quantity: ' TPOT',
    band: USUAL_LIMIT,
    least: [10, 100],
    seconds: (seconds) => seconds,
    hover: ({ cell: { table, row, system }, published, ...one }) => {
      const found = one[answer];
      const times = `published ${quantityText('s', published)}, ${answer} ${quantityText('s', found)}`;
      return `${table}, ${row}, ${systemName(system)}: ${times} (${relativeErrorText(one[`${answer}Error`] ?? 0)})`;
    },
    series: [
      {
        name: 'nothing claimed',
        comparisons: shown.filter(({ target }) => target === undefined),
        index: undefined,
        hollow: false,
      },
      ...systems.flatMap((system, index) => {
        const own = aimed.filter(({ cell }) => cell.system === system);
        return [...new Set(own.map(({ policy }) => policy))].map((policy, at) => ({
          name: `${systemName(system)}: ${policy}`,
          comparisons: own.filter((one) => one.policy === policy),
          index,
          hollow: at > 0,
        }));
      }),
    ],
  });
}

function tableSection(table: PaperTable, comparisons: readonly PrimaComparison[]): Section {
  const own = comparisons.filter(({ detail }) => detail.table === table);
  const columns = [...new Set(own.map(columnOf))];
  return {
    title: `${tableName(table)}: ${table.title}`,
    blocks: [
      ...table.notes.map((text): Block => ({ kind: 'text', text })),
      ...columns.map((column) =>
        cellTable(
          column,
          own.filter((one) => columnOf(one) === column),
        ),
      ),
    ],
  };
}

/** Memories' last digits leave the plan as it is where they move its time by less. */
const FLIPPED = 1.02;

function columnOf({ cell }: PrimaComparison): string {
  const metric = metricOf(cell);
  return `${systemName(cell.system)}, ${metric === undefined ? '' : METRIC_NAMES[metric]}`;
}

/** The cells of one column of a paper's table, under every policy that changes them. */
function cellTable(title: string, all: readonly PrimaComparison[]): TableBlock {
  const rows = all.filter((one) => !changesNothing(one, all));
  const isFirst = (one: PrimaComparison): boolean => rows.find(({ cell }) => cell === one.cell) === one;
  const once = (text: (one: PrimaComparison) => string) => (one: PrimaComparison) => (isFirst(one) ? text(one) : '');
  const columns: readonly Column<PrimaComparison>[] = [
    { title: 'cell', value: nameOf, label: true },
    {
      title: 'published',
      value: once((one) => `${isUpperBound(one.cell) ? '≤ ' : ''}${valueText(one.published, one)}`),
      align: 'right',
    },
    { title: 'noise', value: once(({ unit, noise }) => halfWidthText(unit, noise)), align: 'right' },
    { title: 'policy', value: ({ policy }) => policy || 'not modelled', label: true },
    ...bothAnswers(valueText, toneOf),
    {
      title: 'predicted within\nprinted digits',
      value: ({ unit, detail: { digits } }) =>
        digits === undefined || digits[1] < FLIPPED * digits[0] ? '' : rangeText(unit, digits),
      align: 'right',
    },
    {
      title: 'k',
      value: ({ cell, detail: { execution } }) =>
        cell.metric === 'tpot' && execution?.plan !== undefined ? String(execution.plan.rounds) : '',
      align: 'right',
    },
    {
      title: 'layers\n(CPU+GPU)',
      wraps: 'items',
      value: ({ cell, detail: { execution } }) =>
        cell.metric === 'memory-pressure' ? undefined : execution?.plan && layersText(execution.plan),
    },
    {
      title: 'note',
      value: once(({ cell, detail: { contradiction, execution } }) =>
        [contradiction && 'contradicted by the paper itself', execution?.why, cell.note].filter(Boolean).join('; '),
      ),
    },
  ];
  return tableBlock({ columns, rows, groups: true, sparse: true }, { title });
}

const valueText: ValueText<PrimaComparison> = (quantity, { unit }) => quantityText(unit, quantity);

/** The row, with a mark where constants could be fitted to the cell; Table 5 has a column per device. */
function nameOf({ cell, use }: PrimaComparison): string {
  const device = cell.metric === 'memory-pressure' ? ` ${cell.column.split(' ').at(-1)}` : '';
  return `${cell.row}${device}${use === 'fit' ? ' *' : ''}`;
}

/** Whether an alternative policy gives the same result as the system's main one. */
function changesNothing(one: PrimaComparison, all: readonly PrimaComparison[]): boolean {
  const main = all.find(({ cell }) => cell === one.cell);
  if (main === undefined || main === one) return false;
  const isSame = (answer: Answer): boolean =>
    one[answer] === undefined || valueText(one[answer], one) === valueText(main[answer], main);
  return valueText(one.predicted, one) === valueText(main.predicted, main) && ANSWERS.every(isSame);
}

/** Without a target the colour goes by ±25 %, but only where the policy is the claimed one. */
function toneOf({ target, cell, detail, ...one }: PrimaComparison, answer: Answer): Tone | undefined {
  const error = one[`${answer}Error`];
  if (error === undefined || detail.policy?.claimed !== true || cell.metric !== 'tpot') return undefined;
  return detail.contradiction === undefined ? errorTone(error, target) : undefined;
}
