import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { MemoryPressure } from '../../commands/memory-pressure.ts';
import { parsePlan } from '../../engine/plan/parse-plan.ts';
import { type Running, startWorkerProcess } from '../ring/processes.ts';
import { madeFile } from '../runtime/made-file.ts';
import { type Ended, hearthHere, runScript } from '../support/run-script.ts';

const test = suite('hearth keygen, worker, run and split');
let [folder, model] = ['', ''];
/** Processes that are ended after the tests, since a failed test leaves its worker running. */
const started: Running[] = [];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
  model = await madeFile({ folder, name: 'tiny', shape: { vocabularySize: 1024 } });
});
test.after(() => {
  for (const { child } of started) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

const hearth = (...options: readonly string[]): Promise<Ended> => runScript('bin/hearth.js', ...options);
const file = (name: string, content: unknown): string => {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(content));
  return path;
};

test('two devices with keys generate the text of one process, and a trace', async () => {
  const [head, device] = await Promise.all(
    ['head', 'device'].map((name) => hearth('keygen', '--out', join(folder, `${name}.key`))),
  );
  assert.match(head?.stdout ?? '', /^[0-9a-f]{64}\n$/);
  assert.is(statSync(join(folder, 'head.key')).mode & 0o777, 0o600);
  const headKey = (head?.stdout ?? '').trim();
  const worker = await startWorkerProcess(model, '--keys', join(folder, 'device.key'), '--head', headKey);
  started.push(worker.running);
  const cluster = file('ring.json', {
    devices: [{ name: 'h' }, { name: 'w', address: worker.address, publicKey: device?.stdout.trim() }],
  });
  const plan = file('plan.json', {
    rounds: 1,
    stages: [
      { device: 'h', processor: 'cpu', from: 0, to: 1 },
      { device: 'w', processor: 'cpu', from: 1, to: 2 },
    ],
    embedding: { device: 'h', processor: 'cpu' },
    output: { device: 'h', processor: 'cpu' },
    kvCache: 'with-layers',
  });
  const trace = join(folder, 'trace.json');
  const options = ['--model', model, '--prompt', 'The weights', '--tokens', '6', '--temperature', '0', '--json'];
  const links = ['--cluster', cluster, '--plan', plan, '--keys', join(folder, 'head.key'), '--trace', trace];
  const [ring, alone] = await Promise.all([hearth('generate', ...options, ...links), hearth('generate', ...options)]);
  assert.is(ring.code, 0, ring.stderr);
  assert.equal(JSON.parse(ring.stdout).tokens, JSON.parse(alone.stdout).tokens);
  assert.match(readFileSync(trace, 'utf8'), /"compute: layer 1"/);
  worker.running.child.kill('SIGTERM');
  assert.is(await worker.running.ended, 0);
});

test('run makes a plan from addresses and workers’ profiles, carries it out and saves it', async () => {
  const facts = {
    os: 'linux',
    memory: { total: '16 GiB' },
    cpu: { cores: 1, compute: '40 GFLOPS', bandwidth: '10 GB/s' },
    disk: { sequential: '1 GB/s' },
  };
  const links = { default: { latency: '1 ms', bandwidth: '1 Gbps' } };
  const profile = file('profile.json', { name: 'p', devices: [{ name: 'p', ...facts }], links });
  const worker = await startWorkerProcess(model, '--profile', profile, '--memory', '1 GiB');
  started.push(worker.running);
  const options = ['--model', model, '--prompt', 'The weights', '--tokens', '3', '--temperature', '0', '--json'];
  const [cluster, plan] = [join(folder, 'found.json'), join(folder, 'made.json')];
  const saved = ['--save-cluster', cluster, '--save-plan', plan, '--scheduler', 'memory-ratio', '--memory', '900 MiB'];
  const ring = await hearth('run', ...options, '--worker', worker.address, '--plain', '--profile', profile, ...saved);
  assert.is(ring.code, 0, ring.stderr);
  const alone = await hearth('generate', ...options);
  assert.equal(JSON.parse(ring.stdout).tokens, JSON.parse(alone.stdout).tokens);
  const name = worker.address.replace('tcp://', '');
  const { memory } = JSON.parse(ring.stdout) as { memory: MemoryPressure[] };
  const [own, other] = memory as [MemoryPressure, MemoryPressure];
  assert.equal(
    memory.map(({ device, limitBytes }) => [device, limitBytes / 2 ** 20]),
    [
      [hostname(), 900],
      [name, 1024],
    ],
  );
  assert.match(
    ring.stderr,
    new RegExp(`^${name}: memory pressure [\\d.]+ % .* of 1.00 GiB\\), planned [\\d.]+ %$`, 'm'),
  );
  const found = JSON.parse(readFileSync(cluster, 'utf8'));
  assert.is(found.devices[1].address, worker.address);
  assert.is(found.links.pairs[0].between[1], name);
  const carried = JSON.parse(readFileSync(plan, 'utf8'));
  assert.is(carried.stages[1].device, name);
  assert.is(carried.weights[name].release, 'pinned');
  // Of Node.js, that much at least can't be reclaimed.
  if (process.platform === 'linux')
    for (const { measuredBytes, plannedBytes } of memory) assert.ok((measuredBytes ?? 0) > 20e6 + plannedBytes);
  const again = ['--cluster', cluster, '--plan', plan, '--plain', '--prefetch', 'willneed-whole', '--release', 'drop'];
  const asked = join(folder, 'asked.json');
  const second = await hearth('run', ...options, ...again, '--save-plan', asked);
  assert.is(second.code, 0, second.stderr);
  assert.match(second.stderr, new RegExp(`^${name}: .* of weights: release drop, prefetch willneed-whole$`, 'm'));
  const saidAgain = parsePlan(readFileSync(asked, 'utf8'), asked);
  assert.equal(saidAgain.weights[name], { prefetch: 'willneed-whole', release: 'drop' });
  // What was pinned is no longer held, and all else is planned as before.
  const [, dropped] = JSON.parse(second.stdout).memory as MemoryPressure[];
  assert.is(other.plannedBytes - (dropped?.plannedBytes ?? 0), carried.weights[name].pinned);
  assert.ok(own.plannedBytes > 0);
  assert.equal({ ...saidAgain, weights: {} }, { ...parsePlan(readFileSync(plan, 'utf8'), plan), weights: {} });
  worker.running.child.kill('SIGTERM');
  await worker.running.ended;
});

test('errors are reported in one line with exit code 2', async () => {
  const cluster = file('nobody.json', { devices: [{ name: 'h' }, { name: 'w', address: 'tcp://127.0.0.1:9' }] });
  writeFileSync(join(folder, 'open.key'), '{}', { mode: 0o644 });
  const prompt = ['--model', model, '--cluster', cluster, '--prompt', 'x'];
  const cases: [string[], string | RegExp][] = [
    [
      ['worker', '--model', model],
      '--keys: is missing; make keys by hearth keygen --out FILE (or use --plain on links you trust)\n',
    ],
    [
      ['worker', '--model', model, '--plain', '--listen', 'here'],
      'here: is not an address; give tcp://host:port, with a port from 1 to 65534 or *, an IPv6 address in brackets\n',
    ],
    [
      ['worker', '--model', model, '--plain', '--memory', '1 MiB'],
      // The process of many tests, in which the command runs here, may take over 1 GiB.
      /^--memory: 1 MiB is too little; Node.js and its heap take [\d.]+ [MG]iB of it\n$/,
    ],
    [
      ['run', '--model', model, '--prompt', 'x', '--plain'],
      '--cluster: or --worker is needed, but not both: a file of the devices, or their addresses\n',
    ],
    [
      ['run', ...prompt, '--plain', '--max-pressure', '0.06'],
      '--max-pressure: is a limit that only ring-aware keeps to; add --scheduler ring-aware\n',
    ],
    [['run', ...prompt, '--plain'], 'w: nobody listens at tcp://127.0.0.1:9\n'],
    [
      ['run', ...prompt, '--keys', join(folder, 'open.key')],
      `${join(folder, 'open.key')}: can be read by other users; chmod 600 it\n`,
    ],
    [
      ['split', '--model', model, '--plan', 'nowhere.json', '--out', folder],
      'nowhere.json: can’t be read; give the path of a plan\n',
    ],
  ];
  for (const [options, expected] of cases) {
    const ended = await hearthHere(...options);
    if (typeof expected === 'string') assert.is(ended.stderr, expected);
    else assert.match(ended.stderr, expected);
    assert.is(ended.code, 2);
  }
});

test.run();
