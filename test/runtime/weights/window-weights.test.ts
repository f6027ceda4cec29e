import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import { type FittedPolicy, NO_WEIGHTS_POLICY } from '../../../engine/plan/weights-policy.ts';
import { mappedWeights } from '../../../engine/runtime/weights/mapped-weights.ts';
import type { WeightsLayout, WeightsPart } from '../../../engine/runtime/weights/weights-layout.ts';
import { createWindowWeights, equalWindows, windowHooks } from '../../../engine/runtime/weights/window-weights.ts';
import { metrics } from '../../../engine/trace/metrics.ts';
import { createRunRecorder } from '../../../engine/trace/run-recorder.ts';
import { NATIVE_SETS } from '../../kernels/native-sets.ts';
import { testIf } from '../../support/needs.ts';

const MIB = 2 ** 20;
/** Four layers of 4 MiB, and an output of 2 MiB after them. */
const LAYOUT: WeightsLayout = {
  layers: 4,
  ranges: (part) => {
    const from = part === 'output' ? 16 * MIB : 4 * MIB * Number(part);
    return [{ from, to: from + (part === 'output' ? 2 : 4) * MIB }];
  },
};
/** Windows of one layer each; the last one also has the output. */
const WINDOWS: readonly (readonly WeightsPart[])[] = [[0], [1], [2], [3, 'output']];
const ALL: readonly WeightsPart[] = WINDOWS.flat();

let [folder, path] = ['', ''];
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
  path = join(folder, 'weights');
  writeFileSync(path, new Uint8Array(18 * MIB).fill(7), { flush: true });
});
test.after(() => rmSync(folder, { recursive: true }));

/**
 * Runs windows under a policy from an empty cache. Returns the resident MiB by part, after each window and at the end.
 */
function residency(policy: FittedPolicy, turns: number) {
  const kernels = openKernels({ implementation: 'native', threads: 1 });
  const recorder = createRunRecorder('d', performance.now() / 1000);
  const weights = mappedWeights(kernels, kernels.mapFile(path), LAYOUT, recorder);
  const mebibytes = (part: WeightsPart): number => weights.resident(weights.of([part])) / MIB;
  weights.release(weights.of(ALL)).wait();
  if (ALL.some((part) => mebibytes(part) > 0)) return undefined;
  const windows = createWindowWeights({ weights, windows: WINDOWS, policy, recorder });
  for (let turn = 0; turn < turns; turn++) {
    windows.before(turn % 4);
    windows.after(turn % 4);
  }
  // Waits for all previous jobs.
  weights.unpin({ name: 'nothing', ranges: [{ from: 0, to: 1 }] }).wait();
  const after = ALL.map(mebibytes);
  const trace = recorder.trace();
  windows.close();
  kernels.close();
  return { after, pinned: windows.pinnedBytes / MIB, trace, metrics: metrics(trace) };
}

const CASES: readonly [string, FittedPolicy, number, readonly number[]][] = [
  ['none: nothing is read, nothing dropped', NO_WEIGHTS_POLICY, 2, [0, 0, 0, 0, 0]],
  ['populate, kept', { prefetch: 'populate', release: 'none' }, 2, [4, 4, 4, 0, 0]],
  ['populate, dropped: only the next is there', { prefetch: 'populate', release: 'drop' }, 2, [0, 0, 4, 0, 0]],
  ['the next after the last is the first', { prefetch: 'populate', release: 'drop' }, 4, [4, 0, 0, 0, 0]],
  [
    'pinned stays, once it has been read',
    { prefetch: 'populate', release: 'pinned', pinned: 10 * MIB },
    4,
    [4, 2, 2, 2, 2],
  ],
  [
    'and the rest comes with its window',
    { prefetch: 'populate', release: 'pinned', pinned: 10 * MIB },
    6,
    [2, 2, 4, 2, 2],
  ],
];

const withKernels = (name: string, body: () => void): void =>
  testIf(NATIVE_SETS.length > 0, 'the native kernels are not built', name, body);

for (const [what, policy, turns, expected] of CASES) {
  withKernels(what, () => {
    const found = residency(policy, turns);
    if (found === undefined) console.log(`skipped: ${what} (${folder} is a file system in memory)`);
    else assert.equal(found.after, expected);
  });
}

