import type { LoadedCluster } from '../../../datasets/load.ts';
import { enumerate } from '../../../engine/terminal/format.ts';
import { provenanceSentence, statementsTable } from '../../lib/provenance.ts';
import type { Block, Report, ReportColumn, Section } from '../../lib/report.ts';
import { METRIC_NAMES, systemName } from '../text.ts';
import { calibrationSection } from './calibration-section.ts';
import { cellTable } from './cell-table.ts';
import { againstPublished } from './charts.ts';
import type { PrimaReproduction } from './compute.ts';
import { contradictionsSection } from './contradictions-section.ts';
import { filled } from './filled-table.ts';
import { reproductionFindings } from './findings.ts';
import { LLAMA_CPP, PRIMA_CPP } from './program.ts';
import { metricOf } from './quantities.ts';
import type { Comparison } from './rules.ts';
import { sensitivitySection } from './sensitivity-section.ts';
import type { PaperTable } from './tables.ts';
import { summaryRows } from './terminal.ts';

const SUMMARY_COLUMNS: readonly ReportColumn[] = [
  { title: 'table', label: true },
  { title: 'system', label: true },
  { title: 'policy', label: true },
  { title: 'cells', align: 'right' },
  { title: 'predicted: median (worst)', align: 'right' },
  { title: 'simulated: median (worst)', align: 'right' },
  { title: 'OOM agrees', align: 'right' },
  { title: 'target', align: 'right' },
  { title: 'met', label: true },
];

/** The report: what was found, a section per table, what was fitted, what uncertain inputs do, where inputs come from. */
export function reproductionReport(report: PrimaReproduction): Report {
  const { tables, comparisons, summaries, sensitivities, options } = report;
  return {
    title: 'prima.cpp’s tables, cell by cell',
    subtitle: `Tables ${enumerate(tables.map(({ number }) => number))} · ${comparisons.length} comparisons · ${tokensText(options)} (the paper states none of them)`,
    summary: reproductionFindings(comparisons, summaries).join(' '),
    sections: [
      overview(report),
      ...tables.map((table) => tableSection(table, comparisons)),
      ...contradictionsSection(comparisons),
      calibrationSection(comparisons),
      ...(sensitivities.length === 0 ? [] : [sensitivitySection(sensitivities)]),
      inputs(report.clusters),
    ],
  };
}

/** `room for 1024 tokens in llama.cpp and 256 in prima.cpp, all read, and a prompt of 6`. */
function tokensText({ reserved, context, prompt }: PrimaReproduction['options']): string {
  const own = `${LLAMA_CPP.room} tokens in llama.cpp and ${PRIMA_CPP.room} in prima.cpp`;
  const room = reserved === undefined ? own : `${reserved} tokens`;
  return `room for ${room}, ${context === undefined ? 'all' : `${context} of them`} read, and a prompt of ${prompt}`;
}

function overview({ comparisons, summaries }: PrimaReproduction): Section {
  const times = comparisons.some(({ cell }) => cell.metric === 'tpot');
  const chart: Block[] = times
    ? [
        {
          kind: 'chart',
          title: 'Published and reproduced time per output token',
          note: 'Every point is a cell. In the grey band it is within ±25 %; above it the workbench is too slow, below it too fast. Filled: memory as the paper states it; hollow: another policy of the same system.',
          choose: 'Show',
          variants: (['simulated', 'predicted'] as const).map((answer) => ({
            label: answer,
            figure: againstPublished(comparisons, answer),
          })),
        },
      ]
    : [];
  return {
    title: 'How close it comes',
    blocks: [
      ...chart,
      {
        kind: 'text',
        text: 'Medians and worst errors, over cells held out; cells that constants could be fitted to have lines of their own, and none were fitted. Under "met" is whether every cell keeps the target, in the answer that is claimed for the system. Errors of memory pressure are in percentage points (pp). In the tables below, policies that change nothing about a cell are left out.',
      },
      filled({ kind: 'table', columns: SUMMARY_COLUMNS, rows: summaryRows(summaries), groups: true }),
    ],
  };
}

function tableSection(table: PaperTable, comparisons: readonly Comparison[]): Section {
  const own = comparisons.filter((one) => one.table === table);
  const columns = [...new Set(own.map(columnOf))];
  return {
    title: `Table ${table.number}: ${table.title}`,
    blocks: [
      ...table.notes.map((text): Block => ({ kind: 'text', text })),
      ...columns.map((column) =>
        filled(
          cellTable(
            column,
            own.filter((one) => columnOf(one) === column),
          ),
        ),
      ),
    ],
  };
}

function columnOf({ cell }: Comparison): string {
  const metric = metricOf(cell);
  return `${systemName(cell.system)}, ${metric === undefined ? '' : METRIC_NAMES[metric]}`;
}

function inputs(clusters: ReadonlyMap<string, LoadedCluster>): Section {
  return {
    title: 'Where the inputs come from',
    blocks: [
      {
        kind: 'text',
        text: [...clusters.values()]
          .map(({ cluster, statements }) => provenanceSentence(cluster.name, statements))
          .join(' '),
      },
      ...[...clusters.values()].map(({ cluster, statements }) => statementsTable(cluster.name, statements)),
    ],
  };
}
