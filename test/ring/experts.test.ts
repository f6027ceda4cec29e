import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createExpertCaches } from '../../engine/experts/expert-caches.ts';
import { type ExpertsPolicy, USUAL_EXPERTS } from '../../engine/experts/experts-policy.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Model } from '../../engine/model/model.ts';
import { createPlan } from '../../engine/plan/create-plan.ts';
import type { WeightsPolicy } from '../../engine/plan/weights-policy.ts';
import type { Window } from '../../engine/plan/windows.ts';
import type { DeviceExpertReads } from '../../engine/ring/head/inquiries.ts';
import { recoveringRing } from '../../engine/ring/head/lost-worker.ts';
import { layoutOf, planRing, type RingLayout, type RingPlanning } from '../../engine/ring/head/planning.ts';
import { createRingTexts, ringModel } from '../../engine/ring/head/ring-texts.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import type { ExpertAccess } from '../../engine/runtime/weights/layer-experts.ts';
import type { IntegerSolver } from '../../engine/schedule/integer-solver.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { goldenArchitecture, goldenArchitecturePath, hasGoldenArchitecture } from '../support/golden-architectures.ts';
import { testIf } from '../support/needs.ts';
import { headHere, type LoggedWorker, requestOf, SETTINGS, wholeTexts, workerHere } from './ring-in-process.ts';

const isBuilt = NATIVE_SETS.length > 0;
const NOT_BUILT = 'the native kernels are not built';
const CONTEXT = 64;

const cached = (policy: Partial<ExpertsPolicy>): WeightsPolicy => ({
  ...{ prefetch: 'none', release: 'none' },
  experts: { ...USUAL_EXPERTS, ...policy },
});

/** A prompt of five tokens, and the others one by one. */
const partsOf = (tokens: readonly number[]): readonly (readonly number[])[] => [
  tokens.slice(0, 5),
  ...tokens.slice(5).map((token) => [token]),
];

/** The logits of one process, all of whose weights are in memory, and the accesses of one that reads experts ahead. */
function alone(name: string, policy?: Partial<ExpertsPolicy>) {
  const kernels = openKernels({ threads: 1 });
  const accesses: ExpertAccess[] = [];
  const one = loadTransformer(goldenArchitecturePath(name), {
    ...{ kernels, context: CONTEXT, kvCache: 'F32', warn: () => {}, experts: policy },
    onExperts: (access) => accesses.push(access),
  });
  const logits = partsOf(goldenArchitecture(name).tokens).map((part) => [...one.evaluate(part)]);
  kernels.close();
  return { logits, accesses };
}

/** Says in one line which texts of logits differ. */
function same(found: readonly number[][], expected: readonly number[][], what: string): void {
  const other = expected.findIndex((row, at) => row.some((value, index) => !Object.is(value, found[at]?.[index])));
  assert.is(other, -1, `${what}: logits of part ${other} differ`);
}

/** A ring with these windows and policies: its logits, what its devices read, and what they said. */
async function inRing(name: string, windows: readonly Window[], weights: RingLayout['weights']) {
  const path = goldenArchitecturePath(name);
  const workers: LoggedWorker[] = [];
  for (const device of ['a', 'b']) workers.push(await workerHere(device, path, { headKeys: undefined }));
  const settings = { ...SETTINGS, context: CONTEXT, pageTokens: CONTEXT };
  const { head } = headHere(
    path,
    workers.map(({ member }) => member),
    { settings },
  );
  try {
    await head.gather();
    await head.assemble({ windows, weights });
    const request = requestOf(head);
    const logits: number[][] = [];
    for (const part of partsOf(goldenArchitecture(name).tokens)) logits.push([...(await request.evaluate(part))]);
    const spans = await head.collectSpans();
    return { logits, reads: await head.expertReads(), reports: new Map(head.weights), spans };
  } finally {
    await head.close();
    for (const { worker } of workers) await worker.close();
  }
}

