import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { openGpuKernels } from '../../engine/kernels/webgpu/node-gpu.ts';
import { parsePlan } from '../../engine/plan/parse-plan.ts';
import type { Span, Trace } from '../../engine/trace/trace.ts';
import { predicted, simulated } from '../../experiments/answers/answers.ts';
import { PARTS, type Parts, partsOf, partsWithin } from '../../experiments/answers/parts.ts';
import { traceOfChrome } from '../../experiments/lab/chrome-trace.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { type Running, startWorkerProcess } from '../ring/processes.ts';
import { madeFile } from '../runtime/made-file.ts';
import { GPU_MISSING } from '../support/gpu.ts';
import { testIf } from '../support/needs.ts';
import { hearthHere } from '../support/run-script.ts';

const started: Running[] = [];
let [folder, model, mixture] = ['', '', ''];
const LAYERS = 4;
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-answers-'));
  // Its layers have more bytes than a large folio, so that releasing a part frees memory.
  model = await madeFile({ folder, name: 'small', shape: { layers: LAYERS, hiddenSize: 256, ffnSize: 2048 } });
  mixture = join(folder, 'mixture.gguf');
  const shapes = join(folder, 'mixture.csv');
  writeFileSync(
    shapes,
    `name,architecture,layers,hidden_size,ffn_size,heads,kv_heads,head_size,vocabulary_size,trained_context,experts,experts_used,tied_embeddings,qkv_bias,default_mix,provenance
mixture,olmoe,${LAYERS},128,512,4,4,32,1024,512,16,2,false,false,Q8_0,assumed: a test`,
  );
  const made = await hearthHere('make-model', '--model-file', shapes, '--shape', 'mixture', '--out', mixture);
  assert.is(made.code, 0, made.stderr);
});
test.after(() => {
  for (const { child } of started) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

const file = (name: string, content: object): string => {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(content));
  return path;
};
const place = (device: string, processor = 'cpu') => ({ device, processor });
/** A plan whose first device is the head; more replaces parts of it. */
const planFile = (name: string, devices: readonly string[] = ['h'], more: object = {}): string => {
  const each = LAYERS / devices.length;
  const stages = devices.map((device, index) => ({ ...place(device), from: index * each, to: (index + 1) * each }));
  const head = place(devices[0] as string);
  return file(name, { rounds: 1, stages, embedding: head, output: head, kvCache: 'with-layers', ...more });
};
const clusterFile = (...names: readonly string[]): string => {
  const device = (name: string) => ({
    ...{ name, os: 'linux', memory: { total: '4 GiB', available: '2 GiB' } },
    cpu: { cores: 1, compute: '10 GFLOPS', bandwidth: '5 GB/s' },
    disk: { sequential: '1 GB/s', latency: '100 us' },
  });
  const links = { default: { latency: '1 ms', bandwidth: '1 Gbps' } };
  return file(`${names.join('-')}.json`, { name: 'some', devices: names.map(device), links });
};

const BRIEF = ['--prompt', '4', '--tokens', '5', '--repeats', '2', '--threads', '1'];
interface Answer {
  readonly ttft?: { readonly seconds: number; readonly parts?: Parts };
  readonly tpot: { readonly seconds: number; readonly parts?: Parts };
  readonly readBytes?: number;
}
interface Answers {
  readonly predicted: Answer;
  readonly simulated: Answer;
  readonly measured?: Answer & {
    readonly clock: string;
    readonly samples: { readonly tpot: { readonly repeats: number } };
  };
  readonly notMeasured?: string;
}
const answersOf = async (...options: readonly string[]): Promise<Answers> => {
  const { code, stdout, stderr } = await hearthHere('answers', ...BRIEF, '--json', ...options);
  assert.is(code, 0, stderr);
  return JSON.parse(stdout) as Answers;
};
const sum = (parts: Parts): number => PARTS.reduce((total, part) => total + parts[part], 0);
/** Each answer's parts add up to its seconds. */
const checkSums = ({ predicted, simulated, measured }: Answers): void => {
  for (const { tpot } of [predicted, simulated, ...(measured ? [measured] : [])]) {
    assert.ok(tpot.seconds > 0);
    assert.ok(Math.abs(sum(tpot.parts as Parts) - tpot.seconds) <= 1e-6 * tpot.seconds, JSON.stringify(tpot));
  }
};

test('a second belongs to the first part that holds: computing, reading, sending, waiting', () => {
  const span = (device: string, lane: Span['lane'], cause: Span['cause'], start: number, end: number): Span => {
    return { device, lane, cause, name: 'some', start, end, args: {} };
  };
  const trace: Trace = {
    devices: ['a', 'b'].map((name) => ({ name, lanes: ['cpu', 'disk', 'link'] })),
    spans: [
      span('a', 'cpu', 'compute', 0, 3),
      span('a', 'cpu', 'disk', 2, 5), // stalled from 2 on, though an operation has begun
      span('b', 'cpu', 'compute', 4, 6),
      span('b', 'disk', 'disk', 0, 10), // reads ahead, which nothing waits for
      span('a', 'link', 'link', 5, 8),
      span('b', 'cpu', 'compute', 9, 20),
    ],
    tokens: [],
    counters: [],
  };
  assert.equal(partsOf(trace, [{ start: 0, end: 10 }]), { computing: 5, reading: 2, sending: 2, waiting: 1 });
  // The mean of two tokens, with what lies between them left out.
  const two = partsOf(trace, [
    { start: 0, end: 2 },
    { start: 6, end: 8 },
  ]);
  assert.equal(two, { computing: 1, reading: 0, sending: 1, waiting: 0 });
});

test('what a recorder adds is waiting, and parts are never longer than the whole', () => {
  const parts = { computing: 4, reading: 2, sending: 2, waiting: 5 };
  assert.equal(partsWithin(parts, 9), { computing: 4, reading: 2, sending: 2, waiting: 1 });
  assert.equal(partsWithin(parts, 4), { computing: 2, reading: 1, sending: 1, waiting: 0 });
});

test('a plan for one device has three answers, a page, and a trace with both timelines', async () => {
  const out = join(folder, 'out');
  const plan = planFile('cpu.json');
  const answers = await answersOf('--plan', plan, '--model', model, '--cluster', clusterFile('h'), '--out', out);
  checkSums(answers);
  const { predicted, simulated, measured } = answers;
  // Nothing overlaps on one device whose weights are in memory.
  assert.ok(Math.abs(simulated.tpot.seconds / predicted.tpot.seconds - 1) < 0.01);
  assert.is(simulated.readBytes, 0);
  assert.is(measured?.clock, 'own');
  assert.is(measured?.samples.tpot.repeats, 1);
  assert.ok((measured?.ttft?.seconds ?? 0) > 0);
  const { devices, tokens } = traceOfChrome(JSON.parse(readFileSync(join(out, 'trace.json'), 'utf8')));
  assert.equal(
    devices.map(({ name }) => name).filter((name) => name.endsWith(': h')),
    ['simulated: h', 'measured: h'],
  );
  assert.is(tokens.length, 2 * 6);
  assert.match(readFileSync(join(out, 'report.html'), 'utf8'), /One plan, three answers: h 4/);
  assert.ok(existsSync(join(out, 'answers.json')));
});

test('the table has both phases by part, and says what the difference is', async () => {
  const plan = planFile('table.json');
  const { stdout, code } = await hearthHere(
    ...['answers', ...BRIEF, '--plan', plan, '--model', model, '--cluster', clusterFile('h')],
  );
  assert.is(code, 0);
  assert.match(stdout, /predicted +differs +simulated +differs +measured +spread/);
  for (const phase of ['A token \\(TPOT\\)', 'The prompt \\(TTFT\\)'])
    assert.match(stdout, new RegExp(`${phase}.*\\n +computing .*\\n +reading .*\\n +sending .*\\n +waiting `));
  assert.match(stdout, /A token: simulated .* measured .*most of the difference is \w+: .* than measured\./s);
});

testIf(
  NATIVE_SETS.length > 0,
  'the native kernels are not built',
  'weights that a plan releases are read for every token, by all three answers',
  async () => {
    const weights = { h: { prefetch: 'none', release: 'pinned', pinned: 8_000_000 } };
    const plan = planFile('pinned.json', ['h'], { weights });
    const answers = await answersOf('--plan', plan, '--model', model, '--cluster', clusterFile('h'));
    checkSums(answers);
    for (const one of [answers.predicted, answers.simulated]) {
      assert.ok((one.readBytes as number) > 5e6, `${one.readBytes}`);
      assert.ok((one.tpot.parts as Parts).reading > 0.2 * one.tpot.seconds);
    }
    assert.ok((answers.measured?.readBytes as number) > 1e6, `${answers.measured?.readBytes}`);
  },
);

testIf(
  NATIVE_SETS.length > 0,
  'the native kernels are not built',
  'a mixture with slots for experts has three answers',
  async () => {
    const experts = { slots: 3, pool: 'layer', eviction: 'lru', method: 'direct', layout: 'file', depth: 2 };
    const own = { prefetch: 'none', release: 'none', experts: { ...experts, hitsFirst: true } };
    const plan = planFile('experts.json', ['h'], {
      weights: { h: { ...own, experts: { ...own.experts, lookahead: { kind: 'none' } } } },
    });
    const answers = await answersOf('--plan', plan, '--model', mixture, '--cluster', clusterFile('h'));
    checkSums(answers);
    for (const { tpot } of [answers.predicted, answers.simulated]) assert.ok((tpot.parts as Parts).reading > 0);
    // Both follow the experts that tokens really use, from the same caches; disks are read in whole blocks.
    const blocks = (answers.measured?.readBytes ?? 0) / (answers.simulated.readBytes as number);
    assert.ok(blocks >= 1 && blocks < 1.2, `${blocks}`);
  },
);

test('a ring with a worker is measured where it is, and sends', async () => {
  const { running, address } = await startWorkerProcess(model);
  started.push(running);
  const asked = ['--plan', planFile('ring.json', ['h', 'w']), '--model', model, '--cluster', clusterFile('h', 'w')];
  const answers = await answersOf(...asked, '--worker', address.replace('tcp://', ''), '--plain');
  checkSums(answers);
  assert.is(answers.measured?.clock, 'wall');
  for (const one of [answers.predicted, answers.simulated]) assert.ok((one.tpot.parts as Parts).sending >= 2e-3);
  assert.ok((answers.measured?.tpot.parts?.sending ?? 0) > 0);
});

test('a plan that is not carried out has two answers, and the reason', async () => {
  const ways = {
    stages: ['ahead', 'in-turn'].map((streamed, index) => ({
      ...place('PC', 'gpu'),
      from: 2 * index,
      to: 2 * index + 2,
      streamed,
    })),
  };
  const outer = { embedding: place('PC'), output: place('PC', 'gpu') };
  const plan = planFile('streamed.json', ['PC'], { ...ways, ...outer });
  const answers = await answersOf('--plan', plan, '--model', model, '--cluster', 'helm-3090');
  checkSums(answers);
  assert.is(answers.measured, undefined);
  assert.is(answers.notMeasured, 'plan: stages[1].streamed: is "in-turn"; another stage of PC has "ahead"');
});

testIf(GPU_MISSING === undefined, GPU_MISSING ?? '', 'layers on a GPU have three answers', async () => {
  const { kernels, adapter } = await openGpuKernels({});
  kernels.close();
  const text = JSON.parse(readFileSync(clusterFile('h'), 'utf8'));
  const gpu = {
    api: 'webgpu',
    memory: { total: '4 GiB', available: '2 GiB' },
    compute: '1 GFLOPS',
    bandwidth: '1 GB/s',
  };
  const cluster = file('gpu-cluster.json', { ...text, devices: [{ ...text.devices[0], gpu }] });
  const stages = [
    { ...place('h'), from: 0, to: 3 },
    { ...place('h', 'gpu'), from: 3, to: 4 },
  ];
  const asked = ['--model', model, '--cluster', cluster, '--device', adapter, '--prompt', '2', '--repeats', '1'];
  const beside = await answersOf('--plan', planFile('split.json', ['h'], { stages }), ...asked);
  checkSums(beside);
  assert.is(beside.measured?.clock, 'wall');
  // Copied for every token, of which the recorder tells.
  const ahead = [{ ...place('h', 'gpu'), from: 0, to: LAYERS, streamed: 'ahead' }];
  const streamed = await answersOf('--plan', planFile('ahead.json', ['h'], { stages: ahead }), ...asked);
  checkSums(streamed);
  for (const one of [streamed.predicted, streamed.simulated, streamed.measured])
    assert.ok((one?.tpot.parts?.sending ?? 0) > 0);
  // Keys and values in RAM, which a prompt of more than a page makes pass through the GPU.
  const path = planFile('host.json', ['h'], { stages, kvCache: 'host' });
  checkSums(await answersOf('--plan', path, ...asked));
  const given = {
    ...{
      cluster: parseCluster(readFileSync(cluster, 'utf8'), cluster),
      plan: parsePlan(readFileSync(path, 'utf8'), path),
    },
    ...{
      model: modelFromGguf(withFile(model, readGguf)),
      kvFormat: 'F16' as const,
      routing: undefined,
      outputTokens: 4,
    },
  } as const;
  const sending = (promptTokens: number): number[] =>
    [predicted, simulated].map((answer) => answer({ ...given, promptTokens }).tpot.parts?.sending ?? 0);
  const [short, long] = [sending(4), sending(520)];
  for (const [index, seconds] of long.entries()) assert.ok(seconds > (short[index] as number));
});

test('chips have three answers, as the only device of a plan and as one of a ring', async () => {
  const [phone] = JSON.parse(readFileSync('datasets/clusters/hetero-8gen3.json', 'utf8')).devices;
  const text = JSON.parse(readFileSync(clusterFile('h'), 'utf8'));
  const cluster = file('chips.json', { ...text, devices: [{ ...phone, name: 'c' }, text.devices[0]] });
  const cuts = (tokens: number, rows: Readonly<Record<string, number>>) =>
    Object.fromEntries(Object.entries(rows).map(([name, npuRows]) => [name, { npuRows, npuLengths: [tokens] }]));
  const layer = { qkv: 100, 'attention-output': 64, 'gate-up': 2048, down: 256 };
  const partition = {
    ...{ synchronisation: 'fast', graphs: 'prepared', promptTokens: 4, prefill: cuts(32, layer) },
    decode: cuts(1, { ...layer, output: 32 }),
  };
  const onChip = place('c', 'gpu');
  const whole = [{ ...onChip, from: 0, to: LAYERS, partition }];
  const asked = ['--model', model, '--cluster', cluster];
  const alone = planFile('chip.json', ['c'], { stages: whole, embedding: onChip, output: onChip });
  const one = await answersOf('--plan', alone, ...asked);
  assert.ok((one.measured?.tpot.seconds ?? 0) > 0);
  const { running, address } = await startWorkerProcess(model);
  started.push(running);
  const stages = [
    { ...onChip, from: 0, to: 2, partition },
    { ...place('h'), from: 2, to: LAYERS },
  ];
  const head = { embedding: place('c'), output: { ...onChip, partition } };
  const ring = planFile('chip-ring.json', ['c', 'h'], { stages, ...head });
  const two = await answersOf('--plan', ring, ...asked, '--worker', address.replace('tcp://', ''), '--plain');
  checkSums(two);
  assert.ok((two.measured?.tpot.parts?.sending ?? 0) > 0);
});

test('wrong inputs are one line and code 2', async () => {
  const here = clusterFile('h');
  const two = clusterFile('h', 'w');
  const refusal = async (...options: readonly string[]): Promise<string> => {
    const { code, stderr } = await hearthHere('answers', ...BRIEF, ...options);
    assert.is(code, 2, stderr);
    assert.is(stderr.trimEnd().split('\n').length, 1, stderr);
    return stderr.trimEnd();
  };
  const ring = planFile('ring.json', ['h', 'w']);
  const asked = ['--plan', ring, '--model', model];
  assert.match(
    await refusal(...asked, '--cluster', here),
    /ring\.json: stages\[1\]\.device: cluster some has no "w"; allowed: h$/,
  );
  assert.match(
    await refusal(...asked, '--cluster', two, '--plain'),
    /^--worker: is missing for w; start hearth worker there, and give its address in the plan’s order: w$/,
  );
  assert.match(
    await refusal(...asked, '--cluster', two, '--plain', '--worker', 'nowhere'),
    /^--worker: "nowhere" is not an address/,
  );
  assert.match(
    await refusal(...asked, '--cluster', two, '--worker', '127.0.0.1:9'),
    /^--worker: "127\.0\.0\.1:9" has no key; add a comma and what its keygen printed, or use --plain$/,
  );
  assert.match(
    await refusal('--plan', planFile('alone.json'), '--model', model, '--cluster', here, '--worker', 'a:1'),
    /^--worker: 1 are given; the plan’s devices besides its head: none$/,
  );
  const short = planFile('short.json', ['h'], { stages: [{ ...place('h'), from: 0, to: 3 }] });
  assert.match(
    await refusal('--plan', short, '--model', model, '--cluster', here),
    /short\.json: stages: hold 3 layers; small has 4$/,
  );
  assert.match(
    await refusal('--plan', join(folder, 'none.json'), '--model', model),
    /none\.json: can’t be read; give the path of a plan$/,
  );
  const onGpu = planFile('gpu.json', ['h'], { stages: [{ ...place('h', 'gpu'), from: 0, to: LAYERS }] });
  assert.match(await refusal('--plan', onGpu, '--model', model, '--cluster', here), /"h" has no GPU; use "cpu"$/);
});

test.run();