withKernels('the trace has what was read, what was waited for and what is in memory', () => {
  const found = residency({ prefetch: 'populate', release: 'pinned', pinned: 10 * MIB }, 8);
  if (found === undefined) return;
  const { trace, pinned } = found;
  assert.is(pinned, 10);
  const reads = trace.spans.filter(({ name }) => name === 'prefetch');
  // 18 MiB once, then the 8 that aren't pinned, and the first window, which is prefetched but not used.
  const bytes = reads.reduce((sum, { args }) => sum + (args.bytes ?? 0), 0) / MIB;
  // A page that the system reclaimed meanwhile is read again; 16 of them are tolerated.
  const isRead = (expected: number): boolean => bytes >= expected && bytes <= expected + 1 / 16;
  assert.ok(isRead(18 + 8) || isRead(18 + 8 + 2), `${bytes} MiB`);
  assert.ok(reads.every(({ lane, cause, args }) => lane === 'disk' && cause === 'disk' && args.call === 'populate'));
  const stalls = trace.spans.filter(({ name }) => name.startsWith('waits for '));
  assert.equal(
    stalls.slice(0, 4).map(({ lane, name }) => [lane, name]),
    ['layer 0', 'layer 1', 'layer 2', 'layer 3, output'].map((name) => ['cpu', `waits for ${name}`]),
  );
  assert.ok(trace.spans.some(({ name, cause }) => name === 'releases layer 1' && cause === 'overhead'));
  const last = (name: string) => trace.counters.find((counter) => counter.name === name)?.samples.at(-1)?.value;
  // Sampled before the last window, layer 3 and the output, is released: 10 MiB stay, and 4 of layer 3.
  assert.is(last('resident weights of layer 0 (bytes)'), 2 * MIB);
  assert.is(last('resident weights of layer 3 (bytes)'), 4 * MIB);
  if (process.platform === 'linux') assert.ok((last('read from disk (bytes)') ?? 0) >= bytes * MIB);
  assert.is(found.metrics.devices[0]?.faultedBytes, 0);
});

withKernels('page faults of a computation are told apart from what was prefetched', () => {
  const kernels = openKernels({ implementation: 'native', threads: 1 });
  const recorder = createRunRecorder('d', performance.now() / 1000);
  const file = kernels.mapFile(path);
  const weights = mappedWeights(kernels, file, LAYOUT, recorder);
  weights.release(weights.of(ALL)).wait();
  if (weights.resident(weights.of(ALL)) > 0) return;
  const matrix = kernels.matrix({ source: file, type: 'F32', rows: 1024, columns: 1024 }); // layer 0
  const [x, y] = [kernels.vector(1024), kernels.vector(1024)];
  const windows = createWindowWeights({ weights, windows: WINDOWS, policy: NO_WEIGHTS_POLICY, recorder });
  windows.before(0);
  const start = performance.now() / 1000;
  kernels.run([{ kind: 'multiply', matrix, x, y }]);
  const seconds = performance.now() / 1000 - start;
  const stall = windows.ran(0);
  windows.after(0);
  const [device] = metrics(recorder.trace()).devices;
  if (process.platform === 'linux') assert.ok(stall > 0 && stall <= 1.1 * seconds, `${stall} of ${seconds} s`);
  assert.is(device?.prefetchedBytes, 0);
  assert.ok((device?.faultedBytes ?? 0) >= 4 * MIB, String(device?.faultedBytes));
  kernels.close();
});

test('windows have equal sizes, with the output in the last', () => {
  assert.equal(equalWindows(5, 2), [
    [0, 1],
    [2, 3],
    [4, 'output'],
  ]);
});

test('a window is awaited before its first part and left after its last', () => {
  const log: string[] = [];
  const hooks = windowHooks(equalWindows(3, 2), {
    before: (window) => log.push(`before ${window}`),
    after: (window) => log.push(`after ${window}`),
  });
  for (const name of ['embedding', 'layer 0', 'layer 1', 'layer 2', 'output'] as const) {
    hooks.before(name);
    log.push(name);
    hooks.after({ name });
  }
  const first = ['before 0', 'layer 0', 'layer 1', 'after 0'];
  assert.equal(log, ['embedding', ...first, 'before 1', 'layer 2', 'output', 'after 1']);
});

test.run();
