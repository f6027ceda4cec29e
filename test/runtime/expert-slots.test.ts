import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createExpertCaches } from '../../engine/experts/expert-caches.ts';
import type { ExpertsPolicy } from '../../engine/experts/experts-policy.ts';
import { createUnitCache } from '../../engine/experts/unit-cache.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { transformerSettings } from '../../engine/gguf/transformer-settings.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { contextOf } from '../../engine/runtime/context-cache.ts';
import { createTransformer } from '../../engine/runtime/create-transformer.ts';
import { expertKernels } from '../../engine/runtime/expert-kernels.ts';
import { loadTransformer } from '../../engine/runtime/load-transformer.ts';
import { chosenExperts, observedRoutes } from '../../engine/runtime/observed-routes.ts';
import { createPasses } from '../../engine/runtime/passes.ts';
import { readRotations } from '../../engine/runtime/rotations.ts';
import {
  type LayerWeights,
  type Linear,
  loadWeights,
  weightsLoader,
} from '../../engine/runtime/transformer-weights.ts';
import { createExpertSlots } from '../../engine/runtime/weights/expert-slots.ts';
import type { ExpertAccess, ExpertReads } from '../../engine/runtime/weights/layer-experts.ts';
import { pagesOf } from '../../engine/runtime/weights/mapped-weights.ts';
import { weightsPartOf } from '../../engine/runtime/weights/weights-layout.ts';
import { createRunRecorder } from '../../engine/trace/run-recorder.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { goldenArchitecture, goldenArchitecturePath, hasGoldenArchitecture } from '../support/golden-architectures.ts';
import { testIf } from '../support/needs.ts';
import { nmse } from './nmse.ts';

const CONTEXT = 64;

/** A mixture with so many slots for each layer's experts, and what was read. */
function slotted(name: string, slotsOf: (experts: number, used: number) => number) {
  const path = goldenArchitecturePath(name);
  const plain = openKernels({ implementation: 'native', threads: 2, exact: true });
  const reads: string[] = [];
  const choices = new Map<number, number[][]>();
  return withFile(path, (bytes) => {
    const gguf = readGguf(bytes);
    const model = modelFromGguf(gguf);
    const settings = transformerSettings(gguf, model);
    const rotations = readRotations(gguf, bytes, model, CONTEXT);
    const source = { gguf, bytes, file: plain.mapFile(path), kernels: plain };
    const weights = loadWeights(source, model);
    const loader = weightsLoader(source, model);
    let [most, running] = [0, 0];
    const layers = new Map(
      [...model.kinds.entries()].flatMap(([layer, { feedForward }]) => {
        if (feedForward?.kind !== 'experts') return [];
        const { experts, used } = feedForward.router;
        most = slotsOf(experts, used);
        return [[layer, { experts, matrices: loader.expertBytes(layer) }] as const];
      }),
    );
    const slots = createExpertSlots({
      ...{ kernels: plain, pages: pagesOf(plain, source.file, { threads: 2 }), layers, slots: most },
      ...{ policy: { pool: 'layer', eviction: 'lru' }, passing: 0 },
      productOf: (layer, role) => (weights.layers[layer] as LayerWeights).products[role] as Linear,
      recorder: {
        ...createRunRecorder('here', 0),
        span: ({ lane, name }) => void (lane === 'disk' && reads.push(name)),
      },
    });
    const observed = observedRoutes(plain, (route) => {
      const { used } = route.router;
      const all = [...chosenExperts(route)];
      const own = choices.get(running) ?? [];
      for (let at = 0; at < all.length; at += used) own.push(all.slice(at, at + used));
      choices.set(running, own);
    });
    const kernels = expertKernels({
      ...{ kernels: observed, running: () => running, experts: slots.layers, hitsFirst: true },
    });
    const hook = {
      before(part: Parameters<typeof weightsPartOf>[0]) {
        running = Number(weightsPartOf(part));
      },
    };
    const passes = createPasses({
      ...{ model, settings, rotations, weights, kernels, mostTokens: CONTEXT, hooks: [hook] },
    });
    const cache = contextOf(plain, model, { capacity: CONTEXT, type: 'F32' });
    const transformer = createTransformer({ model, settings, contextLength: CONTEXT, passes, cache });
    return { transformer, reads, choices, close: () => plain.close() };
  });
}

/** Biases, a shared expert, gates and up in one tensor. */
const MODELS = ['gpt-oss-MXFP4', 'qwen2moe-F16', 'qwen3moe-F16', 'gemma4-moe-F16'].filter(hasGoldenArchitecture);

for (const name of MODELS)
  testIf(NATIVE_SETS.length > 0, 'the native kernels are not built', `${name}: as if all experts were held`, () => {
    const { tokens, positions, reference } = goldenArchitecture(name);
    const truth = Float32Array.from(reference.logits.flat());
    for (const slotsOf of [(_: number, used: number) => used, (experts: number) => experts - 1])
      for (const together of [64, 9, 1]) {
        const { transformer, close } = slotted(name, slotsOf);
        const width = transformer.model.vocabularySize;
        const logits = new Float32Array(tokens.length * width);
        for (let from = 0; from < tokens.length; from += together)
          logits.set(transformer.evaluateAll(tokens.slice(from, from + together)), from * width);
        const found = positions.flatMap((at) => [...logits.subarray(at * width, (at + 1) * width)]);
        const difference = nmse(Float32Array.from(found), truth);
        assert.ok(difference < 1e-5, `${together} together: ${difference}`);
        close();
      }
  });

