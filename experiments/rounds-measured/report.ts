import { equalCell, type LabCell, policyName } from '../../datasets/lab/cell.ts';
import type { LabPolicy } from '../../datasets/lab/policies.ts';
import { formatPercent, formatSeconds } from '../../engine/input/format.ts';
import type { MeasuredCells } from '../lab/experiment.ts';
import { probesSection, resultBlocks } from '../lab/report.ts';
import type { CellResult } from '../lab/run-cells.ts';
import { type Figure, type LineSeries, lineChart } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import type { Page } from '../report/page/page.ts';

/** k: every divisor of the eight layers of a device. */
const ROUNDS = [1, 2, 4, 8] as const;

/** Every policy at every number of rounds. */
export function roundsCells(
  policies: readonly LabPolicy[],
  setting: { readonly memoryShare: number; readonly diskRate: number },
): LabCell[] {
  return policies.flatMap((policy) => ROUNDS.map((rounds) => equalCell({ ...setting, policy, rounds })));
}

/** Least gain that counts as one. */
const LEAST_GAIN = 0.05;

/** The effect of more rounds under each policy. */
export function findings(results: readonly CellResult[]): string[] {
  const parts = policiesOf(results).map((name) => {
    const own = results.filter(({ cell }) => lineName(cell) === name);
    const [first, best] = [own[0], own.reduce((least, one) => (seconds(one) < seconds(least) ? one : least))];
    if (first === undefined || seconds(best) >= (1 - LEAST_GAIN) * seconds(first))
      return `${name}: more rounds don’t help`;
    return `${name}: −${formatPercent(1 - seconds(best) / seconds(first))} at k = ${best.cell.rounds} (${formatSeconds(seconds(best))})`;
  });
  return [
    `Measured, against one round: ${parts.join('; ')}.`,
    'prima.cpp’s Fig. 2 reports about −50 % for models that do not fit.',
  ];
}

export function roundsMeasuredPage(measured: MeasuredCells): Pick<Page, 'title' | 'sections'> {
  const { results } = measured;
  return {
    title: 'What rounds do for a ring that does not fit: measured',
    sections: [
      {
        title: 'TPOT against rounds',
        blocks: [
          {
            kind: 'chart',
            title: 'Time per output token, by what devices do with their weights',
            note: 'Solid: measured on a lab; dotted, hollow marks: simulated from probes alone. More rounds pay only with prefetching, once a window fits; they save reading only with a pinned prefix. Without prefetching, the fall towards k = 8 comes from the throttle: after every pause it lets a tenth of a second’s bytes through at once.',
            variants: [{ label: 'TPOT', figure: figureOf(results) }],
          },
          ...resultBlocks(results),
        ],
      },
      probesSection(measured, results),
    ],
  };
}

function figureOf(results: readonly CellResult[]): Figure {
  const series = policiesOf(results).flatMap((name, index): LineSeries[] => {
    const own = results.filter(({ cell }) => lineName(cell) === name);
    const common = { colour: colour(index), x: own.map(({ cell }) => String(cell.rounds)) };
    return [
      { ...common, name, y: own.map(seconds) },
      {
        ...common,
        name: `${name}: simulated`,
        dash: 'dot',
        symbol: 'circle-open',
        y: own.map(({ simulated }) => simulated.seconds),
      },
    ];
  });
  return lineChart({
    x: { title: 'rounds k', categories: ROUNDS.map(String) },
    y: { title: 'TPOT (s per token, log scale)', scale: 'log' },
    series,
  });
}

function policiesOf(results: readonly CellResult[]): string[] {
  return [...new Set(results.map(({ cell }) => lineName(cell)))];
}

/** The line on which a cell lies: with one round nothing is prefetched in addition to a pinned prefix, which belongs to the same line. */
function lineName(cell: LabCell): string {
  return cell.policy.release === 'pinned' ? 'prefix pinned, rest populated' : policyName(cell.policy);
}

function seconds({ measured }: CellResult): number {
  return measured.seconds;
}
