import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { promptOf, type StreamedRequest } from '../../engine/batch/request-stream.ts';
import { passLoad } from '../../engine/cost/mixed-pass.ts';
import { predict } from '../../engine/cost/predict.ts';
import { predictServing } from '../../engine/cost/serving.ts';
import { randomStream } from '../../engine/input/random-stream.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import type { BatchEngine } from '../../engine/runtime/batch/batch-engine.ts';
import { createBatchEngine } from '../../engine/runtime/batch/create-batch-engine.ts';
import { loadSequences } from '../../engine/runtime/load/load-transformer.ts';
import { createSampler, SAMPLER_DEFAULTS } from '../../engine/text/sampling/sampler.ts';
import { simulateServing } from '../../simulator/serving.ts';
import { CONTEXT, LAYERS, servedRing } from '../ring/served-ring.ts';
import { madeFile } from '../runtime/made-file.ts';
import { relativelyNear as near } from '../support/near.ts';
import { TOY_MODEL, TOY_RUNTIME, toyCluster, toyDevice } from '../support/toy-cluster.ts';

/** Weights are read once, from disks that take next to no time. */
const disk = { sequential: 1e15, random: 1e15 };
const CLUSTER = toyCluster([
  { ...toyDevice('one'), disk },
  { ...toyDevice('two'), disk },
]);
const MODEL = TOY_MODEL;
const planOf = (...devices: readonly string[]) =>
  ringPlan({
    scheduler: 'hand',
    head: 'one',
    rounds: 1,
    windows: devices.map((device) => ({ device, layers: MODEL.layers / devices.length, gpuLayers: 0 })),
    prefetch: 'none',
  });
const BASE = { cluster: CLUSTER, model: MODEL, plan: planOf('one'), runtime: TOY_RUNTIME, pages: 8, pageTokens: 4 };

test('one request takes its passes as they are predicted, one after the other', () => {
  for (const plan of [planOf('one'), planOf('one', 'two')]) {
    const requests = [{ arrival: 2, promptTokens: 5, outputTokens: 3 }];
    const { requests: served, passes } = simulateServing({ ...BASE, plan, requests });
    assert.equal(
      passes.map(({ load }) => [load.prompt, load.generated, load.chosen]),
      [
        [5, 0, 1],
        [0, 1, 1],
        [0, 1, 1],
      ],
    );
    const workload = createWorkload({ context: 32 });
    const seconds = passes.map(
      ({ load }) =>
        predict({ plan, truth: CLUSTER, model: MODEL, workload, runtime: TOY_RUNTIME, pass: load }).tokenSeconds,
    );
    for (const [index, { start, end }] of passes.entries()) near(end - start, seconds[index] as number);
    assert.is(served[0]?.begin, 2);
    near(
      (served[0]?.end ?? 0) - 2,
      seconds.reduce((sum, one) => sum + one, 0),
    );
  }
});

test('on a ring a long prompt goes around in frames, on which devices work at once', () => {
  const requests = [{ arrival: 0, promptTokens: 300, outputTokens: 1 }];
  const ring = { ...BASE, plan: planOf('one', 'two'), requests, pages: 80 };
  const workload = createWorkload({ context: 320 });
  const secondsOn = (devices: readonly string[], position: number): number =>
    predict({
      plan: planOf(...devices),
      ...{ truth: CLUSTER, model: MODEL, workload, runtime: TOY_RUNTIME },
      pass: passLoad([{ tokens: 100, position, isGenerated: false, isLast: position === 200 }]),
    }).tokenSeconds;
  // Rows of the embedding take 0.2 s each, the output layer 5 s; the head computes no output before the third frame.
  const outputs = [20, 20, 25];
  let [head, other, end] = [0, 0, 0];
  for (const [index, output] of outputs.entries()) {
    const alone = secondsOn(['one'], 100 * index);
    const window = (alone - output) / 2;
    const hop = (secondsOn(['one', 'two'], 100 * index) - alone) / 2;
    head += window;
    other = Math.max(other, head + hop) + window;
    end = Math.max(end, other + hop) + output;
  }
  const [inFrames] = simulateServing({ ...ring, chunk: 100 }).passes;
  near((inFrames?.end ?? 0) - (inFrames?.start ?? 0), end);
  const [whole] = simulateServing({ ...ring, chunk: 300 }).passes;
  assert.ok((whole?.end ?? 0) > 1.2 * end);
  // One machine takes the prompt as a whole.
  const [alone] = simulateServing({ ...ring, plan: planOf('one'), chunk: 100 }).passes;
  near((alone?.end ?? 0) - (alone?.start ?? 0), simulateServing({ ...ring, plan: planOf('one') }).passes[0]?.end ?? 0);
  assert.throws(() => simulateServing({ ...ring, chunk: 0 }), /chunk: 0 is not a whole number/);
});

