import { provenanceSentence, statementsTable } from '../../lib/provenance.ts';
import type { Block, Report, Section } from '../../lib/report.ts';
import { filled } from '../prima/filled-table.ts';
import { summaryTableBlock } from '../summary.ts';
import { helmCellTable, remarksTable } from './cell-table.ts';
import { helmScatter } from './charts.ts';
import type { HelmReproduction } from './compute.ts';
import { constantsSection } from './constants-section.ts';
import { FITTED_CELLS } from './fitted-cells.ts';
import { helmSystemName } from './groups.ts';
import type { HelmComparison } from './rules.ts';
import { scalingTable } from './scaling-table.ts';
import { helmSentence } from './sentence.ts';
import { speedupTable } from './speedup-table.ts';
import { type SplitCheck, splitAgrees } from './splits.ts';
import { HELM_TABLES, type HelmTable } from './tables.ts';

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
      ...HELM_TABLES.map((table) => tableSection(table, result)),
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

function tableSection({ table, title, note }: HelmTable, result: HelmReproduction): Section {
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
