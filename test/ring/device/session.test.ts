import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { TINY } from '../../../engine/gguf/make/made-model.ts';
import { referenceKernels } from '../../../engine/kernels/reference/reference-kernels.ts';
import { WeightsLostError } from '../../../engine/kernels/weights-lost-error.ts';
import { uniformShape } from '../../../engine/model/architecture.ts';
import type { LoadedPart } from '../../../engine/ring/device/loaded-part.ts';
import { createWorkerSession } from '../../../engine/ring/device/session.ts';
import type { Frame } from '../../../engine/ring/wire/frame.ts';
import { FrameError } from '../../../engine/ring/wire/frame-error.ts';
import type { Assignment, WorkerMessage } from '../../../engine/ring/wire/message.ts';
import { readMessage, WORKER_MESSAGE } from '../../../engine/ring/wire/parse-message.ts';
import type { Transport } from '../../../engine/ring/wire/transport.ts';

/** An assignment with one window, whose result goes to the head. */
const ASSIGNMENT: Assignment = {
  epoch: 7,
  windowCount: 1,
  windows: [{ index: 0, from: 0, to: 2, onGpu: [], next: { kind: 'head' } }],
  successors: [],
  predecessors: [{ name: 'a', publicKey: 'f'.repeat(64), linkName: '1'.repeat(32) }],
  sources: [{ window: 0, from: 'a' }],
  context: 16,
  requests: 1,
  pageTokens: 16,
  kvCache: 'F16',
  activations: 'F32',
  chunk: 8,
  weights: { prefetch: 'none', release: 'none' },
  trace: false,
};

/** A session of a worker that holds layers 0 and 1, and its messages to the head. */
function session({ profile = async () => '{}', load = () => {} } = {}) {
  const told: WorkerMessage[] = [];
  const log: string[] = [];
  const lost: Error[] = [];
  const model = uniformShape({ ...TINY, heads: 1, kvHeads: 1, headSize: 1, hiddenSize: 4, layers: 2 });
  const kernels = referenceKernels();
  const part = { model, mostTokens: 8, load, kernelsOf: () => kernels };
  const loaded = { held: { layers: [0, 1] }, part, activationsBytes: 0, useContext() {}, mapWeights: () => undefined };
  const worker = createWorkerSession({
    transport: {} as Transport,
    loaded: loaded as unknown as LoadedPart,
    gpu: undefined,
    memory: 1e6,
    memoryLimit: 4e6,
    mostBytes: 1000,
    headLink: 'head',
    profile,
    sendToHead: async (frame: Frame) => void told.push(readMessage(frame, WORKER_MESSAGE)),
    onUnable: () => {},
    onWeightsLost: (error) => lost.push(error),
    log: (line) => log.push(line),
  });
  return { worker, told, log, lost };
}

test('an assignment is prepared and then linked', async () => {
  const { worker, told } = session();
  worker.onMessage({ kind: 'prepare', assignment: ASSIGNMENT });
  await turn();
  worker.onMessage({ kind: 'link', epoch: 7 });
  assert.equal(told, [
    { kind: 'prepared', epoch: 7, weights: undefined },
    { kind: 'linked', epoch: 7 },
  ]);
});

test('a message of another assembly has no effect', async () => {
  const { worker, told } = session();
  worker.onMessage({ kind: 'prepare', assignment: ASSIGNMENT });
  await turn();
  worker.onMessage({ kind: 'link', epoch: 6 });
  worker.onMessage({ kind: 'measure', epoch: 6, bytes: 1000 });
  await turn();
  assert.equal(
    told.map(({ kind }) => kind),
    ['prepared'],
  );
});

test('the head and the assignment’s devices are known until the session ends', async () => {
  const { worker } = session();
  assert.is(worker.receivesFrom('1'.repeat(32)), false);
  worker.onMessage({ kind: 'prepare', assignment: ASSIGNMENT });
  await turn();
  assert.equal(
    [worker.receivesFrom('head'), worker.receivesFrom('1'.repeat(32)), worker.receivesFrom('2'.repeat(32))],
    [true, true, false],
  );
  assert.equal([worker.expects('f'.repeat(64)), worker.expects('e'.repeat(64))], [true, false]);
  await worker.end();
  assert.equal([worker.receivesFrom('1'.repeat(32)), worker.expects('f'.repeat(64))], [false, false]);
});

