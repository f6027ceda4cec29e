import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { helmStudy } from '../../../experiments/papers/sensitivity/helm-study.ts';
import { heterollmStudy } from '../../../experiments/papers/sensitivity/heterollm-study.ts';
import { movedBy } from '../../../experiments/papers/sensitivity/moved.ts';
import { sensitivityResults } from '../../../experiments/papers/sensitivity/report.ts';
import { calibratedQuantities, scaledCluster } from '../../../experiments/papers/sensitivity/scaled-cluster.ts';
import { FACTORS, studyPoint } from '../../../experiments/papers/sensitivity/studies.ts';
import type { Parameter, StudiedCell } from '../../../experiments/papers/sensitivity/study.ts';
import { renderPage } from '../../../experiments/report/page/page.ts';
import { relativelyNear } from '../../support/near.ts';
import { testReport } from '../../support/open-report.ts';
import { runHere } from '../../support/run-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-sensitivity-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));

const parameter = (name: string): Parameter => ({ name, value: '1', kind: 'fitted' });
const cell = (label: string, published: number, unit = 's', isTest = true): StudiedCell => ({
  ...{ label, published, unit, isTest },
});

test('a cell is decided by the parameter that changes it most', () => {
  const parameters = [parameter('bandwidth'), parameter('memory')];
  const cells = [cell('reads', 1), cell('fits', 2), cell('share', 0.5, 'share'), cell('fitted', 4, 's', false)];
  // By point: the base, then bandwidth and memory times 0.8, 0.9, 1.1, 1.2.
  const base = [1.1, 2, 0.6, 4];
  const points = [
    base,
    ...FACTORS.map((factor) => [1.1 / factor, 2, 0.6, 4]),
    ...FACTORS.map((factor) => [1.1, factor < 1 ? null : 1, 0.6 + factor / 10 - 0.1, 4]),
  ];
  const moved = movedBy({ parameters, cells }, points);
  const [reads, fits, share, fitted] = moved.cells;
  assert.is(reads?.decidedBy, 'bandwidth');
  relativelyNear(reads?.elasticity ?? 0, -1);
  relativelyNear(reads?.changes[0] ?? 0, 0.25);
  relativelyNear(reads?.error ?? 0, 0.1);
  assert.is(fits?.decidedBy, 'memory');
  assert.equal(fits?.changes, [undefined, undefined, -0.5, -0.5]);
  assert.is(fits?.elasticity, undefined);
  // In points.
  relativelyNear(share?.changes[3] ?? 0, 0.02);
  assert.is(fitted?.decidedBy, undefined);
  const [bandwidth, memory] = moved.parameters;
  assert.equal([bandwidth?.moved, bandwidth?.decided, bandwidth?.outcomes], [1, 1, 0]);
  assert.equal([memory?.moved, memory?.decided, memory?.outcomes], [2, 2, 1]);
  // Errors of the cells that test: 10 %, 0 and 10 points; without the second where it has no answer.
  relativelyNear(moved.medianError, 0.1);
  relativelyNear(memory?.medianError[0] ?? 0, (0.1 + 0.08) / 2);
});

test('points are the base, then each parameter times each factor', () => {
  assert.equal(studyPoint(0), { parameter: undefined, factor: 1 });
  assert.equal(studyPoint(4), { parameter: 0, factor: 1.2 });
  assert.equal(studyPoint(5), { parameter: 1, factor: 0.8 });
});

test('a calibrated quantity is scaled in its machine, and nothing else', () => {
  const quantities = calibratedQuantities('hetero-8gen3');
  const rate = quantities.find(({ place }) => place === 'phone gpu.compute');
  assert.is(rate?.value, '89.8 % of 1 TFLOPS');
  const [before, after] = [1, 1.2].map((factor) => scaledCluster(rate as NonNullable<typeof rate>, factor).cluster);
  const flopsOf = (cluster: typeof before): number => cluster?.devices[0]?.gpu?.flops.F16 ?? 0;
  relativelyNear(flopsOf(after) / flopsOf(before), 1.2);
  assert.equal(after?.devices[0]?.cpu, before?.devices[0]?.cpu);
  const memory = calibratedQuantities('helm-4060').find(({ place }) => place === 'PC gpu.memory.available');
  const { gpu } = scaledCluster(memory as NonNullable<typeof memory>, 1.2).cluster.devices[0] ?? {};
  assert.ok((gpu?.memory.total ?? 0) >= (gpu?.memory.available ?? 1));
});

