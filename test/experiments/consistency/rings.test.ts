import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createNamedModel, loadCatalogue, loadCluster } from '../../../datasets/load.ts';
import { testbedNamed, trueCluster } from '../../../datasets/testbeds.ts';
import { DEFAULT_RUNTIME } from '../../../engine/cost/runtime.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { memoryRatio } from '../../../engine/schedule/baselines/memory-ratio.ts';
import { type Cell, held, judge, type Problem, priors } from '../../../experiments/consistency/problem.ts';
import { withQuantity } from '../../../experiments/consistency/quantities.ts';
import { type RingSystem, type RingUnknown, ringProblem } from '../../../experiments/consistency/rings.ts';
import { scan } from '../../../experiments/consistency/scan.ts';
import { chooseValues } from '../../../experiments/consistency/search.ts';
import { UNKNOWN_TESTBEDS } from '../../../experiments/consistency/testbeds.ts';

const GIB = 2 ** 30;
const DEVICES = ['node1', 'node2', 'node3', 'node4'] as const;
const catalogue = loadCatalogue();
const workload = createWorkload({ promptTokens: 6, outputTokens: 3, context: 256 });

/** A ring of four equal devices without GPUs, cut evenly, whose devices load by page faults. */
const even: RingSystem = {
  prefetch: () => 'none',
  ignores: [],
  wayOf: () => 'even',
  headed: (cluster) => cluster,
  schedule: (_, model, { belief }) => ({
    ...memoryRatio({ belief, model, workload }),
    workload,
    runtime: DEFAULT_RUNTIME,
  }),
};

const about = { unit: '', printed: undefined, reason: '', sees: () => true, seen: 'all cells' } as const;
const RAM: RingUnknown = {
  ...about,
  name: 'ram',
  prior: 5,
  values: [5, 6, 7, 8, 9, 9.05, 9.1, 10],
  quantity: { kind: 'ram', devices: DEVICES },
};
const DISK: RingUnknown = {
  ...about,
  name: 'disk',
  prior: 2,
  values: [0.5, 0.9, 1, 1.1, 2, 3],
  quantity: { kind: 'disk', devices: DEVICES },
};

const MODELS = ['Llama-3-8B', 'Llama-1-30B', 'Llama-3-45B', 'Llama-3-60B', 'Llama-1-65B', 'Llama-3-70B'];

function problemOf(cells: readonly Cell[]): Problem {
  return ringProblem({
    name: 'made up',
    cluster: loadCluster('prima-fig2'),
    unknowns: [RAM, DISK],
    cells,
    systems: { ring: even },
    modelOf: (key) => createNamedModel(catalogue, key),
    tolerance: 0.3,
    used: {},
  });
}

const blank = MODELS.map(
  (row): Cell => ({ name: row, table: 'Table 1', system: 'ring', row, model: row, published: 1 }),
);

test('the search finds the RAM and the disk of a made-up testbed from its simulated times alone', () => {
  const truth = { ram: 9.05, disk: 1 };
  const made = judge(problemOf(blank), truth);
  const problem = problemOf(made.map(({ cell, seconds = Number.NaN }) => ({ ...cell, published: seconds })));
  assert.ok(held(judge(problem, priors(problem))) < MODELS.length);
  assert.equal(chooseValues(problem), truth);
  const best = scan(problem, RAM, truth).points.filter(({ judged }) => held(judged) === MODELS.length);
  assert.equal(
    best.map(({ value }) => value),
    [9, 9.05, 9.1],
  );
});

test('cached answers equal those of a new problem', () => {
  const used = problemOf(blank);
  for (const disk of DISK.values) for (const ram of RAM.values) judge(used, { ram, disk });
  const at = { ram: 8, disk: 0.5 };
  assert.equal(judge(used, at), judge(problemOf(blank), at));
});

test('RAM changes the truth only; a disk is measured, so that it changes the belief as well', () => {
  const cluster = loadCluster('prima-fig2');
  const setting = { belief: cluster, truth: cluster, vramKept: 0, kvRoom: 256 };
  const ram = withQuantity(setting, { kind: 'ram', devices: ['node2'] }, 3);
  assert.is(ram.belief, cluster);
  assert.equal(
    ram.truth.devices.map(({ memory }) => memory.available / GIB),
    [6, 3, 6, 6],
  );
  const disk = withQuantity(setting, { kind: 'disk', devices: ['node1'] }, 0.5);
  assert.equal(
    disk.belief.devices.map((device) => device.disk.sequential),
    [0.5e9, 2e9, 2e9, 2e9],
  );
  assert.is(disk.truth.devices[0]?.disk.sequential, 0.5e9);
});

for (const { cluster, unknowns, map } of UNKNOWN_TESTBEDS) {
  test(`${cluster}: the priors of RAM follow from the testbed's rule without inferred values`, () => {
    const testbed = testbedNamed(cluster);
    const { devices } = trueCluster({ ...testbed, unknowns: [] }, loadCluster(testbed.belief));
    for (const { name, prior, quantity } of unknowns) {
      if (quantity.kind !== 'ram') continue;
      for (const device of devices.filter((one) => quantity.devices.includes(one.name)))
        assert.ok(Math.abs(device.memory.available / GIB - prior) < 1e-6, name);
    }
  });

  test(`${cluster}: every unknown has its prior among ascending values, and its devices exist`, () => {
    const { devices } = loadCluster(cluster);
    for (const { name, values, prior, quantity } of unknowns) {
      assert.ok(values.includes(prior), name);
      assert.equal(
        [...values].sort((one, other) => one - other),
        [...values],
        name,
      );
      if (!('devices' in quantity)) continue;
      for (const device of quantity.devices)
        assert.ok(
          devices.some((one) => one.name === device),
          device,
        );
    }
    for (const name of map)
      assert.ok(
        unknowns.some((one) => one.name === name),
        name,
      );
  });

  test(`${cluster}: no device is given more RAM than is installed`, () => {
    const { devices } = loadCluster(cluster);
    for (const { name, values, quantity } of unknowns) {
      if (quantity.kind !== 'ram') continue;
      for (const device of devices.filter((one) => quantity.devices.includes(one.name)))
        assert.ok(Math.max(...values) * GIB <= device.memory.total, `${name}: ${device.name}`);
    }
  });
}

test.run();
