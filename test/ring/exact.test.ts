import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { createPlan } from '../../engine/plan/create-plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { ringWindows } from '../../engine/plan/ring-windows.ts';
import type { Window } from '../../engine/plan/windows.ts';
import { loadPart } from '../../engine/ring/device/loaded-part.ts';
import { splitModel } from '../../engine/ring/device/split-model.ts';
import { recoveringRing } from '../../engine/ring/head/lost-worker.ts';
import { createRingTexts, ringModel } from '../../engine/ring/head/ring-texts.ts';
import { ringTrace } from '../../engine/ring/head/trace.ts';
import { createKeys } from '../../engine/ring/wire/keys.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { metrics } from '../../engine/trace/metrics.ts';
import { perfettoTrace } from '../../engine/trace/perfetto.ts';
import { madeFile } from '../runtime/made-file.ts';
import {
  headHere,
  type LoggedWorker,
  layoutOf,
  requestOf,
  SETTINGS,
  wholeTexts,
  workerHere,
} from './ring-in-process.ts';

const test = suite('the ring computes the same as one process');
const LAYERS = 6;
const DEVICES = ['head', 'a', 'b', 'c'];
const headKeys = createKeys();
let [folder, path] = ['', ''];
let workers: LoggedWorker[] = [];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-ring-'));
  const shape = { layers: LAYERS, hiddenSize: 64, ffnSize: 96, heads: 4, kvHeads: 2, headSize: 16 };
  path = await madeFile({ folder, name: 'six', shape });
  workers = await Promise.all(['a', 'b', 'c'].map((name) => workerHere(name, path, { headKeys })));
});
test.after(async () => {
  for (const { worker } of workers) await worker.close();
  rmSync(folder, { recursive: true });
});

const greedy = (logits: Float32Array): number => logits.indexOf(Math.max(...logits));

/** Tokens at temperature 0 after a prompt, in one process. */
function alone(prompt: readonly number[], count: number): number[] {
  const kernels = openKernels({ threads: 1 });
  const one = loadTransformer(path, { kernels, context: SETTINGS.context, kvCache: 'F32', warn: () => {} });
  const tokens: number[] = [];
  for (let next = greedy(one.evaluate(prompt)); ; next = greedy(one.evaluate([next]))) {
    tokens.push(next);
    if (tokens.length === count) break;
  }
  kernels.close();
  return tokens;
}

/** Random windows: one device per layer, so that a device may have any number of windows. */
const plans = fc.array(fc.constantFrom(...DEVICES), { minLength: LAYERS, maxLength: LAYERS }).map((places) => {
  const windows: Window[] = [];
  for (const [from, device] of places.entries()) {
    const last = windows.at(-1);
    if (last?.device === device) windows[windows.length - 1] = { ...last, to: from + 1 };
    else windows.push({ device, from, to: from + 1 });
  }
  return windows;
});

test('tokens equal those of one process under any plan, with two requests in flight and any chunks', async () => {
  const members = workers.map(({ member }) => member);
  const prompts = fc.array(fc.nat({ max: 259 }), { minLength: 1, maxLength: 90 });
  await fc.assert(
    fc.asyncProperty(plans, prompts, prompts, fc.integer({ min: 8, max: 128 }), async (windows, p, q, chunk) => {
      const { head } = headHere(path, members, { keys: headKeys, settings: { ...SETTINGS, chunk } });
      try {
        await head.gather();
        const ring = recoveringRing(
          head,
          () => layoutOf(windows),
          () => {},
        );
        const texts = createRingTexts(ring, wholeTexts(SETTINGS.context));
        const found = await Promise.all(
          [p, q].map(async (prompt) => {
            const model = ringModel(texts);
            const tokens: number[] = [];
            for (let next = greedy(await model.evaluate(prompt)); ; next = greedy(await model.evaluate([next]))) {
              tokens.push(next);
              if (tokens.length === 5) return tokens;
            }
          }),
        );
        assert.equal(found, [alone(p, 5), alone(q, 5)]);
      } finally {
        await head.close();
        for (const { log } of workers) while (!log.at(-1)?.includes('freed')) await new Promise(setImmediate);
      }
    }),
    { seed: 3, numRuns: 12 },
  );
});