const PREFIX = { name: 'chat', tokens: 9 };
const ALIKE: readonly StreamedRequest[] = [
  { arrival: 0, promptTokens: 20, outputTokens: 12, prefix: PREFIX },
  { arrival: 0, promptTokens: 9, outputTokens: 20 },
  { arrival: 0, promptTokens: 23, outputTokens: 3 },
  { arrival: 0, promptTokens: 17, outputTokens: 24, prefix: PREFIX },
  { arrival: 0, promptTokens: 12, outputTokens: 16, prefix: PREFIX },
  { arrival: 0, promptTokens: 30, outputTokens: 1 },
];

/** The cached tokens of requests that an engine answers. */
async function cachedOn(engine: BatchEngine, asked: readonly StreamedRequest[], words: number): Promise<number[]> {
  const sampler = () => createSampler({ ...SAMPLER_DEFAULTS, temperature: 0 }, randomStream(1, 'sampler'));
  const handles = asked.map((request, index) => {
    const prompt = promptOf(request, index, words);
    return engine.submit({ prompt, tokens: request.outputTokens, sampler: sampler() });
  });
  const results = await Promise.all(handles.map(({ result }) => result));
  return results.map(({ cachedTokens }) => cachedTokens);
}

test('the engine and the simulation run the same passes, with preemption and common beginnings', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hearth-serving-'));
  const kernels = openKernels({ implementation: 'reference' });
  try {
    const path = await madeFile({ folder, name: 'tiny' });
    const limits = { pages: 12, pageTokens: 4 };
    const size = { kernels, context: 96, ...limits, folder, warn: () => {} };
    const sequences = loadSequences(path, size);
    const ran: number[][] = [];
    const observed = {
      ...sequences,
      get freePages() {
        return sequences.freePages;
      },
      evaluate(work: Parameters<typeof sequences.evaluate>[0]) {
        ran.push(work.map(({ tokens }) => tokens.length));
        return sequences.evaluate(work);
      },
    };
    const tokenizer = { bytesOf: () => Uint8Array.of(97), stops: new Set<number>() };
    const engine = createBatchEngine({ sequences: observed, tokenizer, promptTokensBesideDecoding: 7 });
    const cached = await cachedOn(engine, ALIKE, sequences.model.vocabularySize);
    await engine.close();
    const { passes, requests, preemptions } = simulateServing({
      ...{ ...BASE, ...limits, requests: ALIKE },
      passTokens: sequences.mostTokens,
      promptTokensBesideDecoding: 7,
    });
    assert.equal(
      passes.map(({ load }) => [load.texts, load.prompt + load.generated]),
      ran.map((counts) => [counts.length, counts.reduce((sum, one) => sum + one, 0)]),
    );
    assert.equal(
      requests.map(({ cachedTokens }) => cachedTokens),
      cached,
    );
    assert.ok(preemptions > 0 && cached.some((tokens) => tokens > 0));
  } finally {
    kernels.close();
    rmSync(folder, { recursive: true });
  }
});

