import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import {
  FIT_POLICY,
  PREFETCHES,
  pinnedBytesOf,
  RELEASES,
  type WeightsPolicy,
} from '../../engine/plan/weights-policy.ts';
import type { DeviceSpans } from '../../engine/ring/head/inquiries.ts';
import { ringTrace } from '../../engine/ring/head/trace.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import type { Span, Trace } from '../../engine/trace/trace.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { madeFile } from '../runtime/made-file.ts';
import { testIf } from '../support/needs.ts';
import { equalLayout, headHere, type LoggedWorker, requestOf, SETTINGS, workerHere } from './ring-in-process.ts';

const MIB = 2 ** 20;
const LAYERS = 8;
/** A layer has 4 · 512² + 3 · 512 · 1536 values of four bytes, 13 MiB; half of the layers 52 MiB. */
const SHAPE = { layers: LAYERS, hiddenSize: 512, ffnSize: 1536, heads: 8, kvHeads: 8, headSize: 64 };
/** Chunks of eight tokens: a prompt of two. Longer ones only take longer, most of all with sanitizers. */
const settings = { ...SETTINGS, chunk: 8 };
const PROMPT = Array.from({ length: 10 }, (_, i) => (7 * i) % 260);
const COUNT = 4;
let [folder, path] = ['', ''];
let worker: LoggedWorker | undefined;
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-ring-'));
  path = await madeFile({ folder, name: 'eight', shape: SHAPE });
});
test.after(async () => {
  await worker?.worker.close();
  rmSync(folder, { recursive: true });
});

const greedy = (logits: Float32Array): number => logits.indexOf(Math.max(...logits));

/** Tokens at temperature 0. */
async function tokensOf(evaluate: (tokens: readonly number[]) => Float32Array | Promise<Float32Array>) {
  const tokens: number[] = [];
  for (let more = PROMPT; tokens.length < COUNT; more = tokens.slice(-1)) tokens.push(greedy(await evaluate(more)));
  return tokens;
}

let expected: readonly number[] | undefined;
async function alone(): Promise<readonly number[]> {
  if (expected !== undefined) return expected;
  const kernels = openKernels({ threads: 1 });
  const one = loadTransformer(path, { kernels, context: SETTINGS.context, kvCache: 'F32', warn: () => {} });
  expected = await tokensOf((tokens) => one.evaluate(tokens));
  kernels.close();
  return expected;
}

/** Milliseconds by which the helper thread may be late. */
const HELPER = 20_000;

/** Bytes dropped by a worker that keeps nothing: all its weights for every token, except perhaps the last. */
const LEAST_DROPPED = (COUNT - 1) * 52 * MIB;

/** Whether a worker still has weights to drop. */
function isBehind(reports: readonly DeviceSpans[], { release }: WeightsPolicy): boolean {
  const spans = reports.find(({ device }) => device === 'w')?.spans ?? [];
  const dropped = spans.map((span) => (span.kind === 'weights' ? Number(span.args.released ?? 0) : 0));
  return release === 'drop' && dropped.reduce((sum, bytes) => sum + bytes, 0) < LEAST_DROPPED;
}

/** Runs a head and a worker with four windows of one layer each: tokens and trace. */
async function run(policy: WeightsPolicy, memory: number) {
  worker ??= await workerHere('w', path, { headKeys: undefined, memory });
  const { head, log } = headHere(path, [worker.member], { settings });
  await head.gather();
  const layout = equalLayout(['head', 'w'], LAYERS, LAYERS / 2);
  await head.assemble({ ...layout, weights: { head: policy, w: policy } });
  const request = requestOf(head);
  const intervals: { phase: 'prefill' | 'decode'; start: number; end: number }[] = [];
  const tokens = await tokensOf(async (more) => {
    const start = performance.now() / 1000;
    const logits = await request.evaluate(more);
    intervals.push({ phase: more.length > 1 ? 'prefill' : 'decode', start, end: performance.now() / 1000 });
    return logits;
  });
  const carried = head.weights.get('w');
  let reports = await head.collectSpans();
  // On a busy disk the helper thread may be several windows late.
  for (const start = performance.now(); isBehind(reports, policy) && performance.now() - start < HELPER; ) {
    await sleep(20);
    const more = await head.collectSpans();
    reports = reports.map((one, at) => ({ ...one, spans: [...one.spans, ...(more[at]?.spans ?? [])] }));
  }
  const trace = ringTrace(reports, intervals);
  await head.close();
  while (!worker.log.at(-1)?.includes('freed')) await new Promise(setImmediate);
  return { tokens, carried, trace, log };
}

