import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { PublishedCell } from '../../../datasets/published.ts';
import { type Breakdown, noSeconds, type Seconds } from '../../../engine/cost/breakdown.ts';
import { ringPlan } from '../../../engine/plan/ring-plan.ts';
import { sweepText, tableOf } from '../../../experiments/halda-sweep/columns.ts';
import { findings } from '../../../experiments/halda-sweep/findings.ts';
import type { SweepRow, SweptModel } from '../../../experiments/halda-sweep/sweep.ts';
import { tableCsv } from '../../../experiments/report/columns.ts';
import { TOY_MODEL } from '../../support/toy-cluster.ts';

const GIB = 2 ** 30;

function swept(label: string, bytes: number): SweptModel {
  return { label, model: { ...TOY_MODEL, name: label, bytes }, asPublished: true };
}

function planned(
  model: SweptModel,
  scheduler: string,
  seconds: Partial<Seconds>,
  rest: Partial<SweepRow> = {},
): SweepRow {
  const plan = ringPlan({
    scheduler,
    head: 'A',
    rounds: 1,
    windows: [
      { device: 'A', layers: 3, gpuLayers: 2 },
      { device: 'B', layers: 1, gpuLayers: 0 },
    ],
  });
  const all = { ...noSeconds(), ...seconds };
  const breakdown: Breakdown = {
    tokenSeconds: Object.values(all).reduce((sum, value) => sum + value, 0),
    infeasible: [],
    seconds: all,
    devices: [],
    stages: [],
    reloadedBytes: 0.5 * GIB,
  };
  const memory = { ramBytes: 2 * GIB, vramBytes: 4.25 * GIB, pressure: 0.12 };
  const overlapped = { tokenSeconds: breakdown.tokenSeconds - 0.01, readBytes: 0, bound: undefined, devices: [] };
  const simulatedSeconds = breakdown.tokenSeconds + 0.01;
  const outcome = { status: 'planned', plan, breakdown, overlapped, memory, simulatedSeconds } as const;
  return { cluster: 'home', model, scheduler, outcome, planningSeconds: 0.0042, published: undefined, ...rest };
}

function published(value: number | 'OOM', use: 'fit' | 'held-out'): { published: SweepRow['published'] } {
  const cell: PublishedCell = {
    ...{ paper: 'p', table: 'Table 4', row: '8B', column: 'x', value, unit: 'ms', basis: 'measured', noise: 0.5 },
    ...{ noiseFrom: 'rounding', use, cluster: 'home', model: 'Small', system: 'x', metric: 'tpot', note: '' },
  };
  return { published: { cell, seconds: value === 'OOM' ? undefined : value / 1000 } };
}

const SMALL = swept('Small', 1 * GIB);
const LARGE = swept('Large', 8 * GIB);

const ROWS: readonly SweepRow[] = [
  planned(SMALL, 'halda', { memory: 0.03 }, published(20, 'held-out')),
  planned(SMALL, 'optimal', { memory: 0.02 }, published(20, 'held-out')),
  planned(SMALL, 'single-device', { memory: 0.02 }, published(16, 'fit')),
  planned(LARGE, 'halda', { memory: 0.5, disk: 1.5 }, published(1000, 'held-out')),
  planned(LARGE, 'optimal', { memory: 0.4, disk: 1.5, link: 0.1 }, published(1000, 'held-out')),
  {
    cluster: 'home',
    model: LARGE,
    scheduler: 'single-device',
    outcome: { status: 'no-plan', reason: 'fits nowhere', message: 'A can’t hold it; take another device' },
    planningSeconds: 0.001,
    ...published('OOM', 'held-out'),
  },
];

