import { formatPercent } from '../../../engine/input/format.ts';
import type { Figure } from '../../report/charts/chart.ts';
import { type Column, tableBlock } from '../../report/columns.ts';
import { errorTone } from '../../report/error-tone.ts';
import type { Block, Page, Section, TableBlock, Tone } from '../../report/page/page.ts';
import { againstPublished } from '../charts.ts';
import { type Answer, type Comparison, type Conflict, errorOf, isTest, outcomeAgrees } from '../comparison.ts';
import { type SummaryRow, summaryTable } from '../summary.ts';
import {
  answerColumns,
  conflictsSection,
  publishedColumn,
  TARGET_COLUMN,
  USE_COLUMN,
  type ValueText,
} from '../tables.ts';
import { errorText } from '../text.ts';
import { FITTED_CELLS, type HelmConstants } from './constants.ts';
import { constantsSection } from './constants-section.ts';
import type { ContextComparison } from './contexts.ts';
import { helmFindings } from './findings.ts';
import { helmSystemName, secondsOf } from './quantities.ts';
import type { Scaling } from './ratios.ts';
import { type HelmComparison, verdictOn } from './rules.ts';
import { type SplitCheck, splitAgrees } from './splits.ts';
import type { HelmResults } from './summary.ts';
import { HELM_TABLES, type HelmTable } from './tables.ts';

/** Half-width of the band in the chart. */
const BAND = 0.12;

export interface HelmReport extends HelmResults {
  readonly constants: HelmConstants;
  readonly summary: readonly SummaryRow[];
  readonly conflicts: readonly Conflict[];
}

/** Splits, every table cell by cell, what was fitted to what, and where the thesis contradicts itself. */
export function helmPage(report: HelmReport): Page {
  const { comparisons, constants, splits, summary, conflicts } = report;
  const fitted = FITTED_CELLS.reduce((sum, { cells }) => sum + cells.length, 0);
  return {
    title: 'HELM’s tables, cell by cell',
    subtitle: `RTX 4060, RTX 3090, L40S · Qwen3 4B to 32B in 16 bits · ${comparisons.length} cells, constants fitted to ${fitted} of them`,
    summary: helmFindings(summary, comparisons),
    sections: [
      {
        title: 'How close it comes',
        blocks: [
          {
            kind: 'chart',
            title: 'Published and reproduced seconds',
            note: 'Every point is a cell: in the band within ±12 %, above it the workbench is too slow. Hollow: a constant was fitted to this quantity. Both answers agree, since nothing overlaps: the GPU’s part waits for the CPU’s.',
            choose: 'Show',
            variants: (['predicted', 'simulated'] as const).map((answer) => ({
              label: answer,
              figure: secondsChart(comparisons, answer),
            })),
          },
          tableBlock({ ...summaryTable(summary), sparse: true }),
        ],
      },
      splitSection(splits),
      contextSection(report.contexts),
      ...HELM_TABLES.map((table) => tableSection(table, report)),
      constantsSection(constants),
      conflictsSection('Where the thesis contradicts itself', conflicts),
    ],
  };
}

/** A colour and a mark per system; cells that were fitted to are hollow. */
function secondsChart(comparisons: readonly HelmComparison[], answer: Answer): Figure {
  const shown = comparisons.filter((one) => typeof one.published === 'number' && typeof one[answer] === 'number');
  return againstPublished({
    answer,
    quantity: '',
    band: BAND,
    seconds: (figure, { unit, detail }) => secondsOf(figure, unit, detail.quantity.batch),
    hover: ({ cell, published, ...one }) => {
      const found = one[answer];
      const value = typeof found === 'number' ? found.toPrecision(3) : found;
      return `${cell.table}, ${cell.row}: ${cell.column}<br>published ${published} ${cell.unit}, ${answer} ${value}`;
    },
    series: [...new Set(shown.map(seriesName))].flatMap((name, index) =>
      (['held-out', 'fit'] as const).map((use) => ({
        name: use === 'fit' ? `${name} (fit)` : name,
        comparisons: shown.filter((one) => one.use === use && seriesName(one) === name),
        index,
        hollow: use === 'fit',
      })),
    ),
  });
}

/** Few enough series to be told apart. */
function seriesName({ detail: { quantity } }: HelmComparison): string {
  const { system, kind, batch } = quantity;
  const name = helmSystemName(system);
  if (system !== 'helm') return name;
  if (batch > 1) return `${name}, batches`;
  return kind === 'first' ? `${name}, TTFT` : `${name}, decoding`;
}