test('a faster GPU of HeteroLLM’s chip shortens what is measured against PPL-OpenCL', () => {
  const study = heterollmStudy();
  const at = study.parameters.findIndex(({ name }) => name === 'hetero-8gen3: phone gpu.compute');
  const speedup = study.cells.findIndex(({ label }) => /Hetero-layer.*256, speedup over PPL-OpenCL/.test(label));
  const [base, faster] = [study.answers(undefined, 1), study.answers(at, 1.2)];
  assert.is(base.length, study.cells.length);
  assert.ok((faster[speedup] as number) < 0.95 * (base[speedup] as number), `${faster[speedup]} ${base[speedup]}`);
});

test('HELM’s constants are all parameters, and a slower dispatch lengthens tokens all on the GPU', () => {
  const study = helmStudy();
  const names = study.parameters.map(({ name }) => name);
  for (const name of ['gpuEfficiency', 'helm-l40s: dispatch', 'helm-4060: cpuBandwidth', 'staging'])
    assert.ok(names.includes(name), name);
  const answers = study.answers(names.indexOf('helm-l40s: dispatch'), 1.2);
  const rate = study.cells.findIndex(({ label }) => label === 'Table 6.1, L40S / Qwen3-8B, HELM tok/s');
  const base = study.answers(undefined, 1)[rate] as number;
  assert.ok((answers[rate] as number) < 0.95 * base, `${answers[rate]} ${base}`);
});

test('one point has an answer per cell', async () => {
  const { code, stdout, stderr } = await runHere(
    'experiments/reproduce.ts',
    'heterollm',
    '--sensitivity',
    '--point',
    '1',
  );
  assert.is(code, 0, stderr);
  const answers = JSON.parse(stdout) as unknown[];
  assert.is(answers.length, heterollmStudy().cells.length);
  assert.ok(answers.every((answer) => typeof answer === 'number'));
});

test('the findings name the parameters, and the page has the chart', () => {
  const parameters = [parameter('bandwidth'), parameter('memory')];
  const cells = [cell('reads', 1), cell('fits', 2)];
  const points = [
    [1.1, 2],
    ...FACTORS.map((factor) => [1.1 / factor, 2]),
    ...FACTORS.map((factor) => [1.1, factor < 1 ? null : 2]),
  ];
  const { subtitle, findings, page } = sensitivityResults('helm', movedBy({ parameters, cells }, points));
  assert.equal(findings, [
    '1 of 2 cells move when one parameter changes by up to a fifth.',
    'Most are decided by bandwidth (1).',
    'The median error over cells that nothing was fitted to is 5.0 %; with one parameter changed, 0.0 % (bandwidth ×1.1) to 19 % (bandwidth ×0.8).',
    'Whether there is an answer depends on memory (1 cell).',
  ]);
  writeFileSync(
    join(directory, 'report.html'),
    renderPage({ subtitle, summary: findings, ...(page as NonNullable<typeof page>) }),
  );
});

testReport(() => join(directory, 'report.html'), 1);

for (const [options, expected] of [
  [['all', '--sensitivity'], /^--sensitivity: is for one paper at a time; give prima, helm or heterollm\n$/],
  [['prima', '--sensitivity', '--table', '4'], /^--table: is for prima’s tables; leave it out for --sensitivity\n$/],
  [['helm', '--point', '3'], /^--point: is for --sensitivity; leave it out\n$/],
] as const) {
  test(`reproduce ${options.join(' ')} is reported in one line with exit code 2`, async () => {
    const { code, stderr } = await runHere('experiments/reproduce.ts', ...options, '--out', join(directory, 'no'));
    assert.is(code, 2);
    assert.match(stderr, expected);
  });
}

test.run();
