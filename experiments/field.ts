import { ACCURACY_COLUMNS, loadFieldDevices } from '../datasets/field.ts';
import { fieldCells, LAST_OF_FACTORS } from './field/cells.ts';
import { fieldEffects, isReproduced } from './field/effects.ts';
import { isDrawnToday, type JudgedCell } from './field/efficiency.ts';
import { contextOf, generationOf, kindOf, programOf, sizeOf, sourceOf } from './field/groups.ts';
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
    const { cells, efficiencies, shares, unpredicted, unfixed } = fieldCells();
    const judged = cells.filter(({ use }) => use === 'judged');
    const phaseOf = ({ known }: JudgedCell): string => known.test.phase;
    const tables = {
      totals: groupErrors(
        judged.toSorted((one, other) => placeOf(one) - placeOf(other)),
        (cell) => `${roundOf(cell)}tier ${cell.measurement.tier}, ${phaseOf(cell)}`,
      ),
      kinds: groupErrors(
        judged.filter(isLatest).toSorted((one, other) => placeOf(one) - placeOf(other)),
        (cell) => `${roundOf(cell)}${kindOf(cell)}, ${phaseOf(cell)}`,
      ),
      programs: groupErrors(judged, programOf),
      sources: groupErrors(judged, sourceOf),
      contexts: groupErrors(judged, contextOf),
      sizes: groupErrors(judged, sizeOf),
      generations: groupErrors(judged, generationOf(loadFieldDevices())),
      npus: groupErrors(
        cells.filter(({ known }) => known.processor === 'npu' && !isDrawnToday(known)),
        programOf,
      ),
      effects: fieldEffects(cells),
      ...{ efficiencies, shares },
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
        kinds: tables.kinds,
        npus: tables.npus,
        effects: tables.effects.map((effect) => ({ ...effect, right: isReproduced(effect) })),
        ...{ efficiencies, shares },
        floor: tables.floor,
        rows: tableJson(table),
        unpredicted: unpredicted.map(({ measurement: { row }, reason }) => ({ row, reason })),
      },
      text: [
        terminalTable({ columns: GROUP_COLUMNS, rows: tables.totals }),
        terminalTable({ columns: GROUP_COLUMNS, rows: tables.kinds }),
        terminalTable({ columns: GROUP_COLUMNS, rows: tables.programs }),
      ],
      page: fieldPage(cells, unpredicted, tables),
      files: { 'field.csv': tableCsv(table), 'accuracy.csv': accuracyCsv(judged) },
    };
  },
});

/**
 * How far predictions from specifications by the planner of today are off, by kind of processor: what `hearth plan` says in
 * addition to its own. Nothing is fitted to these machines.
 */
function accuracyCsv(judged: readonly JudgedCell[]): string {
  const todays = judged.map((cell) => ({ ...cell, error: cell.errorToday }));
  const groups = groupErrors(todays, ({ known: { processor, count, test } }) =>
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

/** Whether a cell was predicted with the mended descriptions of GPUs. */
function isLatest({ round }: JudgedCell): boolean {
  return round !== undefined && round > LAST_OF_FACTORS;
}

/** The name of a round; the first two are judged together, without one. */
function roundOf({ round = 0 }: JudgedCell): string {
  const names = ['', '', '', 'third round, ', 'fourth round, '];
  return names[round] ?? `round ${round}, `;
}

/** The place of a cell in the report: by rounds, the first two together, and prefill behind decode. */
function placeOf(cell: JudgedCell): number {
  const round = isLatest(cell) ? (cell.round ?? 0) : 0;
  return 2 * round + Number(cell.known.test.phase === 'prefill');
}

function sentence({ name, cells, machines, plain, fitted }: GroupErrors): string {
  return `${capital(name)}, ${cells} cells of ${machines} machine${machines === 1 ? '' : 's'}: off by ${shareText(fitted.median)} in the median, 90 % within ${factorText(fitted.ninetieth)}, ${factorText(fitted.worst)} at worst; by specification alone ${shareText(plain.median)}, ${factorText(plain.ninetieth)} and ${factorText(plain.worst)}.`;
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
