import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadCatalogue } from '../../datasets/load.ts';
import { createModel } from '../../engine/model/model.ts';
import { clusterFile } from '../../engine/profile/cluster-file.ts';
import { crossedSplits } from '../../experiments/split-measured/splits.ts';
import { GPU, PROFILE } from '../profile/measures.ts';
import { checkFirstScreen } from '../support/first-screen.ts';
import { goldenModel } from '../support/golden-models.ts';
import { testGpu } from '../support/gpu.ts';
import { runHere } from '../support/run-script.ts';

const SCRIPT = 'experiments/split-measured.ts';
const SMALL = [
  '--model',
  goldenModel('llama-Q8_0'),
  '--prompt',
  '4',
  '--tokens',
  '2',
  '--repeats',
  '2',
  '--threads',
  '2',
  '--batches',
  '1,3',
];

let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-split-'));
  writeFileSync(join(folder, 'laptop.json'), clusterFile(PROFILE));
  writeFileSync(join(folder, 'with-gpu.json'), clusterFile({ ...PROFILE, gpu: GPU }));
});
test.after(() => rmSync(folder, { recursive: true }));

testGpu('every split of a model has three answers, and one of them is chosen for each phase', async () => {
  const out = join(folder, 'results');
  const profile = join(folder, 'with-gpu.json');
  const { code, stdout, stderr } = await runHere(SCRIPT, ...SMALL, '--profile', profile, '--json', '--out', out);
  assert.is(code, 0, stderr);
  const { splits, ablations, batches } = JSON.parse(stdout);
  assert.equal(
    splits.map(({ cpuUnits }: { cpuUnits: number }) => cpuUnits),
    [0, 1, 2, 3, 4],
  );
  for (const { predicted, simulated, measured } of splits) {
    // The simulation reads the mapped weights once, from a disk that takes next to no time.
    assert.ok(Math.abs(simulated.tpot / predicted.tpot - 1) < 0.01, `${simulated.tpot} ${predicted.tpot}`);
    assert.ok(measured.tpot.median > 0 && measured.tokens.length === 4);
  }
  for (const phase of ['tpot', 'ttft'])
    assert.is(splits.filter(({ chosen }: { chosen: Record<string, boolean> }) => chosen[phase]).length, 1);
  assert.ok(ablations.length >= 1);
  assert.equal(
    batches.map(({ batch }: { batch: number }) => batch),
    [1, 3],
  );
  for (const { predicted, simulated, measured } of batches) {
    assert.ok(Math.abs(simulated / predicted - 1) < 0.01, `${simulated} ${predicted}`);
    assert.ok(measured.median > 0);
  }
  const [one, three] = batches;
  assert.ok(three.predicted > one.predicted, 'attention and arithmetic of three requests take longer');
  assert.is(readFileSync(join(out, 'profile.json'), 'utf8'), clusterFile({ ...PROFILE, gpu: GPU }));
  checkFirstScreen(join(out, 'report.html'));
  for (const file of ['splits.csv', 'batches.csv']) assert.ok(existsSync(join(out, file)), file);
});

test('of a mixture, experts of GPU layers are on the CPU too: of every number of layers, and of all', () => {
  const named = (name: string) => {
    const found = loadCatalogue().find(({ shape }) => shape.name === name)?.shape;
    if (found === undefined) throw new Error(`no ${name}`);
    return createModel({ ...found, layers: 3, kinds: found.kinds.slice(0, 3) }, 'Q8_0');
  };
  assert.equal(
    crossedSplits(named('OLMoE-1B-7B')).map(({ cpuUnits, cpuExperts, plan }) => [
      ...[cpuUnits, cpuExperts, plan.stages.at(-1)?.cpuExperts],
      plan.stages.at(-1)?.from,
    ]),
    [
      [1, 1, 1, 0],
      [1, 2, 2, 0],
      [1, 3, 3, 0],
      [2, 2, 2, 1],
      [3, 1, 1, 2],
    ],
  );
  assert.equal(crossedSplits(named('Llama-3-8B')), []);
});

test('a profile without a GPU is refused before anything runs', async () => {
  const { code, stderr } = await runHere(SCRIPT, ...SMALL, '--profile', join(folder, 'laptop.json'), '--out', folder);
  assert.is(code, 2);
  assert.match(stderr, /^--profile: .*laptop\.json has no GPU; measure it: hearth profile --device <name>\n$/);
});

test.run();
