import { formatPercent, formatSeconds } from '../../engine/terminal/format.ts';
import { type LabCell, policyName } from '../lab/cell.ts';
import { probesSection } from '../lab/probes-section.ts';
import { resultTables } from '../lab/report.ts';
import type { CellResult } from '../lab/run-cell.ts';
import type { LabSession } from '../lab/session.ts';
import { colour, type Figure, type LineSeries, lineChart } from '../lib/chart.ts';
import type { Report } from '../lib/report.ts';
import { ROUNDS } from './cells.ts';

/** What more rounds change under each policy, in a paragraph. */
export function findings(results: readonly CellResult[]): string {
  const parts = policiesOf(results).map((name) => {
    const own = results.filter(({ cell }) => lineName(cell) === name);
    const [first, best] = [own[0], own.reduce((least, one) => (seconds(one) < seconds(least) ? one : least))];
    if (first === undefined || seconds(best) >= 0.95 * seconds(first)) return `${name}: more rounds help nothing`;
    return `${name}: −${formatPercent(1 - seconds(best) / seconds(first))} at k = ${best.cell.rounds} (${formatSeconds(seconds(best))})`;
  });
  return `Measured, against one round: ${parts.join('; ')}. prima.cpp’s Fig. 2 reports about −50 % for models that do not fit.`;
}

export function roundsMeasuredReport(session: LabSession, results: readonly CellResult[], subtitle: string): Report {
  return {
    title: 'What rounds do for a ring that does not fit: measured',
    subtitle,
    summary: findings(results),
    sections: [
      {
        title: 'TPOT against rounds',
        blocks: [
          {
            kind: 'chart',
            title: 'Time per output token, by what devices do with their weights',
            note: 'Solid: measured on a lab; dotted, hollow marks: simulated from probes alone. Only with prefetching do more rounds pay, once a window fits; only with a pinned prefix do they save reading. Without prefetching, the fall towards k = 8 is the throttle’s: after every pause it lets a tenth of a second’s bytes through at once.',
            variants: [{ label: 'TPOT', figure: figureOf(results) }],
          },
          ...resultTables(results),
        ],
      },
      probesSection(session, results),
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

/** With one round a pinned prefix has no prefetching beside it; it is the same policy's line. */
function lineName(cell: LabCell): string {
  return cell.release === 'pinned' ? 'prefix pinned, rest populated' : policyName(cell);
}

function seconds({ measured }: CellResult): number {
  return measured.seconds;
}
