import { accuracyOf } from '../papers/accuracy.ts';
import { errorText, medianText } from '../papers/text.ts';
import { type Column, cellText, tableBlock } from '../report/columns.ts';
import type { Section } from '../report/page/page.ts';
import { configurations, held, type Judged, judge, type Problem, priors, shown } from './problem.ts';
import { chooseValues, hasOneTable, type LeftOut, leaveOneOut } from './search.ts';

/** A table, each of whose cells is judged with values that were chosen without it. */
export interface LeftOutTable {
  readonly problem: Problem;
  readonly table: string;
  /** Unit that is left out at a time. */
  readonly unit: 'table' | 'configuration';
  /** The cells at the priors, with values chosen with them, and with values chosen without them. */
  readonly before: readonly Judged[];
  readonly after: readonly Judged[];
  readonly judged: readonly Judged[];
  readonly parts: readonly LeftOut[];
}

/** Leave-one-table-out on a testbed, table by table; one configuration at a time where it has a single table. */
export function leftOutTables(problem: Problem): LeftOutTable[] {
  const leftOut = leaveOneOut(problem);
  const before = judge(problem, priors(problem));
  const after = judge(problem, chooseValues(problem));
  const unit = hasOneTable(problem.cells) ? 'configuration' : 'table';
  return [...new Set(problem.cells.map(({ table }) => table))].map((table): LeftOutTable => {
    const own = ({ cell }: Judged): boolean => cell.table === table;
    const parts = leftOut.filter((one) => one.table === table);
    const judged = parts.flatMap((one) => one.judged);
    return { problem, table, unit, before: before.filter(own), after: after.filter(own), judged, parts };
  });
}

/** `9.5 % (−45.5 %)`: the median of absolute errors, and the largest with its sign. */
function errorsText(judged: readonly Judged[]): string {
  const accuracy = accuracyOf(judged.flatMap(({ error }) => error ?? []));
  return accuracy === undefined ? '–' : `${medianText('s', accuracy.median)} (${errorText('s', accuracy.worst)})`;
}

/** `RAM of D1 3.8 GiB, disks 1.5 to 1.8 GB/s`: values that left their priors in any of the choices. */
function valuesText({ problem: { unknowns }, parts }: LeftOutTable): string {
  const texts = unknowns.flatMap(({ name, prior, unit }): string[] => {
    const found = [...new Set(parts.map(({ values }) => values[name] ?? prior))].sort((one, other) => one - other);
    const [low = prior, high = prior] = [found[0], found.at(-1)];
    if (low === prior && high === prior) return [];
    return [`${name} ${low === high ? shown(low) : `${shown(low)} to ${shown(high)}`} ${unit}`];
  });
  return texts.join(', ') || 'the priors';
}

export const LEFT_OUT_COLUMNS: readonly Column<LeftOutTable>[] = [
  { title: 'testbed', key: 'testbed', value: ({ problem }) => problem.name, label: true },
  { title: 'table', key: 'table', value: ({ table }) => table, label: true },
  { title: 'left out\nat a time', key: 'left_out', value: ({ unit }) => `one ${unit}`, label: true },
  { title: 'cells', key: 'cells', value: ({ judged }) => judged.length, unit: 'count' },
  {
    title: 'configu-\nrations',
    key: 'configurations',
    value: ({ judged }) => configurations(judged.map(({ cell }) => cell)),
    unit: 'count',
  },
  { title: 'hold at\nthe priors', key: 'hold_prior', value: ({ before }) => held(before), unit: 'count' },
  { title: 'hold with\nthem', key: 'hold_with', value: ({ after }) => held(after), unit: 'count' },
  { title: 'hold without\nthem', key: 'hold_without', value: ({ judged }) => held(judged), unit: 'count' },
  { title: 'with them:\nmedian (worst)', key: 'errors_with', value: ({ after }) => errorsText(after), align: 'right' },
  {
    title: 'without them:\nmedian (worst)',
    key: 'errors_without',
    value: ({ judged }) => errorsText(judged),
    align: 'right',
  },
  { title: 'values without them, where they left their priors', key: 'values', value: valuesText, wraps: 'items' },
];

/** The section of a report on cells judged with values that were chosen without them. */
export function leftOutSection(rows: readonly LeftOutTable[]): Section {
  return {
    title: 'Cells judged with values that were chosen without them',
    blocks: [
      {
        kind: 'text',
        text: 'What prima.cpp’s paper leaves open about its testbeds is chosen with cells of its tables (experiments/consistency.ts). Here every cell is judged with values that were chosen without its table, or, where a testbed has one table only, without its configuration (a system with a model). A cell holds within ±30 %.',
      },
      tableBlock({ columns: LEFT_OUT_COLUMNS, rows, groups: true }),
    ],
  };
}

/** left-out.md: the same as a table of Markdown. */
export function leftOutMarkdown(rows: readonly LeftOutTable[]): string {
  const titles = LEFT_OUT_COLUMNS.map(({ title = '' }) => title.replace('-\n', '').replace('\n', ' '));
  const rule = LEFT_OUT_COLUMNS.map(({ unit, align }) => (unit === 'count' || align === 'right' ? '--:' : '---'));
  const lines = rows.map((row) => LEFT_OUT_COLUMNS.map((column) => cellText(column, row)));
  return [titles, rule, ...lines].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}