test('a ring and its simulation find the same tokens in pages, also in those of which a part is copied', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hearth-serving-'));
  try {
    const path = await madeFile({ folder, name: 'four', shape: { layers: LAYERS } });
    // Pages for one text of full length: less than the requests need together.
    const [pageTokens, asked] = [4, [...ALIKE, ...ALIKE]];
    const { engine, passes: texts, tokens, workers, close } = await servedRing(path, { requests: 1, pageTokens });
    const { vocabularySize } = (workers[0] as (typeof workers)[0]).loaded.part.model;
    const cached = await cachedOn(engine, asked, vocabularySize);
    await close();
    const { passes, requests, preemptions } = simulateServing({
      ...{ ...BASE, plan: planOf('one', 'two'), requests: asked, chunk: 16 },
      ...{ pages: CONTEXT / pageTokens, pageTokens, passTokens: 48, promptTokensBesideDecoding: 20 },
    });
    assert.equal(
      passes.map(({ load }) => [load.texts, load.prompt + load.generated]),
      texts.map((count, pass) => [count, tokens[pass]]),
    );
    assert.equal(
      requests.map(({ cachedTokens }) => cachedTokens),
      cached,
    );
    assert.ok(preemptions > 0 && cached.some((count) => count % pageTokens > 0), `${preemptions}; ${cached}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('in a closed loop as many requests run as there are clients', () => {
  const requests = Array.from({ length: 6 }, () => ({ arrival: 0, promptTokens: 3, outputTokens: 4 }));
  const { requests: served, passes } = simulateServing({ ...BASE, requests, clients: 2 });
  assert.ok(passes.every(({ running, waiting }) => running + waiting <= 2));
  assert.equal(
    served.map(({ arrival }) => arrival > 0),
    [false, false, true, true, true, true],
  );
});

test('a warm stream begins after a token that has read the weights', () => {
  // Weights of 19,000 bytes at 50 bytes per second of page faults stay in memory once they are read.
  const cluster = toyCluster([toyDevice('one')]);
  const requests = [{ arrival: 3, promptTokens: 2, outputTokens: 2 }];
  const first = (warm: boolean): readonly [number, number] => {
    const { requests: served, passes } = simulateServing({ ...BASE, cluster, requests, warm });
    assert.is(served[0]?.arrival, 3);
    return [served[0]?.begin ?? 0, (passes[0]?.end ?? 0) - (passes[0]?.start ?? 0)];
  };
  const [cold, warm] = [first(false), first(true)];
  assert.equal([cold[0], warm[0]], [3, 3]);
  assert.ok(cold[1] > 3 * warm[1], `${cold[1]} and ${warm[1]} s`);
});

test('what can’t be served is refused', () => {
  const requests = [{ arrival: 0, promptTokens: 30, outputTokens: 4 }];
  assert.throws(
    () => simulateServing({ ...BASE, requests }),
    /requests\[0\]: needs 9 pages for 34 tokens, and there are 8/,
  );
  assert.throws(() => simulateServing({ ...BASE, requests: [], clients: 0 }), /clients: 0 is not a whole number/);
});

test('a station of constant speed has the figures of M/M/1: L = ρ / (1 − ρ)', () => {
  // One token each and a prompt of 1 s: requests share the server, n of them complete at 1 / s.
  const load = { promptTokens: 1, outputTokens: 1, most: 1000, decodeSeconds: () => 1, promptSeconds: 1 };
  const found = predictServing({ ...load, demand: { rate: 0.8 } });
  near(found.requests, 4);
  near(found.requestSeconds, 5);
  assert.is(predictServing({ ...load, demand: { rate: 1.2 } }).requests, Number.POSITIVE_INFINITY);
});

test('clients that only decode get a token each pass', () => {
  const load = { promptTokens: 1, outputTokens: 11, most: 4, decodeSeconds: (n: number) => 1 + n, promptSeconds: 0 };
  const found = predictServing({ ...load, demand: { clients: 3 } });
  near(found.tokenSeconds, 4);
  near(found.requestsPerSecond, 3 / 40);
});

test('a pass of one token costs what a token does, and the sum of texts is what counts', () => {
  const workload = createWorkload({ context: 7 });
  const parts = { plan: planOf('one'), truth: CLUSTER, model: MODEL, workload, runtime: TOY_RUNTIME };
  const one = passLoad([{ tokens: 1, position: 6, isGenerated: true, isLast: true }]);
  near(predict({ ...parts, pass: one }).tokenSeconds, predict(parts).tokenSeconds);
});

test.run();