test('a ring keeps quantized keys and values as one process does', async () => {
  const shape = { layers: 2, hiddenSize: 64, ffnSize: 96, heads: 2, kvHeads: 1, headSize: 32 };
  const file = await madeFile({ folder, name: 'whole-blocks', shape });
  const prompt = Array.from({ length: 70 }, (_, token) => (37 * token) % 250);
  for (const kvCache of ['Q8_0', 'Q4_0'] as const) {
    const other = await workerHere('d', file, { headKeys });
    const { head } = headHere(file, [other.member], { keys: headKeys, settings: { ...SETTINGS, kvCache } });
    await head.gather();
    const windows = [
      { device: 'head', from: 0, to: 1 },
      { device: 'd', from: 1, to: 2 },
    ];
    const ring = recoveringRing(
      head,
      () => layoutOf(windows),
      () => {},
    );
    const model = ringModel(createRingTexts(ring, wholeTexts(SETTINGS.context)));
    const kernels = openKernels({ threads: 1 });
    const one = loadTransformer(file, { kernels, context: SETTINGS.context, kvCache, warn: () => {} });
    for (const token of prompt) assert.equal([...(await model.evaluate([token]))], [...one.evaluate([token])], kvCache);
    kernels.close();
    await head.close();
    await other.worker.close();
  }
});

test('the head hands results on between workers that don’t reach each other', async () => {
  const members = workers.map(({ member }) => member);
  const { head } = headHere(path, members, { keys: headKeys });
  await head.gather();
  const relays = [{ from: 'a', to: 'b', via: ['head', 'c'] }];
  const sizes = ['head', 'a', 'b'].map((device) => ({ device, layers: 1, gpuLayers: 0 }));
  const plan = createPlan({ ...ringPlan({ scheduler: 'hand', head: 'head', rounds: 2, windows: sizes }), relays });
  const ring = recoveringRing(
    head,
    () => layoutOf(ringWindows(plan)),
    () => {},
  );
  const model = ringModel(createRingTexts(ring, wholeTexts(SETTINGS.context)));
  const tokens: number[] = [];
  for (let next = greedy(await model.evaluate([1, 2, 3])); tokens.push(next) < 4; )
    next = greedy(await model.evaluate([next]));
  assert.equal(tokens, alone([1, 2, 3], 4));
  await head.close();
});

test('activations in F16 change logits by no more than their rounding', async () => {
  const members = workers.map(({ member }) => member);
  const settings = { ...SETTINGS, activations: 'F16' as const };
  const { head } = headHere(path, members, { keys: headKeys, settings });
  await head.gather();
  const windows = [0, 2, 4].map((from, index) => ({ device: DEVICES[index + 1] as string, from, to: from + 2 }));
  await head.assemble(layoutOf(windows));
  const kernels = openKernels({ threads: 1 });
  const one = loadTransformer(path, { kernels, context: 64, kvCache: 'F32', warn: () => {} });
  const [found, exact] = [await requestOf(head).evaluate([1, 2, 3, 4]), one.evaluate([1, 2, 3, 4])];
  const error = Math.max(...found.map((value, index) => Math.abs(value - (exact[index] as number))));
  assert.ok(error > 0 && error < 5e-3 * Math.max(...exact.map(Math.abs)), String(error));
  await head.close();
});

