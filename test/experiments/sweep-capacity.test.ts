import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connect } from '../../experiments/sweep/redis/connection.ts';
import { measureServiceTimes } from '../../experiments/sweep-capacity/measure.ts';
import { type QueueCase, simulateQueue } from '../../experiments/sweep-capacity/queue-model.ts';
import { realSweep } from '../../experiments/sweep-capacity/real-sweep.ts';
import { type Cost, recordedTimes, type ServiceTimes } from '../../experiments/sweep-capacity/service-times.ts';
import { relativelyNear } from '../support/near.ts';
import { testIf } from '../support/needs.ts';
import { testReport } from '../support/open-report.ts';
import { HAS_REDIS, type RedisServer, startRedis } from '../support/redis-server.ts';
import { runHere } from '../support/run-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-sweep-capacity-'));
let redis: RedisServer | undefined;
test.before(async () => {
  if (!HAS_REDIS) return;
  mkdirSync(join(directory, 'redis'));
  redis = await startRedis(join(directory, 'redis'));
});
test.after(async () => {
  await redis?.stop();
  rmSync(directory, { recursive: true, force: true });
});

const NOTHING: Cost = { redis: 0, client: 0 };
const FREE: ServiceTimes = {
  add: NOTHING,
  take: NOTHING,
  check: { call: NOTHING, each: NOTHING },
  store: { call: NOTHING, block: NOTHING, point: NOTHING },
  times: NOTHING,
  report: NOTHING,
  look: { call: NOTHING, each: NOTHING },
  read: { call: NOTHING, block: NOTHING, point: NOTHING },
};
const CASE: QueueCase = {
  times: FREE,
  workers: 4,
  jobSeconds: 0.1,
  blocksPerJob: 1,
  pointsPerBlock: 1,
  latency: 0,
  workerSeconds: 0,
  seconds: 60,
  seed: 1,
};

test('without costs, workers compute all the time', () => {
  const { jobsPerSecond, workersBusy, redisBusy } = simulateQueue(CASE);
  relativelyNear(jobsPerSecond, 40, 0.02);
  relativelyNear(workersBusy, 1, 1e-9);
  assert.is(redisBusy, 0);
});

test('a worker loses what its own program and the way to Redis take', () => {
  // Four operations there and back, and 10 ms: 24 of 124 ms.
  const { jobsPerSecond } = simulateQueue({ ...CASE, workers: 1, latency: 0.00175, workerSeconds: 0.01 });
  relativelyNear(jobsPerSecond, 1 / 0.124, 0.02);
});

test('one Redis ends as many jobs as its time per job allows, however many workers there are', () => {
  const times = { ...FREE, take: { redis: 0.002, client: 0 } };
  for (const workers of [100, 200]) {
    const { jobsPerSecond, redisBusy } = simulateQueue({ ...CASE, times, workers });
    relativelyNear(jobsPerSecond, 500, 0.03);
    assert.ok(redisBusy > 0.97 && redisBusy <= 1, `${redisBusy}`);
  }
});

test('the submitter reads as many points as its time per point allows', () => {
  const times = { ...FREE, read: { ...FREE.read, point: { redis: 0, client: 1e-4 } } };
  const { jobsPerSecond, submitterBusy } = simulateQueue({ ...CASE, times, workers: 50, pointsPerBlock: 100 });
  relativelyNear(jobsPerSecond, 100, 0.05);
  assert.ok(submitterBusy > 0.95, `${submitterBusy}`);
});

test('workers that share two processors end what these can compute', () => {
  const { jobsPerSecond } = simulateQueue({ ...CASE, workers: 40, workerSeconds: 0.01, processors: 2 });
  relativelyNear(jobsPerSecond, 200, 0.02);
  const half = simulateQueue({ ...CASE, workers: 40, workerSeconds: 0.01, processors: 0.5 });
  relativelyNear(half.jobsPerSecond, 50, 0.03);
});

test('the same seed gives the same result', () => {
  const { times } = recordedTimes();
  assert.equal(simulateQueue({ ...CASE, times }), simulateQueue({ ...CASE, times }));
  assert.not.equal(simulateQueue({ ...CASE, times }), simulateQueue({ ...CASE, times, seed: 2 }));
});

test('a run writes table and report', async () => {
  const { code, stdout, stderr } = await runHere(
    'experiments/sweep-capacity.ts',
    '--most-workers',
    '20',
    '--out',
    directory,
  );
  assert.is(code, 0, stderr);
  assert.match(stdout, /Jobs of 1\.00 s: 20 workers at 95 % or more of their time in points/);
  assert.match(readFileSync(join(directory, 'sweep-capacity.csv'), 'utf8'), /^job_s,workers,points_per_s,/);
});

testReport(() => join(directory, 'report.html'), 1);

testIf(
  HAS_REDIS,
  'redis-server is not installed',
  'operations of a real Redis are timed, and nothing is left',
  async () => {
    const { url } = redis as RedisServer;
    const times = await measureServiceTimes(url, () => {}, 100);
    const { add, take, check, store, look } = times;
    // Of an operation on many things, call and thing come from a line, which on a busy machine may begin at 0.
    const together = (call: typeof add, thing: typeof add) => ({
      client: call.client + thing.client,
      redis: call.redis + thing.redis,
    });
    const lines = [together(check.call, check.each), together(store.call, store.block), together(look.call, look.each)];
    for (const cost of [add, take, times.times, times.report, ...lines]) {
      assert.ok(cost.client > 1e-6 && cost.client < 0.1, JSON.stringify(times));
      assert.ok(cost.redis >= 0 && cost.redis < 0.01, JSON.stringify(times));
    }
    assert.ok(times.take.redis > 1e-6, JSON.stringify(times.take));
    const client = await connect(url);
    assert.equal(await client.keys('*'), []);
    client.disconnect();
  },
);

testIf(
  HAS_REDIS && process.platform === 'linux',
  'needs redis-server and /proc',
  'a real sweep of waiting points is timed',
  async () => {
    const { url } = redis as RedisServer;
    const { jobsPerSecond, workerSeconds } = await realSweep(url, { workers: 1, jobSeconds: 0.005, jobs: 200 });
    assert.ok(jobsPerSecond > 1 && jobsPerSecond < 200, `${jobsPerSecond}`);
    assert.ok(workerSeconds > 0 && workerSeconds < 0.1, `${workerSeconds}`);
  },
);

for (const [options, expected] of [
  [['--on', 'local'], /^--on: "local" isn’t a Redis URL; give redis:\/\/127\.0\.0\.1:PORT\n$/],
  [['--point-ms', '0'], /^--point-ms: /],
] as const) {
  test(`${options.join(' ')} is reported in one line with exit code 2`, async () => {
    const { code, stderr } = await runHere('experiments/sweep-capacity.ts', ...options, '--out', join(directory, 'no'));
    assert.is(code, 2);
    assert.match(stderr, expected);
  });
}

test.run();