/** The first and the last layer are the head's. */
const WINDOWS: readonly Window[] = [
  { device: 'head', from: 0, to: 1 },
  { device: 'a', from: 1, to: 2 },
  { device: 'b', from: 2, to: 3 },
  { device: 'head', from: 3, to: 4 },
];
const layersIn = (windows: readonly Window[], device: string): number[] =>
  windows.flatMap((one) =>
    one.device === device ? Array.from({ length: one.to - one.from }, (_, at) => one.from + at) : [],
  );

/**
 * Counts of a device whose caches see the accesses to its own layers alone. The token before tells what is read ahead.
 * @param accesses of all layers, each of which has experts; without lookahead
 */
function replayed(accesses: readonly ExpertAccess[], layers: readonly number[], policy: ExpertsPolicy) {
  const caches = createExpertCaches({ policy, slots: policy.slots as number, layers: layers.length, experts: 8 });
  const counts = { needs: 0, reads: 0, ahead: 0 };
  const last = new Map<number, readonly number[]>();
  for (const { layer, experts } of accesses) {
    const own = layers.indexOf(layer);
    if (own < 0) continue;
    counts.needs += experts.length;
    counts.reads += caches.need(own, experts).length;
    const isPrompt = !last.has(layer) && experts.length > 4;
    const next = layers[own + 1];
    const guess = next === undefined ? undefined : last.get(next);
    if (!isPrompt) last.set(layer, experts);
    if (policy.lookahead.kind !== 'previous-token' || isPrompt || guess === undefined) continue;
    counts.ahead += caches.bring(own + 1, guess).length;
  }
  return counts;
}

const countsOf = (reads: readonly DeviceExpertReads[], device: string) => {
  const { needs, reads: read, ahead } = reads.find((one) => one.device === device) as DeviceExpertReads;
  return { needs, reads: read, ahead };
};

const POLICIES: readonly Partial<ExpertsPolicy>[] = [
  { slots: 5, hitsFirst: true },
  { slots: 4, method: 'pread', depth: 1, hitsFirst: false },
  { slots: 5, eviction: 'lfu' },
  { slots: 8, pool: 'all', eviction: 'random', lookahead: { kind: 'previous-token' } },
  { slots: 6, eviction: 'least-stale', pool: 'all' },
  { slots: 4, eviction: 'pinned-hottest' },
  { slots: 5, lookahead: { kind: 'next-router', ranks: 2 } },
  { slots: 'fit' },
  { method: 'mmap' },
];

const NAME = 'gpt-oss-MXFP4';
testIf(
  isBuilt && hasGoldenArchitecture(NAME),
  NOT_BUILT,
  'in a ring of three, every policy gives the numbers of one process bit by bit, and its caches’ reads of each device’s layers',
  async () => {
    const { logits: expected } = alone(NAME);
    const { accesses } = alone(NAME, { slots: 8 });
    assert.is(new Set(accesses.map(({ layer }) => layer)).size, 4);
    for (const policy of POLICIES) {
      const text = JSON.stringify(policy);
      const weights = { head: cached(policy), a: cached(policy), b: cached(policy) };
      const { logits, reads, reports, spans } = await inRing(NAME, WINDOWS, weights);
      same(logits, expected, text);
      assert.equal(
        reads.map(({ device }) => device),
        ['head', 'a', 'b'],
      );
      for (const { device, bytes, needs } of reads) {
        const carried = reports.get(device)?.policy.experts as ExpertsPolicy;
        assert.is(carried.slots, policy.method === 'mmap' ? 'fit' : policy.slots === 'fit' ? 8 : policy.slots, text);
        const layers = layersIn(WINDOWS, device);
        const replay = replayed(accesses, layers, carried.method === 'mmap' ? { ...carried, slots: 8 } : carried);
        assert.is(needs, replay.needs, text);
        if (policy.method === 'mmap' || policy.lookahead?.kind === 'next-router') continue;
        assert.equal(countsOf(reads, device), replay, `${text} ${device}`);
        const own = spans.find((one) => one.device === device)?.spans ?? [];
        const recorded = own.filter(
          (span) => span.kind === 'weights' && /experts of layer/.test(String(span.args.what)),
        );
        // Gate, up and down of each.
        assert.is(recorded.length, 3 * (replay.reads + replay.ahead), `${text} ${device}`);
        assert.ok(bytes > 0);
        // Weights that every token uses are read once into memory of the device's own, unless they are mapped.
        const always = own.flatMap((span) =>
          span.kind === 'weights' && span.name === 'prefetch' ? [String(span.args.what)] : [],
        );
        const kept = [...new Set(always)].filter((what) => !what.includes('experts')).sort();
        const parts = [...layers.map((layer) => `layer ${layer}`), ...(device === 'head' ? ['output'] : [])];
        assert.equal(kept, carried.method === 'mmap' ? [] : parts.sort(), `${text} ${device}`);
      }
      // Only the head has two layers: nothing is guessed for the layers of others.
      if (policy.lookahead !== undefined) {
        assert.ok(countsOf(reads, 'head').ahead > 0, text);
        assert.is(countsOf(reads, 'a').ahead, 0, text);
      }
    }
  },
);

