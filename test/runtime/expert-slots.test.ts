import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createExpertCaches } from '../../engine/experts/expert-caches.ts';
import type { ExpertReads } from '../../engine/experts/expert-reads.ts';
import type { ExpertsPolicy } from '../../engine/experts/experts-policy.ts';
import { createUnitCache } from '../../engine/experts/unit-cache.ts';
import { bufferSource } from '../../engine/gguf/byte-source.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { transformerSettings } from '../../engine/gguf/transformer-settings.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { loadSequences, loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { packExperts } from '../../engine/runtime/load/pack-experts.ts';
import { chosenExperts, observedRoutes } from '../../engine/runtime/observed/observed-routes.ts';
import { contextOf } from '../../engine/runtime/pass/context-cache.ts';
import { createPasses } from '../../engine/runtime/pass/passes.ts';
import { readRotations } from '../../engine/runtime/pass/rotations.ts';
import { createTransformer } from '../../engine/runtime/texts/create-transformer.ts';
import type { Sequence } from '../../engine/runtime/texts/sequences.ts';
import { expertKernels } from '../../engine/runtime/weights/expert-kernels.ts';
import { createExpertSlots } from '../../engine/runtime/weights/expert-slots.ts';
import type { ExpertAccess } from '../../engine/runtime/weights/layer-experts.ts';
import { pagesOf } from '../../engine/runtime/weights/mapped-weights.ts';
import { readPacked } from '../../engine/runtime/weights/packed-experts.ts';
import {
  type LayerWeights,
  type Linear,
  loadWeights,
  weightsLoader,
} from '../../engine/runtime/weights/transformer-weights.ts';
import { weightsPartOf } from '../../engine/runtime/weights/weights-layout.ts';
import { createRunRecorder } from '../../engine/trace/run-recorder.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { goldenArchitecture, goldenArchitecturePath, hasGoldenArchitecture } from '../support/golden-architectures.ts';
import { testIf } from '../support/needs.ts';
import { nmse } from './nmse.ts';

const CONTEXT = 64;
const folder = mkdtempSync(join(tmpdir(), 'hearth-slots-'));
test.after(() => rmSync(folder, { recursive: true }));

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

/** Logits of tokens that are evaluated one by one, the accesses to experts, and the reads of the disk's lane. */
function logitsUnder(name: string, experts: Partial<ExpertsPolicy>, packedExperts?: string) {
  const kernels = openKernels({ implementation: 'native', threads: 2 });
  const accesses: ExpertAccess[] = [];
  const warnings: string[] = [];
  let jobs = 0;
  const transformer = loadTransformer(goldenArchitecturePath(name), {
    ...{ kernels, context: CONTEXT, kvCache: 'F32', experts, packedExperts, warn: (line) => warnings.push(line) },
    onExperts: (access) => accesses.push(access),
    recorder: {
      ...createRunRecorder('here', 0),
      span({ lane, args }) {
        if (lane === 'disk' && String(args.what).includes('experts')) jobs += 1;
      },
    },
  });
  const { tokens } = goldenArchitecture(name);
  const logits = [tokens.slice(0, 5), ...tokens.slice(5).map((token) => [token])].flatMap((some) => [
    ...transformer.evaluate(some),
  ]);
  const reads = { ...(transformer.expertReads as ExpertReads) };
  kernels.close();
  return { logits, accesses, reads, warnings, jobs };
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
  { slots: 3 * used + 1, pool: 'all', eviction: 'least-stale' },
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

for (const name of ['gpt-oss-MXFP4', 'qwen3moe-F16', 'gemma4-moe-F16'].filter(hasGoldenArchitecture))
  testIf(
    NATIVE_SETS.length > 0,
    'the native kernels are not built',
    `${name}: packed experts give the same numbers, bit by bit, and the same accesses, with a read of each expert in place of three`,
    async () => {
      const path = join(folder, `${name}.packed`);
      await packExperts({ input: goldenArchitecturePath(name), path });
      for (const policy of [
        { slots: 5 },
        { slots: 6, method: 'pread' },
        { slots: 14, pool: 'all', eviction: 'slru' },
        { slots: 5, eviction: 'pinned-hottest' },
      ] as const) {
        const [file, packed] = [logitsUnder(name, policy), logitsUnder(name, policy, path)];
        const text = JSON.stringify(policy);
        assert.equal(packed.logits, file.logits, text);
        assert.equal(packed.accesses, file.accesses, text);
        assert.equal({ ...packed.reads, waited: 0 }, { ...file.reads, waited: 0 }, text);
        assert.is(packed.jobs, packed.reads.reads, text);
        assert.is(file.jobs, 3 * packed.jobs, text);
      }
      assert.throws(() => logitsUnder(name, { method: 'mmap' }, path), /--packed-experts: is for slots/);
    },
  );

test('packed experts of another model, and files that are none, are refused in one line', async () => {
  const [one, other] = ['qwen2moe-F16', 'qwen3moe-F16'] as const;
  if (!hasGoldenArchitecture(one)) return;
  const path = join(folder, 'other.packed');
  const bytes = await packExperts({ input: goldenArchitecturePath(one), path }).then(() => readFileSync(path));
  const refused = (contents: Uint8Array, line: RegExp): void => {
    const changed = join(folder, 'changed.packed');
    writeFileSync(changed, contents);
    assert.throws(
      () => logitsUnder(other, { slots: 4 }, changed),
      (error: Error) => error instanceof InputError && line.test(error.message),
    );
  };
  if (NATIVE_SETS.length > 0)
    refused(
      bytes,
      /changed\.packed: has the experts of another model file \(".*" with .*; this is ".*" with .*\); pack those of/,
    );
  const read = (contents: Uint8Array) => readPacked(bufferSource('x', contents));
  assert.is(read(bytes).layers.length > 0, true);
  assert.throws(() => read(bytes.subarray(0, -1)), /^x: has \d+ bytes, and its header describes \d+; it is incomplete/);
  assert.throws(
    () => read(Buffer.from('GGUF')),
    /^x: does not begin with HEARTHPX; give a file of hearth pack-experts$/,
  );
  const later = Buffer.from(bytes);
  later.writeUInt32LE(2, 8);
  assert.throws(() => read(later), /^x: byte 8: is of version 2; this is version 1: pack again$/);
  later.writeUInt32LE(1, 8);
  later.writeUInt32LE(2 ** 31, 12);
  assert.throws(() => read(later), /^x: byte 12: is a header of 2147483648 bytes; at most \d+ are possible here$/);
});

const NAMED = 'qwen3moe-F16';
testIf(
  NATIVE_SETS.length > 0 && hasGoldenArchitecture(NAMED),
  'the native kernels or a golden model are missing',
  'passes of several texts, prompts and generated tokens mixed, have the logits that they have without slots',
  async () => {
    const { tokens } = goldenArchitecture(NAMED);
    /** Logits of passes in which two texts are generated while a third's prompt comes. */
    const logitsOf = async (experts: Partial<ExpertsPolicy> | undefined): Promise<number[][]> => {
      const kernels = openKernels({ implementation: 'native', threads: 2 });
      const model = loadSequences(goldenArchitecturePath(NAMED), {
        ...{ kernels, context: CONTEXT, kvCache: 'F32', pages: 24, pageTokens: 8, folder, experts, warn: () => {} },
      });
      const [one, two, three] = [model.open(), model.open(), model.open()];
      const found: number[][] = [];
      const pass = async (...work: readonly (readonly [Sequence, number, number, 'singly' | 'together'])[]) => {
        const parts = work.map(([sequence, from, to, multiplied]) => ({
          ...{ sequence, multiplied, tokens: tokens.slice(from, to), logits: 'all' as const },
        }));
        found.push([...(await model.evaluate(parts))]);
      };
      await pass([one, 0, 6, 'together'], [two, 20, 29, 'together']);
      await pass([one, 6, 7, 'singly'], [two, 29, 30, 'singly']);
      await pass([one, 7, 8, 'singly'], [two, 30, 33, 'singly'], [three, 40, 52, 'together']);
      await pass([one, 8, 9, 'singly'], [two, 33, 34, 'singly'], [three, 52, 53, 'singly']);
      const reads = model.expertReads;
      assert.is(reads === undefined, experts === undefined);
      if (reads !== undefined) assert.ok(reads.reads > 8 && reads.needs >= reads.reads);
      kernels.close();
      return found;
    };
    const expected = await logitsOf(undefined);
    for (const experts of [{ slots: 8 }, { slots: 3 }, { slots: 9, pool: 'all' }] as const) {
      const found = await logitsOf(experts);
      // Generated tokens have the same bits; prompts that come in groups are multiplied in other batches.
      assert.equal(
        [found[1], found[3]].map((pass) => pass?.length),
        [expected[1], expected[3]].map((pass) => pass?.length),
      );
      for (const [index, pass] of found.entries())
        assert.ok(
          nmse(Float32Array.from(pass), Float32Array.from(expected[index] as number[])) < 1e-9,
          `pass ${index}`,
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