function splitSection(splits: readonly SplitCheck[]): Section {
  const agree = splits.filter(splitAgrees).length;
  return {
    title: 'Splits',
    blocks: [
      {
        kind: 'text',
        text: `${agree} of ${splits.length} printed splits are what the search finds (Algorithm 1, on the rates that the machines state). Units count the embedding and the output projection. All follow from one reserve of VRAM, which the two of the RTX 4060 are fitted to and the other three test.`,
      },
      tableBlock({
        columns: [
          { title: 'machine', value: ({ machine }) => machine, label: true },
          { title: 'model', value: ({ model }) => model, label: true },
          { title: 'printed in', value: ({ table }) => table, label: true },
          { title: 'published, CPU → GPU', value: ({ published }) => published.join(' → '), align: 'right' },
          {
            title: 'found',
            value: ({ found }) => found?.join(' → ') ?? 'none',
            align: 'right',
            tone: (one) => (splitAgrees(one) ? 'good' : 'bad'),
          },
          { title: 'W_act, bytes', value: ({ boundaryBytes }) => boundaryBytes, unit: 'count' },
          { title: 'published', value: ({ publishedBytes }) => publishedBytes, unit: 'count' },
        ],
        rows: splits,
      }),
    ],
  };
}

/** Longest outputs, and what the next length lacks. */
function contextSection(contexts: readonly ContextComparison[]): Section {
  const text: ValueText<ContextComparison> = (value) =>
    typeof value === 'number' ? value.toLocaleString('en-US') : value === undefined ? '' : '×';
  const columns: readonly Column<ContextComparison>[] = [
    { title: 'machine and model', value: ({ cell }) => cell.row, label: true },
    { title: 'system', value: ({ detail }) => helmSystemName(detail.system), label: true },
    USE_COLUMN,
    publishedColumn(text),
    ...answerColumns('predicted', text, contextTone),
    ...answerColumns('simulated', text, contextTone),
    { title: 'verdict', value: ({ detail, use }) => (isTest({ use }) ? (detail.verdict ?? '') : ''), label: true },
    { title: 'what the next token lacks', value: ({ detail }) => detail.lack },
  ];
  return {
    title: 'Fig. 6.1: longest outputs',
    blocks: [
      {
        kind: 'text',
        text: 'By memory alone, after a prompt of 128 tokens. Lengths are taken to be doubled from 128 tokens, since all printed limits are such; a limit agrees within a factor of 1.5, which is equality here. Accelerate and DeepSpeed: a DynamicCache in PyTorch’s allocator, predicted by its closed form and simulated block by block; HELM: pages in VRAM and RAM; vLLM: 90 % of the VRAM. What the sizes of tensors leave unused hardly counts, as tensors grow together; none of the limits between 128 and 8192 of Accelerate and vLLM is one of memory (see the contradictions).',
      },
      tableBlock({ columns, rows: contexts, groups: true, sparse: true }),
    ],
  };
}

function contextTone({ use, detail }: ContextComparison): Tone | undefined {
  if (!isTest({ use })) return undefined;
  return detail.verdict === 'missed' ? 'bad' : 'good';
}

function tableSection({ table, title, note }: HelmTable, report: HelmReport): Section {
  const { comparisons, scalings, derived, rates } = report;
  const own = comparisons.filter(({ cell }) => table.test(cell.table));
  const blocks: Block[] = [
    { kind: 'text', text: note },
    ...[...new Set(own.map(columnOf))].map((column) =>
      cellTable(
        column,
        own.filter((one) => columnOf(one) === column),
      ),
    ),
    ...(title.startsWith('Table 6.2') ? [scalingTable(scalings)] : []),
    ...figureTables([...derived, ...rates].filter(({ cell }) => table.test(cell.table))),
    ...remarksTable(own),
  ];
  return { title, blocks };
}

/** `HELM, decoding`: the cells of a system in a unit stand together. */
function columnOf({ cell, detail: { quantity } }: HelmComparison): string {
  const metric = {
    token: cell.unit === 'tok/s' ? 'decoding' : 'time per token',
    first: 'TTFT',
    'cpu-stage': 'CPU’s part',
  };
  return `${helmSystemName(quantity.system)}, ${metric[quantity.kind]}`;
}

/** Cells of one table of the thesis, of one system and metric. */
function cellTable(title: string, rows: readonly HelmComparison[]): TableBlock {
  const isOneColumn = new Set(rows.map(({ cell }) => cell.column)).size === 1;
  const thesisError = (one: HelmComparison): number | undefined => errorOf(one.detail.thesis, one);
  const columns: readonly Column<HelmComparison>[] = [
    {
      title: 'cell',
      value: ({ cell }) => (isOneColumn ? cell.row : `${cell.row}, ${cell.column}`),
      label: isOneColumn,
    },
    USE_COLUMN,
    publishedColumn(valueText),
    { title: 'printed from … to', value: rangeText, align: 'right' },
    { title: 'T_plan + N δ̄', value: (one) => valueText(one.detail.thesis, one), align: 'right' },
    { title: 'error', value: thesisError, text: (one) => errorText('', thesisError(one)), align: 'right' },
    ...answerColumns('predicted', (value, one) => valueText(value, one) || 'not modelled', toneOf),
    ...answerColumns('simulated', valueText, toneOf),
    TARGET_COLUMN,
    { title: 'verdict', value: verdictText, label: true },
  ];
  return tableBlock({ columns, rows, sparse: true }, { title });
}