test('an assignment that the device can’t carry out is answered with the reason', async () => {
  const { worker, told, log } = session();
  const windows = [{ index: 0, from: 1, to: 3, onGpu: [], next: { kind: 'head' } as const }];
  worker.onMessage({ kind: 'prepare', assignment: { ...ASSIGNMENT, windows } });
  await turn();
  const reason = 'its file has no layer 2; give it the part that hearth split writes for this plan';
  assert.equal(told, [{ kind: 'failed', epoch: 7, reason }]);
  assert.equal(log, [reason]);
});

test('more pages of keys and values than a device numbers are refused', async () => {
  const { worker, told } = session();
  worker.onMessage({ kind: 'prepare', assignment: { ...ASSIGNMENT, context: 2 ** 31, requests: 1000, pageTokens: 1 } });
  await turn();
  const reason =
    '2147483648000 pages of keys and values; it takes at most 262144: use a shorter context or fewer texts at once';
  assert.equal(told, [{ kind: 'failed', epoch: 7, reason }]);
});

test('a failure to load layers is reported', async () => {
  const load = (): void => {
    throw new Error('the disk is gone');
  };
  const { worker, told } = session({ load });
  worker.onMessage({ kind: 'prepare', assignment: ASSIGNMENT });
  await turn();
  assert.equal(told, [{ kind: 'failed', epoch: 7, reason: 'the disk is gone' }]);
});

test('a device whose file can’t be read any more says so, and ends', async () => {
  const error = new WeightsLostError('m.gguf', 'has shrunk\nfrom 2 to 1 bytes');
  const load = (): void => {
    throw error;
  };
  const { worker, told, lost } = session({ load });
  worker.onMessage({ kind: 'prepare', assignment: ASSIGNMENT });
  await turn();
  assert.equal(told, [{ kind: 'unable', reason: 'm.gguf: has shrunk from 2 to 1 bytes' }]);
  assert.equal(lost, [error]);
});

test('a second request to link, or to measure while one is under way, is refused', async () => {
  const { worker } = session();
  worker.onMessage({ kind: 'prepare', assignment: ASSIGNMENT });
  await turn();
  for (const kind of ['link', 'measure'] as const) {
    const message = { kind, epoch: 7, bytes: 1000 };
    worker.onMessage(message);
    try {
      worker.onMessage(message);
      assert.unreachable();
    } catch (error) {
      assert.instance(error, FrameError);
    }
  }
});

test('a profile, or the reason for its absence, is sent', async () => {
  const known = session({ profile: async () => '{"name": "w"}' });
  known.worker.onMessage({ kind: 'profile', fresh: false });
  const unknown = session({ profile: async () => Promise.reject(new Error('x'.repeat(3000))) });
  unknown.worker.onMessage({ kind: 'profile', fresh: false });
  await turn();
  assert.equal(known.told, [{ kind: 'profiled', facts: '{"name": "w"}' }]);
  assert.equal(unknown.told, [{ kind: 'unprofiled', reason: 'x'.repeat(2000) }]);
});

test('the memory of an assignment is stated in addition to what the process holds', async () => {
  const { worker, told } = session();
  worker.onMessage({ kind: 'memory' });
  worker.onMessage({ kind: 'prepare', assignment: ASSIGNMENT });
  await turn();
  worker.onMessage({ kind: 'memory' });
  const [before, , after] = told;
  assert.ok(before?.kind === 'memory' && after?.kind === 'memory');
  assert.equal([before.planned, before.limit], [0, 4e6]);
  // Keys and values of 2 layers for 16 tokens of one head of one F16 number each.
  assert.is(after.planned, 2 * 16 * 2 * 2);
  if (process.platform === 'linux') assert.ok((after.measured ?? 0) > 10e6);
});

test('a report of spans ends with an empty message', () => {
  const { worker, told } = session();
  worker.onMessage({ kind: 'report' });
  assert.equal(told, [{ kind: 'spans', spans: [] }]);
});

test.run();
