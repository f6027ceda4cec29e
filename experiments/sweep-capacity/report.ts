import { formatDeviation, formatPercent, formatSeconds, threeDigits } from '../../engine/input/format.ts';
import { type Figure, type LineSeries, lineChart } from '../report/charts/chart.ts';
import { colour, RULE } from '../report/charts/colours.ts';
import { type Column, type Table, tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import type { CapacityRow, ComparedSweep } from './cases.ts';
import type { Cost, Measured } from './service-times.ts';

const COLUMNS: readonly Column<CapacityRow>[] = [
  { title: 'job', key: 'job_s', value: ({ jobSeconds }) => jobSeconds, unit: 'seconds', label: true },
  { title: 'workers', key: 'workers', value: ({ workers }) => workers, unit: 'count' },
  { title: 'points/s', key: 'points_per_s', value: ({ pointsPerSecond }) => pointsPerSecond, unit: 'factor' },
  { title: 'jobs/s', key: 'jobs_per_s', value: ({ jobsPerSecond }) => jobsPerSecond, unit: 'factor' },
  { title: 'time in\npoints', key: 'workers_busy', value: ({ workersBusy }) => workersBusy, unit: 'share' },
  { title: 'Redis\nbusy', key: 'redis_busy', value: ({ redisBusy }) => redisBusy, unit: 'share' },
  { title: 'submitter\nbusy', key: 'submitter_busy', value: ({ submitterBusy }) => submitterBusy, unit: 'share' },
];

export function capacityTable(rows: readonly CapacityRow[]): Table<CapacityRow> {
  return { columns: COLUMNS, rows, groups: true };
}

const errorOf = ({ simulatedJobsPerSecond, jobsPerSecond }: ComparedSweep): number =>
  simulatedJobsPerSecond / jobsPerSecond;

const ownErrorOf = ({ withOwnTimes, jobsPerSecond }: ComparedSweep): number => withOwnTimes / jobsPerSecond;

const COMPARED: readonly Column<ComparedSweep>[] = [
  { title: 'job', key: 'job_s', value: ({ jobSeconds }) => jobSeconds, unit: 'seconds', label: true },
  { title: 'workers', key: 'workers', value: ({ workers }) => workers, unit: 'count' },
  { title: 'jobs/s\nmeasured', key: 'measured', value: ({ jobsPerSecond }) => jobsPerSecond, unit: 'factor' },
  { title: 'simulated', key: 'simulated', value: (row) => row.simulatedJobsPerSecond, unit: 'factor' },
  { title: 'deviation', key: 'deviation', value: errorOf, unit: 'deviation' },
  {
    title: 'worker: processor\ntime per job',
    key: 'worker_s_per_job',
    value: ({ workerSeconds }) => workerSeconds,
    unit: 'seconds',
  },
  {
    title: 'simulated\nwith it',
    key: 'simulated_with_own_times',
    value: ({ withOwnTimes }) => withOwnTimes,
    unit: 'factor',
  },
  { title: 'deviation', key: 'deviation_with_own_times', value: ownErrorOf, unit: 'deviation' },
  {
    title: 'processors that\nothers used',
    key: 'others',
    value: ({ others }) => others,
    text: ({ others }) => others.toFixed(2),
    unit: 'factor',
  },
];

export function comparedTable(rows: readonly ComparedSweep[]): Table<ComparedSweep> {
  return { columns: COMPARED, rows, groups: true };
}

/** Rows of the same length of jobs. */
function byJob(rows: readonly CapacityRow[]): Map<number, CapacityRow[]> {
  const groups = new Map<number, CapacityRow[]>();
  for (const row of rows) groups.set(row.jobSeconds, [...(groups.get(row.jobSeconds) ?? []), row]);
  return groups;
}

function capacityChart(rows: readonly CapacityRow[], pointSeconds: number): Figure {
  const groups = [...byJob(rows)];
  const longest = groups.at(-1)?.[1] ?? [];
  const ideal: LineSeries = {
    name: 'no queue',
    colour: RULE,
    dash: 'dot',
    mode: 'lines',
    x: longest.map(({ workers }) => workers),
    y: longest.map(({ workers }) => workers / pointSeconds),
  };
  return lineChart({
    x: { title: 'workers of one thread', scale: 'log' },
    y: { title: 'points per second', scale: 'log' },
    height: 460,
    series: [
      ideal,
      ...groups.map(
        ([jobSeconds, own], index): LineSeries => ({
          name: `jobs of ${formatSeconds(jobSeconds)}`,
          colour: colour(index),
          x: own.map(({ workers }) => workers),
          // A log axis has no zero.
          y: own.map(({ pointsPerSecond }) => pointsPerSecond || null),
          hover: own.map(
            (row) =>
              `${row.workers} workers: ${threeDigits(row.pointsPerSecond)} points/s<br>${formatPercent(row.workersBusy)} of the workers’ time in points; Redis ${formatPercent(row.redisBusy)}, submitter ${formatPercent(row.submitterBusy)}`,
          ),
        }),
      ),
    ],
  });
}

/** Share of a worker's time that should go into points. */
const GOOD = 0.95;
/** The submitter keeps up if it reads so much of what workers compute: jobs that are under way are in neither. */
const READ = 0.9;

function isCarried({ workersBusy, jobsPerSecond, jobSeconds, workers }: CapacityRow): boolean {
  return workersBusy >= GOOD && jobsPerSecond * jobSeconds >= READ * workers * workersBusy;
}

/** One length of jobs: how many workers are busy with points, and what bounds the rate. */
interface Carried {
  readonly jobSeconds: number;
  /** The most workers that spend 95 % of their time in points; 0: not even the fewest. */
  readonly workers: number;
  readonly pointsPerSecond: number;
  readonly limit: 'Redis' | 'the submitter';
  /** Share of the time for which the limit is busy at the highest rate. */
  readonly busy: number;
}

function carriedBy(rows: readonly CapacityRow[]): Carried[] {
  return [...byJob(rows)].map(([jobSeconds, own]) => {
    const [most] = own.toSorted((one, other) => other.pointsPerSecond - one.pointsPerSecond);
    const { redisBusy = 0, submitterBusy = 0, pointsPerSecond = 0 } = most ?? {};
    return {
      jobSeconds,
      workers: own.filter(isCarried).at(-1)?.workers ?? 0,
      pointsPerSecond,
      limit: redisBusy > submitterBusy ? 'Redis' : 'the submitter',
      busy: Math.max(redisBusy, submitterBusy),
    };
  });
}

/** Three digits, with separators: `2,240,000`. */
const roundedRate = (rate: number): string => Number(rate.toPrecision(3)).toLocaleString('en-US');

/** `−12 % to +3 %`: the least and the most that a simulation of real sweeps is off by. */
function errorRange(compared: readonly ComparedSweep[], of: (row: ComparedSweep) => number): string {
  const errors = compared.map(of);
  return `${formatDeviation(Math.min(...errors))} to ${formatDeviation(Math.max(...errors))}`;
}

/** For each length of jobs: workers with 95 % of their time in points, the most points per second, and what limits them. */
export function capacityFindings(rows: readonly CapacityRow[], compared: readonly ComparedSweep[]): string[] {
  const carried = carriedBy(rows).map(
    ({ jobSeconds, workers, pointsPerSecond, limit, busy }) =>
      `Jobs of ${formatSeconds(jobSeconds)}: ${workers === 0 ? 'no worker' : `${workers} workers`} at ${formatPercent(GOOD)} or more of their time in points; at most ${threeDigits(pointsPerSecond)} points/s, where ${limit} is busy for ${formatPercent(busy)} of the time.`,
  );
  if (compared.length === 0) return carried;
  return [
    ...carried,
    `Compared with ${compared.length} real sweeps the simulation is off by ${errorRange(compared, errorOf)}; with the processor time per job that each sweep took, by ${errorRange(compared, ownErrorOf)}.`,
  ];
}

/** The sentence above the picture, for the length of jobs that keeps most workers busy, and the lines below it. */
function topOf(
  rows: readonly CapacityRow[],
  compared: readonly ComparedSweep[],
): { readonly headline: string; readonly findings: readonly string[] } {
  const [best, ...others] = carriedBy(rows).sort((one, other) => other.workers - one.workers);
  const [shortest] = others.toSorted((one, other) => one.jobSeconds - other.jobSeconds);
  const counted = (one: Carried): string => (one.workers === 0 ? 'no worker' : `${one.workers} workers`);
  return {
    headline:
      best === undefined
        ? 'Nothing was simulated.'
        : `One Redis keeps ${counted(best)} computing for ${formatPercent(GOOD)} of their time if a job takes ${formatSeconds(best.jobSeconds)}.`,
    findings: [
      ...(best === undefined
        ? []
        : [
            `${roundedRate(best.pointsPerSecond)} points/s at most with jobs of ${formatSeconds(best.jobSeconds)}: there ${best.limit} is busy for ${formatPercent(best.busy)} of the time.`,
          ]),
      ...(shortest === undefined
        ? []
        : [
            `${roundedRate(shortest.pointsPerSecond)} points/s at most with jobs of ${formatSeconds(shortest.jobSeconds)}: ${counted(shortest)} at ${formatPercent(GOOD)}.`,
          ]),
      ...(compared.length === 0
        ? []
        : [`${errorRange(compared, errorOf)} error of the simulation, compared with ${compared.length} real sweeps.`]),
    ],
  };
}

interface CostRow extends Cost {
  readonly name: string;
}

function costRows({ times }: Measured): CostRow[] {
  const { add, take, check, store, times: spent, report, look, read } = times;
  return [
    { name: 'submitter queues a job', ...add },
    { name: 'worker ends a job and takes the next', ...take },
    { name: 'worker asks for results', ...check.call },
    { name: '… per block', ...check.each },
    { name: 'worker stores results', ...store.call },
    { name: '… per block', ...store.block },
    { name: '… per point', ...store.point },
    { name: 'worker adds its times', ...spent },
    { name: 'worker reports itself', ...report },
    { name: 'submitter looks', ...look.call },
    { name: '… per worker', ...look.each },
    { name: 'submitter reads results', ...read.call },
    { name: '… per block', ...read.block },
    { name: '… per point', ...read.point },
  ];
}

const microseconds = (seconds: number): string => (1e6 * seconds).toFixed(2);

export function capacityPage(
  rows: readonly CapacityRow[],
  compared: readonly ComparedSweep[],
  measured: Measured,
  pointSeconds: number,
): NonNullable<Results['page']> {
  const costs: Table<CostRow> = {
    columns: [
      { title: 'operation', value: ({ name }) => name, label: true },
      { title: 'Redis, µs', value: ({ redis }) => redis, text: ({ redis }) => microseconds(redis), unit: 'factor' },
      {
        title: 'program, µs',
        value: ({ client }) => client,
        text: ({ client }) => microseconds(client),
        unit: 'factor',
      },
    ],
    rows: costRows(measured),
  };
  return {
    title: 'How many workers does one Redis carry?',
    ...topOf(rows, compared),
    sections: [
      {
        title: 'Workers and points per second',
        blocks: [
          {
            kind: 'chart',
            title: 'Points per second by workers and length of jobs',
            note: 'The dotted line is the rate without a queue.',
            variants: [{ label: '', figure: capacityChart(rows, pointSeconds) }],
          },
          {
            kind: 'text',
            text: 'Simulated with the event loop of the simulator: one Redis that serves one command after the other, workers with a processor each, and one submitter that reads results in order and refills the queue every 50 ms. Jobs differ in length by up to 20 %. Results of up to 0.1 s of work are stored as one block.',
          },
          tableBlock(capacityTable(rows)),
        ],
      },
      {
        title: 'Compared with real sweeps',
        blocks: [
          {
            kind: 'text',
            text: `Points that only wait, one a job, so that workers can share ${measured.processors} processors; in the simulation they share what other programs left of them. What a worker’s own program takes per job is from the sweeps with one worker: the least of them where each worker has a processor, the most, after pauses in which other programs used it, where workers share one; the other sweeps are held out. The last columns take it from each sweep.`,
          },
          tableBlock(comparedTable(compared)),
        ],
      },
      {
        title: 'What an operation costs',
        blocks: [{ kind: 'text', text: `Processor time, measured: ${measured.source}.` }, tableBlock(costs)],
      },
    ],
  };
}