/** A figure in the unit of its cell; `×` for what failed. */
const valueText: ValueText<HelmComparison> = (found, { unit }) => {
  if (found === undefined) return '';
  if (typeof found === 'string') return found === 'failed' ? '×' : found;
  return `${numberText(found)} ${unit}`;
};

/** Prints that differ by rounding alone have no range worth showing. */
function rangeText({ detail: { range } }: HelmComparison): string {
  return range === undefined || range[1] / range[0] < 1.03 ? '' : range.map(numberText).join(' … ');
}

/** Three digits, and whole numbers from 100 on. */
function numberText(value: number): string {
  if (value >= 100) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function verdictText(one: HelmComparison): string {
  const verdict = isTest(one) ? verdictOn(one) : undefined;
  if (verdict !== undefined) return verdict;
  if (typeof one.published === 'number' && typeof one.predicted === 'number') return '';
  const agrees = outcomeAgrees(one);
  return agrees === undefined ? '' : agrees ? 'agrees' : 'disagrees';
}

/** Fitted cells have no tone, as they prove nothing; errors within the thesis's own spread are good. */
function toneOf(one: HelmComparison, answer: Answer): Tone | undefined {
  if (!isTest(one)) return undefined;
  const error = one[`${answer}Error`];
  if (error === undefined) return outcomeAgrees(one) === false ? 'bad' : undefined;
  return verdictOn(one) === 'within noise' ? 'good' : errorTone(error, one.target);
}

/** Why systems don't run or aren't modelled here, and what is known against cells; folded. */
function remarksTable(comparisons: readonly HelmComparison[]): TableBlock[] {
  const rows = comparisons.flatMap(({ cell, detail: { plan } }) => {
    const why = plan !== undefined && plan.outcome !== 'runs' ? plan.why : '';
    const remark = [why, cell.note].filter(Boolean).join('; ');
    return remark === '' ? [] : [{ cell, remark }];
  });
  if (rows.length === 0) return [];
  const columns: readonly Column<(typeof rows)[number]>[] = [
    { title: 'cell', value: ({ cell }) => `${cell.row}, ${cell.column}`, label: true },
    { title: 'remark', value: ({ remark }) => remark },
  ];
  return [tableBlock({ columns, rows }, { fold: `${rows.length} remarks on these cells` })];
}

/** Throughput of batches over that of one request, which leaves out what a machine takes for one. */
function scalingTable(rows: readonly Scaling[]): TableBlock {
  const columns: readonly Column<Scaling>[] = [
    { title: 'row', value: ({ cell }) => cell.row, label: true },
    { title: 'batch', value: ({ detail }) => detail.batch, unit: 'count' },
    USE_COLUMN,
    publishedColumn(ratioText(2)),
    ...answerColumns<Scaling>('predicted', ratioText(2), ({ use, predictedError = 0, target, detail }) => {
      if (!isTest({ use })) return undefined;
      return detail.verdict === 'within noise' ? 'good' : errorTone(predictedError, target);
    }),
    {
      title: 'printed range',
      value: ({ detail }) => detail.range.map((end) => end.toFixed(2)).join('–'),
      align: 'right',
    },
    { title: 'verdict', value: (one) => (isTest(one) ? one.detail.verdict : ''), label: true },
  ];
  const target = rows[0]?.target ?? 0;
  return tableBlock(
    { columns, rows, groups: true },
    { title: `Throughput over that of one request (target ±${100 * target} %)` },
  );
}

/** Figures that the thesis draws from others, and rates of its CPUs. */
function figureTables(rows: readonly Comparison[]): TableBlock[] {
  if (rows.length === 0) return [];
  const columns: readonly Column<Comparison>[] = [
    { title: 'cell', value: ({ cell }) => `${cell.table}, ${cell.row}: ${cell.column}` },
    USE_COLUMN,
    publishedColumn(figureText),
    ...answerColumns('predicted', figureText),
    ...answerColumns('simulated', figureText),
  ];
  return [tableBlock({ columns, rows, sparse: true }, { title: 'Figures drawn from others' })];
}

const figureText: ValueText<Comparison> = (value, { unit }) => {
  if (typeof value !== 'number') return value ?? '';
  if (unit === 'share') return formatPercent(value);
  return unit === 'x' ? `${value.toFixed(2)} ×` : `${numberText(value)} ${unit}`;
};

function ratioText(digits: number): ValueText<Comparison> {
  return (value) => (typeof value === 'number' ? `${value.toFixed(digits)} ×` : '');
}
