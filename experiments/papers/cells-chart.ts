import { formatPercent } from '../../engine/input/format.ts';
import { type LineSeries, lineChart } from '../report/charts/chart.ts';
import { colour, PALE } from '../report/charts/colours.ts';
import type { ChartBlock } from '../report/page/page.ts';
import { accuracyOf } from './accuracy.ts';
import { type Comparison, inPoints, isTest, type PaperName } from './comparison.ts';
import { type BlindCells, type Group, groupOf, mainReadings } from './groups.ts';
import { PAPER_TITLES } from './summary.ts';
import { errorText, medianText } from './text.ts';

/** A cell with a relative error: what is found here over what is printed. */
interface Dot {
  readonly one: Comparison;
  readonly ratio: number;
}

/** Ratios beyond these are drawn at the edge. */
const [LEAST, MOST] = [0.1, 10];
/** Columns of dots per factor of ten. */
const COLUMNS = 50;

function dotsOf(comparisons: readonly Comparison[]): Dot[] {
  return mainReadings(comparisons).flatMap((one): Dot[] => {
    const error = one.simulatedError ?? one.predictedError;
    return error === undefined || inPoints(one.unit) ? [] : [{ one, ratio: 1 + error }];
  });
}

const SERIES: readonly (readonly [group: Group, name: string, colour: string])[] = [
  ['seen', 'held out, but seen', colour(0)],
  ['blind', 'held out and blind', colour(1)],
  ['fitted', 'fitted: shows nothing', PALE],
];

/** A dot for every printed cell, stacked by paper over its ratio: simulated, or else predicted, over published. */
export function cellsChart(comparisons: readonly Comparison[], blind: BlindCells): ChartBlock {
  const dots = dotsOf(comparisons);
  const papers = (Object.keys(PAPER_TITLES) as PaperName[]).filter((paper) =>
    dots.some(({ one }) => one.paper === paper),
  );
  const columnOf = ({ ratio }: Dot): number =>
    Math.round(Math.log10(Math.min(MOST, Math.max(LEAST, ratio))) * COLUMNS) / COLUMNS;
  const heights = new Map<string, number>();
  const placed = dots.map((dot) => {
    const key = `${dot.one.paper} ${columnOf(dot)}`;
    const height = heights.get(key) ?? 0;
    heights.set(key, height + 1);
    return { ...dot, height, x: 10 ** columnOf(dot), group: groupOf(dot.one, blind) };
  });
  const tallest = Math.max(1, ...heights.values());
  const base = (paper: PaperName): number => papers.length - 1 - papers.indexOf(paper);
  const series = SERIES.map(([group, name, own]): LineSeries => {
    const shown = placed.filter((dot) => dot.group === group);
    return {
      name: `${name} (${shown.length})`,
      colour: own,
      mode: 'markers',
      symbolSize: 4,
      x: shown.map(({ x }) => x),
      y: shown.map(({ one, height }) => base(one.paper) + (0.85 * (height + 0.5)) / tallest),
      hover: shown.map(
        ({ one: { cell }, ratio }) => `${cell.table}, ${cell.row}, ${cell.column}: ×${ratio.toPrecision(3)}`,
      ),
    };
  }).filter(({ x }) => x.length > 0);
  const figure = lineChart({
    x: { title: 'found here / printed, log scale', scale: 'log', range: [LEAST, MOST] },
    y: { title: '', range: [0, papers.length] },
    height: 400,
    series,
  });
  const yaxis = {
    ...figure.layout.yaxis,
    tickvals: papers.map((paper) => base(paper) + 0.4),
    ticktext: papers.map((paper) => PAPER_TITLES[paper]),
    ticks: '' as const,
  };
  return {
    kind: 'chart',
    title: 'Every printed number against what is found here',
    note: 'A dot is a printed cell. At 1 both agree; right of it Hearth’s figure is larger. Figures are simulated, or predicted where nothing is simulated; ratios beyond the axis stand at its ends. Shares and gains, whose errors are in points, are in the tables only.',
    variants: [{ label: '', figure: { ...figure, layout: { ...figure.layout, yaxis } } }],
  };
}

/** Relative errors of the cells that nothing was fitted to. */
function heldOutErrors(comparisons: readonly Comparison[]): number[] {
  return dotsOf(comparisons)
    .filter(({ one }) => isTest(one))
    .map(({ ratio }) => ratio - 1);
}

/** Share of error within which a cell counts as close. */
const CLOSE = 0.1;

export function cellsHeadline(comparisons: readonly Comparison[]): string {
  const errors = heldOutErrors(comparisons);
  const close = errors.filter((error) => Math.abs(error) <= CLOSE).length;
  return `${formatPercent(close / errors.length)} of ${errors.length} printed numbers that nothing was fitted to are met within ${formatPercent(CLOSE)}.`;
}

/** The median and the worst error of a paper, in a line. */
export function cellsFinding(paper: PaperName, comparisons: readonly Comparison[]): string[] {
  const errors = heldOutErrors(comparisons.filter((one) => one.paper === paper));
  const accuracy = accuracyOf(errors);
  if (accuracy === undefined) return [];
  return [
    `${medianText('', accuracy.median)} median error, ${errorText('', accuracy.worst)} at worst: ${PAPER_TITLES[paper]}, ${errors.length} printed numbers.`,
  ];
}