test('the trace of a run has windows and links on one clock, and every exporter accepts it', async () => {
  const { head } = headHere(
    path,
    workers.map(({ member }) => member),
    { keys: headKeys },
  );
  await head.gather();
  await head.assemble(
    layoutOf([
      { device: 'head', from: 0, to: 2 },
      { device: 'a', from: 2, to: 4 },
      { device: 'b', from: 4, to: 6 },
    ]),
  );
  const request = requestOf(head);
  const tokens = [];
  for (const [phase, more] of [
    ['prefill', [1, 2, 3]],
    ['decode', [4]],
    ['decode', [5]],
  ] as const) {
    const start = performance.now() / 1000;
    await request.evaluate(more);
    tokens.push({ phase, start, end: performance.now() / 1000 });
  }
  const spans = await head.collectSpans();
  const trace = ringTrace(spans, tokens);
  await head.close();
  const names = (device: string, lane: string): string[] =>
    trace.spans
      .filter((span) => span.device === device && span.lane === lane && span.cause !== 'disk')
      .map(({ name }) => name);
  assert.equal(names('head', 'cpu'), ['layers 0–1', 'output', 'layers 0–1', 'output', 'layers 0–1', 'output']);
  assert.equal(names('a', 'cpu'), ['layers 2–3', 'layers 2–3', 'layers 2–3']);
  assert.equal(names('a', 'link'), ['to b', 'to b', 'to b']);
  assert.equal(names('b', 'link'), ['to head', 'to head', 'to head']);
  // The workers are in this process, so their clock is the head's.
  for (const { offset, offsetError } of spans) {
    assert.ok(offsetError < 10 && Math.abs(offset) <= offsetError, `${offset} ± ${offsetError}`);
  }
  const measured = metrics(trace);
  assert.ok((measured.tokenSeconds ?? 0) > 0 && (measured.firstTokenSeconds ?? 0) > 0);
  assert.is(measured.lanes.find(({ device, lane }) => device === 'a' && lane === 'link')?.bytes, (3 + 1 + 1) * 64 * 4);
  assert.ok(perfettoTrace(trace).traceEvents.length > 15);
});

test('files written by split carry out the plan that they were made for', async () => {
  const plan = ringPlan({
    scheduler: 'hand',
    head: 'x',
    rounds: 2,
    windows: [
      { device: 'x', layers: 1, gpuLayers: 0 },
      { device: 'y', layers: 2, gpuLayers: 0 },
    ],
  });
  const parts = await splitModel(path, plan, folder);
  assert.equal(
    parts.map(({ device, layers }) => [device, layers]),
    [
      ['x', 2],
      ['y', 4],
    ],
  );
  assert.ok(readFileSync(parts[1]?.path as string).length < 0.75 * readFileSync(path).length);
  const y = await workerHere('y', parts[1]?.path as string, { headKeys: undefined });
  const { head } = headHere(parts[0]?.path as string, [y.member], { name: 'x' });
  await head.gather();
  await head.assemble(
    layoutOf([
      { device: 'x', from: 0, to: 1 },
      { device: 'y', from: 1, to: 3 },
      { device: 'x', from: 3, to: 4 },
      { device: 'y', from: 4, to: 6 },
    ]),
  );
  assert.equal(greedy(await requestOf(head).evaluate([7, 8, 9])), alone([7, 8, 9], 1)[0]);
  let message = '';
  await head.assemble(layoutOf([{ device: 'y', from: 0, to: 6 }])).catch((error: Error) => {
    message = error.message;
  });
  assert.is(message, 'y: its file has no layer 0; give it the part that hearth split writes for this plan');
  await head.close();
  await y.worker.close();
  const whole = loadPart(path, openKernels({ implementation: 'reference' }), 4);
  const part = loadPart(parts[1]?.path as string, openKernels({ implementation: 'reference' }), 4);
  assert.is(part.identity, whole.identity);
  // A part lists digests of the other parts' weights.
  assert.equal([...part.digests].sort(), [...whole.digests].sort());
  assert.equal(part.held, { layers: [1, 2, 4, 5], outer: false });
  // One that was damaged on its way is refused where it is.
  const damaged = parts[1]?.path as string;
  const bytes = readFileSync(damaged);
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 500) ^ 1, bytes.length - 500);
  writeFileSync(damaged, bytes);
  assert.throws(
    () => loadPart(damaged, openKernels({ implementation: 'reference' }), 4),
    /y\.gguf: is damaged: its layer \d is not what was split; write it again by hearth split$/,
  );
});

test.run();
