import { clusterStatements } from '../../datasets/statements.ts';
import { formatPercent } from '../../engine/input/format.ts';
import { type Figure as Chart, lineChart } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import type { PageTop } from '../report/page-top.ts';
import { provenanceSentence, statementsTable } from '../report/provenance.ts';
import {
  AIMS,
  errorOf,
  FIGURE_TITLES,
  loadRows,
  loadTable,
  passTable,
  percentiles,
  throughputTable,
} from './columns.ts';
import { FIGURES, type Figure, SHARES } from './draws.ts';
import type { LoadAnswers, ServingRun } from './run.ts';

const REQUESTS =
  'No load was fitted to, but for the figures “with passes as measured”, where they stand: there passes are longer by one ' +
  'factor, with which they take as long as measured under that load. The same requests are simulated and measured; predictions know their mean lengths and the rate. “Other draws” is half the range of the middle half of 20 simulations with as many requests of other seeds: one draw says no more of a load than that.';
const CLOCK =
  'Times are those that the model’s threads had for themselves: the server’s clock stands still while the system keeps ' +
  'them waiting for a processor that other programs have, and requests arrive by that clock. “Wall / own” says how much ' +
  'longer passes took by the wall clock. Predicted and simulated know the machine from probes alone. Probes took turns with ' +
  'the passes of a load, a tenth of a second each, while the server’s clock stood still, and each load is simulated by the ' +
  'probes among its own passes: the machine’s speed changes from load to load. Single passes, and what the engine takes ' +
  'between passes (in runs of one and of eight texts, with the collection of garbage), were measured between the loads; both ' +
  'stand next to the probes of all loads.';
const LAB =
  'Four devices on one machine, each a process with a network namespace, memory, disk and processor time of its own, and a ' +
  'head that runs the engine of hearth serve. Times are those of the wall clock. Predicted and simulated know the lab from ' +
  'probes: the processor, throttled disks, hops of one text with everything in memory, and what processes take in addition to ' +
  'weights. Every load begins after one token. Predictions know that devices read while others compute.';

export function servingPage({ ring, loads, passes, profile }: ServingRun): NonNullable<Results['page']> {
  const statements = clusterStatements(JSON.parse(profile));
  return {
    title: 'A server: predicted, simulated, measured',
    ...servingTop(loads),
    sections: [
      {
        title: 'Percentiles by load',
        blocks: [
          {
            kind: 'chart',
            title: 'Measured and simulated',
            note: 'Filled marks: measured. Hollow marks: simulated.',
            choose: 'Figure',
            variants: FIGURES.map((figure) => ({
              label: FIGURE_TITLES[figure],
              figure: percentileChart(loads, figure),
            })),
          },
          tableBlock(loadTable(loads), { title: 'Every load' }),
        ],
      },
      { title: 'Throughput and means', blocks: [tableBlock(throughputTable(loads), { title: 'Every load' })] },
      ...(passes.length > 0
        ? [{ title: 'Single passes', blocks: [tableBlock(passTable(passes), { title: 'Every pass' })] }]
        : []),
      {
        title: 'What was measured, and how',
        blocks: [
          { kind: 'text', text: `${ring === undefined ? CLOCK : LAB} ${REQUESTS}` },
          { kind: 'text', text: provenanceSentence('The machine', statements) },
          statementsTable('this machine', statements),
        ],
      },
    ],
  };
}

/** Errors of a figure's percentiles over all loads that have it, with their aims. */
function percentileErrors(loads: readonly LoadAnswers[], figure: Figure) {
  return loadRows(loads)
    .filter((row) => row.figure === figure && Number.isFinite(errorOf(row)))
    .map((row) => ({ error: Math.abs(errorOf(row)), aim: AIMS[row.share] }));
}

function servingTop(loads: readonly LoadAnswers[]): PageTop {
  const within = (found: ReturnType<typeof percentileErrors>): string =>
    `${found.filter(({ error, aim }) => error <= aim).length} of ${found.length}`;
  const all = FIGURES.flatMap((figure) => percentileErrors(loads, figure));
  return {
    headline: `${within(all)} percentiles of a server’s times are simulated within the aim: ${formatPercent(AIMS.p50)} of the measured p50, ${formatPercent(AIMS.p95)} of p95.`,
    findings: FIGURES.map((figure) => {
      const found = percentileErrors(loads, figure);
      const worst = Math.max(...found.map(({ error }) => error));
      return `${within(found)} within the aim, ${formatPercent(worst)} off at worst: ${FIGURE_TITLES[figure]}, p50 and p95.`;
    }),
  };
}

/** A figure's percentiles by load, milliseconds: measured filled, simulated hollow. */
function percentileChart(loads: readonly LoadAnswers[], figure: Figure): Chart {
  const categories = loads.map(({ name }) => name);
  return lineChart({
    x: { title: 'load', categories },
    y: { title: `${FIGURE_TITLES[figure]} (ms, log scale)`, scale: 'log' },
    series: SHARES.flatMap((share, index) =>
      (['measured', 'simulated'] as const).map((answer) => ({
        name: `${share}, ${answer}`,
        colour: colour(index),
        symbol: answer === 'measured' ? ('circle' as const) : ('circle-open' as const),
        symbolSize: answer === 'measured' ? 8 : 14,
        mode: 'markers' as const,
        x: categories,
        y: loads.map((load) => {
          const seconds = percentiles(load, figure)[answer][share];
          return Number.isFinite(seconds) ? 1000 * seconds : null;
        }),
      })),
    ),
  });
}

export function servingFindings({ loads }: ServingRun): string[] {
  const rows = loadRows(loads).filter((row) => Number.isFinite(errorOf(row)));
  return FIGURES.flatMap((figure) =>
    SHARES.map((share) => {
      const own = rows
        .filter((row) => row.figure === figure && row.share === share)
        .map((row) => Math.abs(errorOf(row)));
      const within = own.filter((error) => error <= AIMS[share]).length;
      const name = figure === 'tokenSeconds' ? 'TPOT' : 'TTFT';
      return `${name} ${share}: simulated within ${formatPercent(AIMS[share])} of measured at ${within} of ${own.length} loads; worst ${formatPercent(Math.max(...own))}.`;
    }),
  );
}