for (const name of ['qwen3moe-F16', 'glm4moe-F16', 'qwen35moe-F16', 'deepseek2-mla-F16'].filter(hasGoldenArchitecture))
  testIf(isBuilt, NOT_BUILT, `${name}: a ring in which one device alone caches gives the same numbers`, async () => {
    const { logits: expected } = alone(name);
    const windows = [
      { device: 'head', from: 0, to: 1 },
      { device: 'a', from: 1, to: 2 },
      { device: 'b', from: 2, to: name.startsWith('qwen3moe') || name.startsWith('glm') ? 3 : 4 },
    ];
    const { logits, reads, reports } = await inRing(name, windows, { b: cached({ slots: 3 }) });
    same(logits, expected, 'in the ring');
    assert.equal(
      reads.map(({ device }) => device),
      ['b'],
    );
    assert.is(reports.get('a')?.policy.experts, undefined);
    const [own] = reads;
    assert.ok(own && own.reads > 0 && own.reads < own.needs, JSON.stringify(own));
  });

/** A device with so little to say of itself that every scheduler can plan with it. */
const factsOf = (name: string) => ({
  ...{ name, os: 'linux', memory: { total: '2 GiB', available: '1 GiB' }, disk: { sequential: '1 GB/s' } },
  cpu: { cores: 1, compute: '100 GFLOPS', bandwidth: '20 GB/s' },
});

/** Plans of `hearth run --plan` with a scheduler that takes over once a device is lost. */
function plannedLayouts(model: Model, policy: WeightsPolicy): (devices: readonly string[]) => RingLayout {
  const devices = ['head', 'a', 'b'];
  const links = { default: { latency: '1 ms', bandwidth: '1 Gbps' } };
  const facts = JSON.stringify({ name: 'three', devices: devices.map(factsOf), links });
  const place = { device: 'head', processor: 'cpu' } as const;
  const stages = WINDOWS.map(({ device, from, to }) => ({ device, from, to, processor: 'cpu' as const }));
  const plan = createPlan({
    ...{ scheduler: 'hand', rounds: 2, embedding: place, output: place, stages, kvCache: 'with-layers' },
    weights: { head: policy, a: policy, b: policy },
  });
  // Programs that are solved take a solver; this scheduler solves none.
  const solver = { solve: () => assert.unreachable('memory-ratio solves nothing') } as unknown as IntegerSolver;
  const planning: RingPlanning = {
    ...{ devices, model, context: CONTEXT, kvFormat: 'F32', plan: { file: 'plan.json', plan } },
    requested: { prefetch: undefined, release: undefined },
    scheduling: { cluster: parseCluster(facts, 'three.json'), scheduler: 'memory-ratio', solver },
  };
  return (present) => layoutOf(planRing(planning, present), planning);
}

