import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadDevices } from '../../datasets/load.ts';
import { createRingPredictor } from '../../engine/cost/ring.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { optimal } from '../../engine/schedule/exact/optimal.ts';
import { wholeSeconds } from '../../experiments/partition-sweep/judge.ts';
import {
  homeCluster,
  homeShape,
  UPGRADES,
  type UpgradesSetting,
  upgradableMachines,
} from '../../experiments/upgrades/homes.ts';
import { recordedUpgrades } from '../../experiments/upgrades/recorded.ts';
import { summariseUpgrades, type UpgradeGroup } from '../../experiments/upgrades/summary.ts';
import createEvaluate from '../../experiments/upgrades/sweep-points.ts';
import { believed } from '../../planner/belief.ts';
import { upgradeParts } from '../../planner/changes.ts';
import { testReport } from '../support/open-report.ts';
import { runHere } from '../support/run-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-upgrades-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));

const setting: UpgradesSetting = {
  seed: 1,
  models: [createNamedModel(loadCatalogue(), 'Llama-3-70B')],
  workload: createWorkload({ context: 1024 }),
  parts: upgradeParts(loadDevices()),
  upgradable: upgradableMachines(loadDevices()),
  answer: 'predicted',
};

test('no upgrade of disk, memory or links makes the best plan slower', () => {
  const evaluate = createEvaluate(setting);
  let compared = 0;
  for (let home = 0; home < 90; home++) {
    const times = UPGRADES.map((_, index) => evaluate(home * UPGRADES.length + index) as number | null);
    const [base] = times;
    for (const name of ['disk', 'memory'] as const) {
      const time = times[UPGRADES.indexOf(name)];
      if (time === null || time === undefined || base === null || base === undefined) continue;
      assert.ok(time <= base * (1 + 1e-9), `home ${home}, ${name}: ${time} > ${base}`);
      compared += 1;
    }
  }
  assert.ok(compared > 40, `${compared}`);
});

test('a point has the same result whichever point was computed before it', () => {
  const models = ['Llama-3-8B', 'Llama-3-70B'].map((name) => createNamedModel(loadCatalogue(), name));
  const both = { ...setting, models };
  const evaluate = createEvaluate(both);
  const points = Array.from({ length: 80 }, (_, point) => point);
  const alone = points.map((point) => createEvaluate(both)(point));
  assert.equal(points.map(evaluate), alone);
  assert.equal(points.toReversed().map(evaluate), alone.toReversed());
});

test("a simulated token takes the closed forms' time, or less where pages are used while others are read", () => {
  const { workload, models } = setting;
  const [model] = models as [Model];
  let [compared, overlapped] = [0, 0];
  for (let home = 0; home < 90; home++) {
    const cluster = homeCluster({ home, model }, setting);
    const belief = believed(cluster);
    const { plan } = optimal({ belief, model, workload, reclaim: 'lru' });
    if (plan === undefined) continue;
    const { devices, tokenSeconds } = createRingPredictor(belief, model, workload, { reclaim: 'lru' })(plan);
    // Linux and Android read ahead of page faults: disk and processor work at once.
    const least = devices.reduce((sum, { device, seconds }) => {
      const { compute, memory, kvCopy, overhead, disk, deviceCopy, link } = seconds;
      const work = compute + memory + kvCopy + overhead;
      const overlaps = cluster.devices.find(({ name }) => name === device)?.os !== 'macos';
      return sum + deviceCopy + link + (overlaps ? Math.max(work, disk) : work + disk);
    }, 0);
    const seconds = wholeSeconds({ cluster, model, workload, reclaim: 'os' }, { ...plan, weights: {} }) as number;
    assert.ok(seconds > 0.99 * least && seconds < 1.01 * tokenSeconds, `${home}: ${least} ${seconds} ${tokenSeconds}`);
    compared += 1;
    if (seconds < 0.95 * tokenSeconds) overlapped += 1;
  }
  assert.ok(compared > 50, `${compared}`);
  assert.ok(overlapped > 5, `${overlapped}`);
});

