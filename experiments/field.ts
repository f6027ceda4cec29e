import { ACCURACY_COLUMNS, loadFieldDevices } from '../datasets/field.ts';
import { fieldCells } from './field/cells.ts';
import type { JudgedCell } from './field/efficiency.ts';
import { contextOf, generationOf, programOf, sizeOf, sourceOf } from './field/groups.ts';
import { CELL_COLUMNS, factorText, fieldPage, GROUP_COLUMNS, shareText } from './field/report.ts';
import { type GroupErrors, groupErrors, spreads } from './field/statistics.ts';
import { tableCsv, tableJson, terminalTable } from './report/columns.ts';
import { toCsv } from './report/csv.ts';
import { runExperiment } from './report/experiment.ts';
import { median } from './report/median.ts';

await runExperiment({
  name: 'field',
  description:
    'Holds what the planner predicts from specifications against tokens per second that others published. Predictions were fixed before a value was read; an efficiency for every program is fitted on a third of the machines and judged on the others.',
  options: {},
  json: 'field.json',
  files: ['field.csv', 'accuracy.csv'],
  run() {
    const { cells, efficiencies, unpredicted, unfixed } = fieldCells();
    const judged = cells.filter(({ use }) => use === 'judged');
    const phaseOf = ({ known }: JudgedCell): string => known.test.phase;
    const tables = {
      totals: groupErrors(
        judged.toSorted((one, other) => Number(isPrefill(one)) - Number(isPrefill(other))),
        (cell) => `tier ${cell.measurement.tier}, ${phaseOf(cell)}`,
      ),
      programs: groupErrors(judged, programOf),
      sources: groupErrors(judged, sourceOf),
      contexts: groupErrors(judged, contextOf),
      sizes: groupErrors(judged, sizeOf),
      generations: groupErrors(judged, generationOf(loadFieldDevices())),
      efficiencies,
      floor: spreads(cells),
    };
    const table = { columns: CELL_COLUMNS, rows: cells };
    const counts = {
      measurements: cells.length + unpredicted.length,
      predicted: cells.length,
      judged: judged.length,
      machines: new Set(judged.map(({ known }) => known.machine)).size,
      unfixed: unfixed.length,
    };
    const findings = [
      ...tables.totals.map(sentence),
      `Where two sources measured the same, they differ by ${factorText(median(tables.floor.map(({ spread }) => spread)))} in the median of ${tables.floor.length} settings.`,
      `${unpredicted.length} measurements are not predicted, each with its reason on the page; ${unfixed.length} have no first prediction.`,
    ];
    return {
      subtitle: `${counts.measurements} measurements, ${counts.predicted} predicted, ${counts.judged} judged on ${counts.machines} machines`,
      findings,
      data: {
        counts,
        findings,
        totals: tables.totals,
        programs: tables.programs,
        sources: tables.sources,
        contexts: tables.contexts,
        sizes: tables.sizes,
        generations: tables.generations,
        efficiencies,
        floor: tables.floor,
        rows: tableJson(table),
        unpredicted: unpredicted.map(({ measurement: { row }, reason }) => ({ row, reason })),
      },
      text: [
        terminalTable({ columns: GROUP_COLUMNS, rows: tables.totals }),
        terminalTable({ columns: GROUP_COLUMNS, rows: tables.programs }),
      ],
      page: fieldPage(cells, unpredicted, tables),
      files: { 'field.csv': tableCsv(table), 'accuracy.csv': accuracyCsv(judged) },
    };
  },
});

/** How far predictions from specifications are off by kind of processor: what `hearth plan` says in addition to its own. */
function accuracyCsv(judged: readonly JudgedCell[]): string {
  const groups = groupErrors(judged, ({ known: { processor, count, test } }) =>
    [processor, count > 1 ? 'several' : 'one', test.phase].join('/'),
  );
  return toCsv(
    ACCURACY_COLUMNS,
    groups
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
      .map(({ name, cells, machines, plain }) => [
        ...name.split('/'),
        ...[cells, machines],
        ...[plain.median, plain.ninetieth].map((log) => Math.exp(log).toPrecision(3)),
      ]),
  );
}

/** Whether a cell comes second in the report. */
function isPrefill({ known }: JudgedCell): boolean {
  return known.test.phase === 'prefill';
}

function sentence({ name, cells, machines, plain, fitted }: GroupErrors): string {
  return `${capital(name)}, ${cells} cells of ${machines} machines: off by ${shareText(fitted.median)} in the median, 90 % within ${factorText(fitted.ninetieth)}, ${factorText(fitted.worst)} at worst; by specification alone ${shareText(plain.median)}, ${factorText(plain.ninetieth)} and ${factorText(plain.worst)}.`;
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
