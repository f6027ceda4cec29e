import { provenanceSentence, statementsTable } from '../provenance.ts';
import type { Block, Report, Section } from '../report.ts';
import { filled } from '../reproduce/filled-table.ts';
import { summaryTableBlock } from '../reproduce-all/summary-table.ts';
import { helmCellTable, remarksTable } from './cell-table.ts';
import { helmScatter } from './charts.ts';
import type { HelmComparison } from './comparisons.ts';
import type { HelmReproduction } from './compute.ts';
import { constantsSection } from './constants-section.ts';
import { FITTED_CELLS } from './fitted-cells.ts';
import { helmSystemName } from './groups.ts';
import { scalingTable } from './scaling-table.ts';
import { helmSentence } from './sentence.ts';
import { speedupTable } from './speedup-table.ts';
import { type SplitCheck, splitAgrees } from './splits.ts';

/** The tables that are shown, with what has to be known to read them. */
const TABLES: readonly { readonly table: RegExp; readonly title: string; readonly note: string }[] = [
  {
    table: /^Table 6\.1$/,
    title: 'Table 6.1: decoding and TTFT by machine, model and system',
    note: 'Eager PyTorch (HELM, Accelerate, DeepSpeed) takes about as long for a block whatever its size, as long as the GPU is done with it by then: 20 to 27 tok/s for 4B, 8B and 14B, on both servers. So a block takes the longer of its dispatch and its work. HELM’s TTFT on the L40S is twice its blocks’ dispatch, of which the thesis says nothing; the baselines’ isn’t. Accelerate’s 4B on the RTX 4060 takes 108 ms beyond that dispatch, where copying the six layers that don’t fit here would take 202 ms: more of them fit there than memory as stated allows.',
  },
  {
    table: /^Table 6\.2$/,
    title: 'Table 6.2: batches',
    note: 'A step of eight requests takes 2.7 to 3.5 times as long as one of one, where weights are read once for all of them (4.1.4): the roofline would leave it as it is. One share of a block’s dispatch is repeated for every further request. It can’t be one share for the 14B, whose second request costs 30 ms and whose next two cost 20 ms together.',
  },
  {
    table: /^Table 6\.3$/,
    title: 'Table 6.3: the CPU’s kernel',
    note: 'The fallback’s rate is stated for the laptop (3.7 GB/s), so splits on the servers are not modelled without the kernel.',
  },
  {
    table: /^Table 6\.4$/,
    title: 'Table 6.4: KV offload',
    note: 'Without KV offload a token takes twice as long even where all is in VRAM (L40S): a HuggingFace DynamicCache in place of HELM’s, whose cost no equation has. Not modelled.',
  },
  {
    table: /^Table 6\.5$/,
    title: 'Table 6.5: measured latencies',
    note: 'T_plan + N δ̄ with the thesis’s own numbers stands beside each: the "Pred." that the thesis prints can’t be derived from its equations.',
  },
  {
    table: /^(§|Fig)/,
    title: 'Text and figures',
    note: 'Latencies that the text prints beside the tables.',
  },
];

/** Splits, every table cell by cell, what was fitted to what, and where the thesis contradicts itself. */
export function helmReport(result: HelmReproduction): Report {
  const { comparisons, constants, clusters, splits, summary, conflicts } = result;
  const loaded = [...clusters.values()];
  const fitted = FITTED_CELLS.reduce((sum, { cells }) => sum + cells.length, 0);
  return {
    title: 'HELM’s tables, cell by cell',
    subtitle: `RTX 4060, RTX 3090, L40S · Qwen3 4B to 32B in 16 bits · ${comparisons.length} cells, constants fitted to ${fitted} of them`,
    summary: helmSentence(summary, comparisons),
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
              figure: helmScatter(comparisons, answer),
            })),
          },
          filled(summaryTableBlock(summary)),
        ],
      },
      splitSection(splits),
      ...TABLES.map((table) => tableSection(table, result)),
      constantsSection(constants),
      {
        title: 'Where the thesis contradicts itself',
        blocks: [
          {
            kind: 'table',
            columns: [{ title: 'what' }, { title: 'printed' }, { title: 'against it' }, { title: 'here' }],
            rows: conflicts.map(({ subject, printed, against, here }) => [subject, printed, against, here]),
          },
        ],
      },
      {
        title: 'Where the inputs come from',
        blocks: [
          { kind: 'text', text: loaded.map((one) => provenanceSentence(one.cluster.name, one.statements)).join(' ') },
          ...loaded.map((one) => statementsTable(one.cluster.name, one.statements)),
        ],
      },
    ],
  };
}

function tableSection({ table, title, note }: (typeof TABLES)[number], result: HelmReproduction): Section {
  const { comparisons: all, speedups } = result;
  const own = all.filter(({ cell }) => table.test(cell.table));
  const columns = [...new Set(own.map(columnOf))];
  const remarks = remarksTable(own);
  const blocks: Block[] = [
    { kind: 'text', text: note },
    ...columns.map((column) => {
      const cells = own.filter((one) => columnOf(one) === column);
      const isOneColumn = new Set(cells.map(({ cell }) => cell.column)).size === 1;
      return filled(helmCellTable(column, cells, isOneColumn));
    }),
    ...(title.startsWith('Table 6.2') ? [scalingTable(all)] : []),
    ...(title === 'Text and figures' ? [speedupTable(speedups)] : []),
    ...(remarks === undefined ? [] : [remarks]),
  ];
  return { title, blocks };
}

/** `HELM, tok/s`: the cells of a system in a unit stand together. */
function columnOf({ quantity, cell }: HelmComparison): string {
  const metric = {
    token: cell.unit === 'tok/s' ? 'decoding' : 'time per token',
    first: 'TTFT',
    'cpu-stage': 'CPU’s part',
  };
  return `${helmSystemName(quantity.system)}, ${metric[quantity.kind]}`;
}

function splitSection(splits: readonly SplitCheck[]): Section {
  const agree = splits.filter(splitAgrees).length;
  return {
    title: 'Splits',
    blocks: [
      {
        kind: 'text',
        text: `${agree} of ${splits.length} printed splits are what the search finds (Algorithm 1, on the rates that the machines state). Units count the embedding and the output projection. All follow from one reserve of VRAM, which the two of the RTX 4060 bound and the other three confirm.`,
      },
      {
        kind: 'table',
        columns: [
          { title: 'machine', label: true },
          { title: 'model', label: true },
          { title: 'printed in', label: true },
          { title: 'published, CPU → GPU', align: 'right' },
          { title: 'found', align: 'right' },
          { title: 'W_act, bytes', align: 'right' },
          { title: 'published', align: 'right' },
        ],
        rows: splits.map(({ machine, model, table, published, found, boundaryBytes, publishedBytes }) => [
          machine,
          model,
          table,
          published.join(' → '),
          found?.join(' → ') ?? 'none',
          String(boundaryBytes),
          publishedBytes === undefined ? '' : String(publishedBytes),
        ]),
        tones: splits.map((one) => [
          ...Array<undefined>(4).fill(undefined),
          splitAgrees(one) ? 'good' : 'bad',
          undefined,
          undefined,
        ]),
      },
    ],
  };
}
