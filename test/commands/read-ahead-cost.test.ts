import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { detailText } from '../../commands/plan-report.ts';
import { readAheadCosts, readAheadText } from '../../commands/read-ahead-cost.ts';
import { createNamedModel, loadCatalogue, loadDevices } from '../../datasets/load.ts';
import { type ExpertsPolicy, USUAL_EXPERTS } from '../../engine/experts/experts-policy.ts';
import { createCluster } from '../../engine/hardware/cluster.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { namedPart, presetCluster, readPreset } from '../../engine/hardware/preset-cluster.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { createPlan } from '../../engine/plan/create-plan.ts';
import { answer, type RunnableAnswer } from '../../planner/answer.ts';
import type { Question } from '../../planner/question.ts';

const DESKTOP = 'Desktop Ryzen 7 7700 32 GB';
const KIB = 1024;
const MAPPED: ExpertsPolicy = { ...USUAL_EXPERTS, method: 'mmap', pool: 'all', depth: 1, hitsFirst: false };

/** A mixture of 30 GB on a desktop with 32 GB whose disk reads so far ahead. */
function ask(readAhead: number | undefined): Question {
  const parts = loadDevices();
  const network = namedPart(parts, { name: 'Wi-Fi 6', flag: '--link', kinds: ['link'] });
  const bare = parseCluster(presetCluster([readPreset(parts, DESKTOP, '--device')], network), 'devices');
  const devices = bare.devices.map((one) => ({
    ...one,
    disk: { ...one.disk, ...(readAhead !== undefined && { readAhead }) },
  }));
  return {
    cluster: createCluster({ ...bare, devices }),
    model: createNamedModel(loadCatalogue(), 'Qwen3-30B-A3B:Q8_0'),
    workload: createWorkload({ promptTokens: 128, context: 1024 }),
  };
}

const asked = ask(8192 * KIB);
const planned = answer(asked, { simulates: false }) as RunnableAnswer;
const withExperts = (experts: ExpertsPolicy) =>
  createPlan({ ...planned.plan, weights: { [DESKTOP]: { prefetch: 'none', release: 'none', experts } } });

test('mapped experts say what a long read-ahead costs, and the command that shortens it', () => {
  const [cost, ...others] = readAheadCosts(asked, withExperts(MAPPED));
  assert.is(others.length, 0);
  assert.ok(cost !== undefined && cost.betterSeconds < 0.8 * cost.seconds, JSON.stringify(cost));
  assert.is(cost.readAhead, 8192 * KIB);
  const text = readAheadText(cost);
  assert.match(
    text,
    /^Desktop Ryzen 7 7700 32 GB reads 8\.00 MiB ahead of page faults, which costs \d+ % of a token’s/,
  );
  assert.match(text, new RegExp(`: echo ${cost.better / KIB} \\| sudo tee /sys/block/DISK/queue/read_ahead_kb$`));
  // The proposal costs nothing any more.
  assert.equal(readAheadCosts(ask(cost.better), withExperts(MAPPED)), []);
  const rest = { without: [], upgrades: [], commands: [], readAhead: [cost] };
  assert.ok(detailText(asked.cluster, [], { answered: planned, ...rest }).includes(text));
});

test('nothing is said where nobody states it, and of experts that are read past the page cache', () => {
  assert.equal(readAheadCosts(ask(undefined), withExperts(MAPPED)), []);
  assert.equal(readAheadCosts(asked, withExperts(USUAL_EXPERTS)), []);
});

test.run();
