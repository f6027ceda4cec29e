import type { UntriedFinding } from '../../datasets/experts.ts';
import { enumerate, formatDeviation, formatPercent, threeDigits } from '../../engine/input/format.ts';
import { lineChart } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { type Column, tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import type { Section } from '../report/page/page.ts';
import { SLOTS, type SlotsCurve } from './curves.ts';
import { SIZE_WITHIN } from './judge.ts';
import { type ContradictionRow, countRows } from './table.ts';

const valueText = ({ finding: { unit } }: ContradictionRow, value: number | undefined): string =>
  value === undefined ? '?' : unit === 'share' ? `${(100 * value).toFixed(0)} %` : threeDigits(value);

const seriesText = (row: ContradictionRow, values: readonly (number | undefined)[]): string =>
  values.map((value) => valueText(row, value)).join(', ');

export const COLUMNS: readonly Column<ContradictionRow>[] = [
  { title: 'finding', key: 'finding', value: ({ finding }) => finding.id, label: true },
  { title: 'claim', key: 'claim', value: ({ finding }) => finding.claim, wraps: true },
  { title: 'machine', key: 'machine', value: ({ finding }) => finding.machine?.name ?? '', on: 'page', filter: true },
  { title: 'model', key: 'model', value: ({ finding }) => finding.model.name, on: 'page', filter: true },
  {
    title: 'settings',
    key: 'settings',
    value: ({ finding }) => finding.settings.map(({ setting }) => setting).join(', '),
    on: 'page',
    wraps: 'items',
  },
  { title: 'published', value: (row) => seriesText(row, row.published), wraps: 'items' },
  { title: 'simulated', value: (row) => seriesText(row, row.simulated), wraps: 'items' },
  { key: 'published', value: ({ published }) => published.join(' ') },
  { key: 'simulated', value: ({ simulated }) => simulated.map((value) => value.toPrecision(4)).join(' ') },
  { key: 'unit', value: ({ finding }) => finding.unit },
  {
    title: 'sign',
    value: ({ judgement }) => signText(judgement),
    tone: ({ judgement }) => (judgement.isSignRight ? 'good' : 'bad'),
  },
  { key: 'published_sign', value: ({ judgement }) => judgement.published },
  { key: 'simulated_sign', value: ({ judgement }) => judgement.simulated },
  { key: 'sign_right', value: ({ judgement }) => (judgement.isSignRight ? 'yes' : 'no') },
  {
    ...{ title: 'size', key: 'size_error', value: ({ judgement }) => judgement.sizeError, align: 'right' },
    text: ({ judgement: { sizeError } }) => (sizeError === undefined ? '' : formatDeviation(1 + sizeError)),
    tone: ({ judgement }) => (judgement.isSizeRight ? 'good' : undefined),
  },
  {
    ...{
      title: 'values\noff by',
      key: 'level_error',
      value: ({ judgement }) => judgement.levelError,
      align: 'right',
      on: 'page',
    },
    text: ({ judgement: { levelError }, finding }) =>
      levelError === undefined
        ? ''
        : finding.unit === 'share'
          ? `${(100 * levelError).toFixed(0)} points`
          : formatPercent(levelError),
  },
  { title: 'decided by', key: 'decides', value: ({ finding }) => finding.decides, wraps: true },
  { title: 'why it is wrong', key: 'cause', value: causeOf, on: 'page', wraps: true },
  { title: 'assumed', key: 'assumed', value: ({ finding }) => finding.assumed, on: 'page', wraps: true },
  {
    title: 'source',
    key: 'source',
    value: ({ finding }) => `${finding.source}, ${finding.date}`,
    on: 'page',
    wraps: true,
  },
];

/** The cause of a wrong sign or size. */
function causeOf({ finding, judgement }: ContradictionRow): string {
  if (judgement.isSignRight && judgement.isSizeRight) return '';
  if (finding.cause !== '') return finding.cause;
  return judgement.isSignRight ? '' : 'not found';
}

function signText({ published, simulated, isSignRight }: ContradictionRow['judgement']): string {
  return isSignRight ? published : `${published}, simulated: ${simulated}`;
}

const UNTRIED: readonly Column<UntriedFinding>[] = [
  { title: 'finding', key: 'finding', value: ({ finding }) => finding, label: true },
  { title: 'why it is not tried', key: 'why', value: ({ why }) => why },
];

const PAIR_COLUMNS = COLUMNS.filter(({ title }) =>
  ['finding', 'claim', 'machine', 'model', 'published', 'simulated', 'sign', 'decided by'].includes(title ?? ''),
);

export function contradictionsPage(
  rows: readonly ContradictionRow[],
  curves: readonly SlotsCurve[],
  untried: readonly UntriedFinding[],
): NonNullable<Results['page']> {
  const questions = [...new Set(rows.map(({ finding }) => finding.question))].filter((question) => question !== '');
  const pairs = questions.map((question): Section => {
    const own = rows.filter(({ finding }) => finding.question === question);
    return {
      title: question,
      part: 'Findings that contradict each other',
      blocks: [tableBlock({ columns: PAIR_COLUMNS, rows: own })],
    };
  });
  return {
    title: 'What contradicts itself about experts on a disk',
    ...topOf(rows, curves),
    search: true,
    sections: [
      { title: 'More slots: faster, slower, or no matter', blocks: [slotsChart(curves)] },
      { title: 'How much larger or smaller effects are', blocks: [sizesChart(rows)] },
      ...pairs,
      { title: 'All findings', blocks: [tableBlock({ columns: COLUMNS, rows })] },
      { title: 'Not tried', blocks: [tableBlock({ columns: UNTRIED, rows: untried })] },
    ],
  };
}

/** The sentence above the picture, from its curves, and the counts below it. */
function topOf(
  rows: readonly ContradictionRow[],
  curves: readonly SlotsCurve[],
): { readonly headline: string; readonly findings: readonly string[] } {
  const { series, signs, sizes, findings, findingsRight } = countRows(rows);
  const [fewest, most] = [SLOTS[0], SLOTS.at(-1) as number];
  const changes = curves
    .filter(({ system, rates }) => system === curves[0]?.system && (rates[0] as number) > 0)
    .map(({ memory, rates }, index) => {
      const change = formatDeviation((rates.at(-1) as number) / (rates[0] as number));
      return `${change} with ${memory}${index === 0 ? ' GiB of memory' : ''}`;
    });
  return {
    headline: `With ${most} slots a layer rather than ${fewest}, the speed of one mixture on one disk changes by ${enumerate(changes)}.`,
    findings: [
      `${signs} of ${series} published effects have the right sign in simulation.`,
      `${sizes} of ${series} have the right size within ${100 * SIZE_WITHIN} %.`,
      `${findingsRight} of ${findings} numbered findings have the right sign in all their series.`,
    ],
  };
}

const TITLES = {
  macos: 'through the page cache, with swap (macOS)',
  linux: 'past the page cache, without swap (Linux)',
};

function slotsChart(curves: readonly SlotsCurve[]) {
  const systems = [...new Set(curves.map(({ system }) => system))];
  return {
    kind: 'chart' as const,
    title: 'One mixture and one disk, by slots, with 8 to 64 GiB of memory',
    note: 'Gemma-4-26B-A4B in 4 bit, 12.9 GB of experts, on the M5 Pro. A line ends where it doesn’t run.',
    choose: 'reads',
    variants: systems.map((system) => ({
      label: TITLES[system],
      figure: lineChart({
        x: { title: 'slots of a layer’s 128 experts' },
        y: { title: 'tokens a second' },
        series: curves
          .filter((curve) => curve.system === system)
          .map(({ memory, rates }, index) => ({
            ...{ name: `${memory} GiB`, colour: colour(index), x: SLOTS },
            y: rates.map((rate) => (rate > 0 ? rate : null)),
          })),
      }),
    })),
  };
}

function sizesChart(rows: readonly ContradictionRow[]) {
  const sized = rows.filter(({ judgement }) => judgement.sizeError !== undefined).sort((a, b) => sizeOf(a) - sizeOf(b));
  const series = (name: string, index: number, isSign: boolean) => {
    const own = sized.filter(({ judgement }) => judgement.isSignRight === isSign);
    return {
      ...{ name, colour: colour(index), mode: 'markers' as const },
      x: own.map(({ finding }) => finding.id),
      y: own.map((row) => 1 + sizeOf(row)),
      hover: own.map(({ finding }) => `${finding.id}: ${finding.claim}`),
    };
  };
  return {
    kind: 'chart' as const,
    title: 'Simulated effect for the published one',
    note: `1 is the published effect; within ${100 * SIZE_WITHIN} % it counts as right.`,
    variants: [
      {
        label: 'sizes',
        figure: lineChart({
          x: { title: 'finding' },
          y: { title: 'simulated for published' },
          series: [series('sign right', 0, true), series('sign wrong', 1, false)],
        }),
      },
    ],
  };
}

const sizeOf = ({ judgement }: ContradictionRow): number => judgement.sizeError as number;