test('plans fill memory up to what page tables need: one that is believed to fit reloads nothing', () => {
  const { workload, models } = setting;
  const [model] = models as [Model];
  let fits = 0;
  for (let home = 0; home < 120; home++) {
    const cluster = homeCluster({ home, model }, setting);
    const parts = { model, workload, reclaim: 'lru' } as const;
    const { plan } = optimal({ ...parts, belief: believed(cluster) });
    if (plan === undefined) continue;
    const { reloadedBytes, tokenSeconds } = createRingPredictor(cluster, model, workload, { reclaim: 'lru' })(plan);
    if (reloadedBytes > 0) continue;
    const simulated = wholeSeconds({ cluster, model, workload, reclaim: 'os' }, { ...plan, weights: {} });
    assert.ok(Math.abs((simulated as number) / tokenSeconds - 1) < 0.01, `home ${home}: ${simulated} ${tokenSeconds}`);
    fits += 1;
  }
  assert.ok(fits > 30, `${fits}`);
});

test('the summary counts the largest gain above 5 %, homes that run nothing, and medians', () => {
  // By home: none, disk, memory, GPU, links.
  const seconds = [
    ...[10, 5, 8, null, 10],
    ...[10, 9.9, 9.6, 9.7, 10],
    ...[null, null, null, null, null],
    ...[null, 3, null, 2, null],
  ];
  const groups = summariseUpgrades(seconds, setting);
  assert.is(
    groups.reduce((sum, { homes }) => sum + homes, 0),
    4,
  );
  const total = (name: (typeof UPGRADES)[number]): number => groups.reduce((sum, { first }) => sum + first[name], 0);
  assert.equal(UPGRADES.map(total), [1, 1, 0, 1, 0]);
  assert.is(
    groups.reduce((sum, { unrunnable }) => sum + unrunnable, 0),
    1,
  );
  const own = groups.find(({ regime }) => regime === homeShape(0, setting).regime);
  assert.ok((own?.medianGain.disk ?? 0) > 1);
});

test('the recorded groups are those of homes drawn anew, as far as so few tell', () => {
  const { settings, groups } = recordedUpgrades();
  const { seed, answer, context } = settings;
  const models = settings.models.map((name) => createNamedModel(loadCatalogue(), name));
  const drawn: UpgradesSetting = {
    seed,
    models,
    workload: createWorkload({ context }),
    ...{ parts: setting.parts, upgradable: setting.upgradable },
    answer,
  };
  const evaluate = createEvaluate(drawn);
  const homes = 300;
  const seconds = Array.from(
    { length: homes * models.length * UPGRADES.length },
    (_, at) => evaluate(at) as number | null,
  );
  for (const [index, own] of summariseUpgrades(seconds, drawn).entries()) {
    const all = groups[index] as UpgradeGroup;
    assert.equal([own.model, own.regime], [all.model, all.regime]);
    for (const name of UPGRADES) {
      const share = all.first[name] / all.homes;
      const error = Math.sqrt(Math.max(share * (1 - share), 1 / own.homes) / own.homes);
      const difference = Math.abs(own.first[name] / own.homes - share);
      assert.ok(difference < 4 * error, `${own.model} ${own.regime} ${name}: ${difference}, error ${error}`);
    }
  }
});

test('a run writes table and report, and starts from its points the second time', async () => {
  const command = ['experiments/upgrades.ts', '--homes', '40', '--workers', '1', '--out', directory] as const;
  const { code, stderr } = await runHere(...command);
  assert.is(code, 0, stderr);
  const csv = readFileSync(join(directory, 'upgrades.csv'), 'utf8');
  assert.match(csv, /^model,memory,homes,first_none,first_disk,first_memory,first_GPU,first_links,unrunnable,/);
  const again = await runHere(...command);
  assert.is(again.code, 0);
  assert.is(again.stderr, '');
  assert.is(readFileSync(join(directory, 'upgrades.csv'), 'utf8'), csv);
});

testReport(() => join(directory, 'report.html'), 1);

test.run();
