import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Assembly, createAssembly } from '../../../engine/ring/head/assembly.ts';
import { DeviceLostError, RingError } from '../../../engine/ring/head/errors.ts';
import type { Assignment } from '../../../engine/ring/wire/message.ts';

const EPOCH = 7;

/** The assembly of a head `h` with workers `a` and `b`, and its messages to them. */
function assembled() {
  const told: string[] = [];
  const lost: string[] = [];
  const assembly = createAssembly({
    head: 'h',
    layerBytes: 1000,
    windows: [
      { device: 'a', from: 0, to: 2 },
      { device: 'b', from: 2, to: 4 },
    ],
    assigned: new Map(['h', 'a', 'b'].map((device) => [device, { epoch: EPOCH } as Assignment])),
    tell: (device, { kind }) => told.push(`${kind} to ${device}`),
    onLost: (device, told) => lost.push(told ?? device),
  });
  return { assembly, told, lost };
}

/** A request that waits for output: resolves to the error that ends it. */
function waiting({ pending, nextRequest }: Assembly): Promise<Error> {
  return new Promise((reject) => {
    pending.set(nextRequest(), { wanted: 'logits', onRows() {}, reject, onFrame() {} });
  });
}

const failure = (promise: Promise<void>): Promise<Error> =>
  promise.then(
    () => new Error('nothing failed'),
    (error: Error) => error,
  );

test('devices connect to each other after all have prepared', async () => {
  const { assembly, told } = assembled();
  const whole = assembly.prepare();
  assembly.hear('a', { kind: 'prepared', epoch: EPOCH, weights: undefined });
  await turn();
  assert.equal(told, ['prepare to a', 'prepare to b']);
  assembly.hear('b', { kind: 'prepared', epoch: EPOCH, weights: undefined });
  await turn();
  assert.equal(told, ['prepare to a', 'prepare to b', 'link to a', 'link to b']);
  assembly.hear('b', { kind: 'linked', epoch: EPOCH });
  assembly.hear('a', { kind: 'linked', epoch: EPOCH });
  await whole;
  assert.is(assembly.broken, undefined);
});

test('work that needs a whole ring ends with the reason as soon as the ring breaks', async () => {
  const { assembly } = assembled();
  assert.is(await assembly.whileWhole(Promise.resolve(5)), 5);
  const measured = failure(assembly.whileWhole(new Promise<void>(() => {})));
  assembly.breakUp(new DeviceLostError('a', 'the connection is cut'));
  assert.is((await measured).message, 'a: the connection is cut');
  assert.is((await failure(assembly.whileWhole(Promise.resolve()))).message, 'a: the connection is cut');
});

test('reported weights are kept, and devices that manage none are omitted', () => {
  const { assembly } = assembled();
  const weights = { policy: { prefetch: 'populate', release: 'drop' }, bytes: 1000 } as const;
  assembly.hear('a', { kind: 'prepared', epoch: EPOCH, weights });
  assembly.hear('b', { kind: 'prepared', epoch: EPOCH, weights: undefined });
  assert.equal([...assembly.weights], [['a', weights]]);
});

test('a head without workers is whole immediately', async () => {
  const assembly = createAssembly({
    head: 'h',
    layerBytes: 1000,
    windows: [{ device: 'h', from: 0, to: 4 }],
    assigned: new Map([['h', { epoch: EPOCH } as Assignment]]),
    tell: () => assert.unreachable(),
    onLost: () => assert.unreachable(),
  });
  await assembly.prepare();
});

test('a failing device breaks the assembly and ends its requests but is not lost', async () => {
  const { assembly, lost } = assembled();
  const preparing = failure(assembly.prepare());
  const request = waiting(assembly);
  assembly.hear('b', { kind: 'failed', epoch: EPOCH, reason: 'no memory' });
  const error = await preparing;
  assert.instance(error, RingError);
  assert.not(error instanceof DeviceLostError);
  assert.is(error.message, 'b: no memory');
  assert.is(await request, error);
  assert.is(assembly.broken, error);
  assert.is(assembly.pending.size, 0);
  assert.equal(lost, []);
});

test('a device that another one can’t reach is lost', async () => {
  const { assembly, lost } = assembled();
  const request = waiting(assembly);
  assembly.hear('a', { kind: 'lost', epoch: EPOCH, device: 'b', reason: 'the connection is cut' });
  const error = await request;
  assert.instance(error, DeviceLostError);
  assert.is(error.message, 'b: the link from a to it is gone (the connection is cut)');
  assert.equal(lost, ['b']);
});

test('a link that breaks while the ring runs is told, though the head’s own connection may stay; later ones are not', async () => {
  const { assembly, lost } = assembled();
  const whole = assembly.prepare();
  for (const device of ['a', 'b']) assembly.hear(device, { kind: 'prepared', epoch: EPOCH, weights: undefined });
  await turn();
  for (const device of ['a', 'b']) assembly.hear(device, { kind: 'linked', epoch: EPOCH });
  await whole;
  assembly.hear('a', { kind: 'lost', epoch: EPOCH, device: 'b', reason: 'the connection is cut' });
  assembly.hear('b', { kind: 'lost', epoch: EPOCH, device: 'a', reason: 'the connection is cut' });
  assert.equal(lost, ['b: the link from a to it is gone (the connection is cut)', 'a']);
});

test('a device that has not prepared within 60 s is lost and named', async () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const { assembly, lost } = assembled();
    const preparing = failure(assembly.prepare());
    assembly.hear('a', { kind: 'prepared', epoch: EPOCH, weights: undefined });
    mock.timers.tick(60_000);
    assert.is((await preparing).message, 'b: not prepared within 60 s');
    assert.equal(lost, ['b']);
  } finally {
    mock.timers.reset();
  }
});

test('the first reason for breaking up is kept', async () => {
  const { assembly } = assembled();
  const first = new RingError('a', 'first');
  assembly.breakUp(first);
  assembly.breakUp(new RingError('b', 'second'));
  assert.is(assembly.broken, first);
  assert.is(await failure(assembly.prepare()), first);
});

test.run();