/** Bytes in the spans of this name on the worker. */
const bytesOf = (spans: readonly Span[], name: string): number =>
  spans
    .filter((span) => span.device === 'w' && span.name === name)
    .reduce((sum, { args }) => sum + (args.bytes ?? 0), 0);
const released = ({ spans }: Trace): number =>
  spans.filter(({ device }) => device === 'w').reduce((sum, { args }) => sum + Number(args.released ?? 0), 0);

/** 30 MiB for 52 MiB of weights; caches and activations have memory besides. */
const MEMORY = 30 * MIB + 16 * MIB;

for (const prefetch of PREFETCHES)
  for (const release of RELEASES)
    testIfNative(`prefetch ${prefetch}, release ${release}: the tokens of one process`, async () => {
      const { tokens, carried, trace } = await run(
        release === 'pinned' ? { prefetch, release, pinned: 'fit' } : { prefetch, release },
        MEMORY,
      );
      assert.equal(tokens, await alone());
      assert.is(carried?.policy.prefetch, prefetch);
      assert.is(carried?.policy.release, release);
      assert.is(Math.round((carried?.bytes ?? 0) / MIB), 52);
      const calls = trace.spans.filter(({ device, name }) => device === 'w' && name === 'prefetch');
      if (prefetch === 'none') assert.is(calls.length, 0);
      else assert.ok(calls.length > 0 && calls.every(({ args }) => args.call === prefetch));
      if (release === 'none') assert.is(released(trace), 0);
      if (release === 'drop') assert.ok(released(trace) >= LEAST_DROPPED, String(released(trace)));
      const sampled = trace.counters.filter(({ device }) => device === 'w').map(({ name }) => name);
      for (const name of ['resident weights of layer 1 (bytes)', 'resident weights (bytes)'])
        assert.ok(sampled.includes(name), sampled.join(', '));
    });

testIfNative('pinned: a prefix of every window stays, and only the rest is read for every token', async () => {
  const { carried, trace } = await run(FIT_POLICY, MEMORY);
  const pinned = carried === undefined ? 0 : pinnedBytesOf(carried.policy);
  assert.ok(pinned > 10 * MIB && pinned < 30 * MIB, `${pinned / MIB} MiB`);
  const rest = (carried?.bytes ?? 0) - pinned;
  // Weights are released after every window, but not between a prompt's chunks, which run the same window in turn.
  assert.ok(released(trace) >= (COUNT - 1) * rest && released(trace) <= 2 * COUNT * rest, `${released(trace) / MIB}`);
  const read = bytesOf(trace.spans, 'prefetch');
  const resident = trace.counters.find(({ device, name }) => device === 'w' && name === 'resident weights (bytes)');
  const most = Math.max(...(resident?.samples ?? []).map(({ value }) => value));
  // On a file system in memory nothing is read, and nothing can be dropped.
  if (most > 45 * MIB && read === 0) return;
  assert.ok(read >= (COUNT - 2) * rest, `${read / MIB} MiB read; ${rest / MIB} of rest`);
  assert.ok(most <= 40 * MIB, `${most / MIB} MiB resident`);
});

testIfNative('the frames of a prompt read the weights of a window once for all', async () => {
  const policy = { prefetch: 'populate', release: 'drop' } as const;
  worker ??= await workerHere('w', path, { headKeys: undefined, memory: MEMORY });
  const { head } = headHere(path, [worker.member], { settings });
  await head.gather();
  const layout = equalLayout(['head', 'w'], LAYERS, LAYERS / 2);
  await head.assemble({ ...layout, weights: { head: policy, w: policy } });
  await requestOf(head).evaluate(Array.from({ length: 26 }, (_, index) => index));
  let dropped = 0;
  for (let waited = 0; dropped < 52 * MIB && waited < HELPER; waited += 20) {
    await sleep(20);
    for (const { device, spans } of await head.collectSpans())
      if (device === 'w')
        for (const span of spans) if (span.kind === 'weights') dropped += Number(span.args.released ?? 0);
  }
  await head.close();
  // Four frames go through four windows; on a file system in memory nothing can be dropped.
  assert.is(Math.round(dropped / MIB), 52);
});

function testIfNative(name: string, body: () => Promise<void>): void {
  testIf(NATIVE_SETS.length > 0, 'the native kernels are not built', name, body);
}

test.run();
