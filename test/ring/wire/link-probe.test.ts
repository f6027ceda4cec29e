import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createProbe } from '../../../engine/ring/wire/link-probe.ts';

const messageOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'an echo',
    (error: Error) => error.message,
  );

test('a probe ends with its own echo', async () => {
  const sent: number[] = [];
  const { probe, onEcho } = createProbe(async ({ tag }) => {
    sent.push(tag);
  });
  const [first, second] = [messageOf(probe(0)), messageOf(probe(8))];
  onEcho({ kind: 'probe', tag: sent[1] as number, payload: new Uint8Array() });
  assert.is(await Promise.race([first, second.then((text) => `${text} of the second`)]), 'an echo of the second');
  onEcho({ kind: 'probe', tag: sent[0] as number, payload: new Uint8Array() });
  assert.is(await first, 'an echo');
});

test('all probes of a lost link end at once, and leave nothing that keeps the process', async () => {
  const { probe, lost } = createProbe(async () => {});
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  const probes = [messageOf(probe(0)), messageOf(probe(8))];
  assert.is(timers(), before + 2);
  lost('the connection is cut');
  assert.equal(await Promise.all(probes), ['the connection is cut', 'the connection is cut']);
  assert.is(timers(), before);
});

test.run();