test('the table names a model once, wraps nothing that fits, and says below why a plan is missing', () => {
  assert.is(
    sweepText(ROWS),
    [
      'model           scheduler           TPOT  simulated  tokens/s  layers         k     reload  published     error:   simu-',
      '                               predicted                       CPU+GPU           per token     (TPOT)  predicted   lated',
      '──────────────  ─────────────  ─────────  ─────────  ────────  ─────────────  ─  ─────────  ─────────  ─────────  ──────',
      'Small Q4_K_M    halda            30.0 ms    40.0 ms      25.0  A 1+2, B 1     1    512 MiB    20.0 ms      +50 %  +100 %',
      '1.00 GiB',
      '                optimal          20.0 ms    30.0 ms      33.3  A 1+2, B 1     1    512 MiB    20.0 ms     ±0.0 %   +50 %',
      '                single-device    20.0 ms    30.0 ms      33.3  A 1+2, B 1     1    512 MiB    16.0 ms     +25 %*  +88 %*',
      'Large Q4_K_M    halda             2.00 s     2.01 s     0.498  A 1+2, B 1     1    512 MiB     1.00 s     +100 %  +101 %',
      '8.00 GiB',
      '                optimal           2.00 s     2.01 s     0.498  A 1+2, B 1     1    512 MiB     1.00 s     +100 %  +101 %',
      '                single-device          –                       no plan: fits                      OOM',
      '                                                               nowhere (1)',
      '(1) A can’t hold it; take another device',
      '* a cell that constants may be fitted to, so it tests nothing',
      '',
    ].join('\n'),
  );
});

test('the findings are computed: best times and their causes, gaps, and errors on held-out cells', () => {
  assert.equal(findings(ROWS), [
    'By simulation optimal is fastest on 2 of 2 models; halda is as fast on 1 and at worst takes 33 % longer (Small).',
    'The best plans on home take 30.0 ms (Small) to 2.01 s per token (Large); the latter is predicted at 2.00 s: 75 % disk reads and 20 % memory reads.',
    'The best time of the sweep is reached by halda for 1 of 2 models (at worst +33 %, Small).',
    'optimal is exact by the closed form of Eq. 1, among rings whose weights are mapped and whose KV caches lie with their layers.',
    'Errors of simulated against published times: halda against prima.cpp 100 % in the median of 2 cells (at worst +101 % for Large) and optimal against prima.cpp 75 % in the median of 2 cells (at worst +101 % for Large).',
  ]);
});

test('one model needs no list of models', () => {
  assert.equal(
    findings([
      planned(SMALL, 'optimal', { compute: 0.01, memory: 0.01 }),
      planned(SMALL, 'memory-ratio', { memory: 0.03 }),
      planned(SMALL, 'single-device', { memory: 0.3 }),
    ]),
    [
      'By simulation optimal has the fastest plan.',
      'The best plan for Small on home (optimal) takes 30.0 ms per token, predicted at 20.0 ms: 50 % compute and 50 % memory reads. The head alone takes 10.3 times as long.',
      'Against the best plan: memory-ratio +33 %.',
      'optimal is exact by the closed form of Eq. 1, among rings whose weights are mapped and whose KV caches lie with their layers.',
    ],
  );
});

test('without any plan the findings say so', () => {
  assert.equal(findings(ROWS.slice(5)), ['On home no scheduler has a plan that runs.']);
  assert.equal(findings([]), []);
});

test('results.csv holds a row per run in SI units, with why there is no plan', () => {
  const lines = tableCsv(tableOf(ROWS)).trimEnd().split('\n');
  assert.is(lines.length, 7);
  assert.is(
    lines[3],
    'home,Small,Q4_K_M,1073741824,single-device,planned,0.02,0.01,0.03,33.333333333333336,1,A:1+2 B:1+0,2147483648,4563402752,0.12,536870912,' +
      '0,0.02,0,0,0,0,0,16,ms,"p Table 4, 8B, x",fit,1.25,1.875,,plans/home__Small__single-device.json',
  );
  assert.is(
    lines[6],
    'home,Large,Q4_K_M,8589934592,single-device,no-plan,,,,,,,,,,,,,,,,,,OOM,ms,"p Table 4, 8B, x",held-out,,,' +
      'A can’t hold it; take another device,',
  );
});

test.run();