testIf(
  NATIVE_SETS.length > 0,
  'the native kernels are not built',
  'what is read, token by token, is what a cache of the least recently used says of the choices',
  () => {
    const { tokens } = goldenArchitecture('qwen3moe-F16');
    const { transformer, reads, choices, close } = slotted('qwen3moe-F16', (_, used) => used + 1);
    for (const token of tokens) transformer.evaluate([token]);
    let missing = 0;
    for (const own of choices.values()) {
      const cache = createUnitCache({ slots: 3, eviction: { kind: 'lru' }, sparesNeeded: true, seed: 0 });
      for (const experts of own) missing += cache.need(experts).length;
    }
    assert.ok(missing < 64 * 3 * 2 && missing > 64, String(missing));
    // Gate, up and down of each.
    assert.is(reads.length, 3 * missing);
    close();
  },
);

/** Logits of tokens that are evaluated one by one, and the accesses to experts. */
function logitsUnder(name: string, experts: Partial<ExpertsPolicy>) {
  const kernels = openKernels({ implementation: 'native', threads: 2 });
  const accesses: ExpertAccess[] = [];
  const warnings: string[] = [];
  const transformer = loadTransformer(goldenArchitecturePath(name), {
    ...{ kernels, context: CONTEXT, kvCache: 'F32', experts, warn: (line) => warnings.push(line) },
    onExperts: (access) => accesses.push(access),
  });
  const { tokens } = goldenArchitecture(name);
  const logits = [tokens.slice(0, 5), ...tokens.slice(5).map((token) => [token])].flatMap((some) => [
    ...transformer.evaluate(some),
  ]);
  const reads = { ...(transformer.expertReads as ExpertReads) };
  kernels.close();
  return { logits, accesses, reads, warnings };
}

/** Policies for a mixture whose tokens use so many experts of each layer. */
const policiesOf = (used: number): readonly Partial<ExpertsPolicy>[] => [
  { slots: used + 1, hitsFirst: true },
  { slots: used, method: 'pread', depth: 1 },
  { slots: used, lookahead: { kind: 'next-router', ranks: 1 }, depth: 8 },
  { slots: used, eviction: 'pinned-hottest' },
  { slots: 3 * used + 1, pool: 'all', eviction: 'lfu' },
  // Fewer than a token uses, so that nothing would be held when it is needed.
  { slots: 2 * used - 1, pool: 'all', lookahead: { kind: 'previous-token' } },
  { slots: 3, pool: 'all', eviction: 'pinned-hottest' },
  { method: 'mmap' },
  { method: 'mmap', hitsFirst: false, lookahead: { kind: 'next-router', ranks: 2 } },
];

for (const [name, used] of (
  [
    ['gpt-oss-MXFP4', 4],
    ['qwen3moe-F16', 2],
  ] as const
).filter(([model]) => hasGoldenArchitecture(model)))
  testIf(
    NATIVE_SETS.length > 0,
    'the native kernels are not built',
    `${name}: the same numbers, bit by bit, and the reads of the policy's caches, under every policy`,
    () => {
      const expected = logitsUnder(name, { slots: used, hitsFirst: false }).logits;
      for (const policy of policiesOf(used)) {
        const { logits, accesses, reads } = logitsUnder(name, policy);
        const text = JSON.stringify(policy);
        assert.equal(logits, expected, text);
        const needs = accesses.filter(({ kind }) => kind === 'need');
        assert.is(
          reads.needs,
          needs.reduce((sum, { experts }) => sum + experts.length, 0),
          text,
        );
        if (policy.method === 'mmap') continue;
        const { pool = 'layer', eviction = 'lru', slots = 0 } = policy;
        const layers = 1 + Math.max(...accesses.map(({ layer }) => layer));
        const caches = createExpertCaches({ policy: { pool, eviction }, slots: slots as number, layers, experts: 8 });
        const isAhead = policy.lookahead !== undefined;
        assert.is(
          accesses.some(({ kind, read }) => kind === 'bring' && read.length > 0),
          isAhead,
          text,
        );
        for (const { layer, kind, experts, read } of accesses)
          assert.equal(
            caches[kind](layer, experts).map(({ unit }) => unit - caches.unitOf(layer, 0)),
            read,
            text,
          );
      }
    },
  );

testIf(
  NATIVE_SETS.length > 0,
  'the native kernels are not built',
  'slots that a mixture has no room for are refused, with those that are possible',
  () => {
    assert.throws(
      () => logitsUnder('qwen3moe-F16', { slots: 1 }),
      /^--expert-slots: 1 are asked for; 2 to \d+ are possible here$/,
    );
  },
);

test.run();