/** The same windows for any devices, one after the other, each of which caches. */
const equalLayouts =
  (policy: WeightsPolicy) =>
  (devices: readonly string[]): RingLayout => ({
    windows: devices.map((device, at) => {
      const cut = (index: number): number => Math.round((4 * index) / devices.length);
      return { device, from: cut(at), to: cut(at + 1) };
    }),
    weights: Object.fromEntries(devices.map((device) => [device, policy])),
  });

for (const [how, layouts] of [
  ['that keep the policy', equalLayouts],
  ['of --plan with a scheduler', undefined],
] as const)
  testIf(
    isBuilt && hasGoldenArchitecture(NAME),
    NOT_BUILT,
    `under plans ${how} a lost worker’s layers are cached by those that are left, and by itself once it is back, with the same numbers`,
    async () => {
      const path = goldenArchitecturePath(NAME);
      const { logits: expected } = alone(NAME);
      const [a, b] = [
        await workerHere('a', path, { headKeys: undefined }),
        await workerHere('b', path, { headKeys: undefined }),
      ];
      const settings = { ...SETTINGS, context: CONTEXT, pageTokens: CONTEXT };
      const { head } = headHere(path, [a.member, b.member], { settings });
      const policy = cached({ slots: 5, lookahead: { kind: 'previous-token' } });
      const layoutFor = layouts?.(policy) ?? plannedLayouts(a.loaded.part.model, policy);
      await head.gather();
      const texts = createRingTexts(
        recoveringRing(head, layoutFor, () => {}),
        { ...wholeTexts(CONTEXT, 1), isRecurrent: false },
      );
      const model = ringModel(texts);
      const logits: number[][] = [];
      const parts = partsOf(goldenArchitecture(NAME).tokens);
      let back: LoggedWorker | undefined;
      for (const [index, part] of parts.entries()) {
        if (index === 10) await a.worker.close();
        if (index === 30) {
          back = await workerHere('a', path, { headKeys: undefined, address: a.worker.address });
          while (!head.present().includes('a')) await new Promise((resolve) => setTimeout(resolve, 20));
        }
        // Tokens that are evaluated again are multiplied in the same way.
        logits.push([...(await (part.length === 1 ? model.verify(part) : model.evaluate(part)))]);
        const devices = (await head.expertReads()).map(({ device }) => device);
        assert.equal(devices, index < 10 || index >= 30 ? ['head', 'a', 'b'] : ['head', 'b'], String(index));
        for (const device of devices) assert.equal(head.weights.get(device)?.policy, policy, `${index} ${device}`);
      }
      same(logits, expected, 'in the ring');
      await head.close();
      for (const worker of [back as LoggedWorker, b]) await worker.worker.close();
    },
  );

testIf(
  isBuilt && hasGoldenArchitecture(NAME),
  NOT_BUILT,
  'a worker says why it can’t cache experts so, and goes on',
  async () => {
    const path = goldenArchitecturePath(NAME);
    const worker = await workerHere('a', path, { headKeys: undefined });
    const { head } = headHere(path, [worker.member], { settings: { ...SETTINGS, context: CONTEXT } });
    await head.gather();
    const windows = [
      { device: 'head', from: 0, to: 1 },
      { device: 'a', from: 1, to: 4 },
    ];
    const refused = async (policy: Partial<ExpertsPolicy>): Promise<string> => {
      try {
        await head.assemble({ windows, weights: { a: cached(policy) } });
        return 'carried out';
      } catch (error) {
        return (error as Error).message;
      }
    };
    assert.match(
      await refused({ slots: 3 }),
      /^a: slots for experts of each layer: 3 are asked for, 4 to 8 are possible in .* next to .* that every token uses; give it more memory or fewer layers$/,
    );
    assert.match(await refused({ slots: 25, pool: 'all' }), /25 are asked for, 4 to 24 are possible/);
    assert.match(await refused({ layout: 'packed' }), /"packed" are read on one machine alone/);
    assert.match(await refused({ slots: 4, method: 'mmap' }), /mapped experts have no slots/);
    assert.is(await refused({ slots: 4 }), 'carried out');
    await head.close();
    await worker.worker.close();
  },
);

test.run();
