import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createProbe, probeLink } from '../../../engine/ring/wire/link-probe.ts';

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

/** A link in its own time: bytes follow each other at a rate, and each piece and its empty echo take the latency. */
function link({ latency, rate }: { readonly latency: number; readonly rate: number }) {
  let [time, free, bytes] = [0, 0, 0];
  const events: { readonly at: number; readonly resolve: () => void }[] = [];
  const advance = (): void => {
    const event = events.shift();
    if (event === undefined) return;
    time = event.at;
    event.resolve();
    setImmediate(advance);
  };
  return {
    now: () => time,
    sent: () => bytes,
    probe: (size: number) =>
      new Promise<void>((resolve) => {
        bytes += size;
        free = Math.max(time, free) + size / rate;
        events.push({ at: free + 2 * latency, resolve });
        if (events.length === 1) setImmediate(advance);
      }),
  };
}

/** Seconds and bytes per second, with the most seconds and bytes that measuring may take. */
const LINKS: readonly (readonly [latency: number, rate: number, seconds: number, bytes: number])[] = [
  [0.3, 1e6 / 8, 16, 1.5e6],
  [0.01, 10e6 / 8, 2, 2e6],
  [0.0002, 1e9 / 8, 0.1, 1.5e6],
  [0.001, 50_000 / 8, 15, 70_000],
];
for (const [latency, rate, seconds, bytes] of LINKS)
  test(`a link of ${(8 * rate) / 1e6} Mbit/s and ${1000 * latency} ms is measured in ${seconds} s`, async () => {
    const measured = link({ latency, rate });
    const found = await probeLink('a', measured.probe, 2 ** 20, measured.now);
    assert.ok(Math.abs(found.latency / latency - 1) < 1e-6, `latency ${found.latency}`);
    assert.ok(Math.abs(found.bandwidth / rate - 1) < 0.2, `bandwidth ${found.bandwidth}`);
    assert.ok(measured.now() < seconds && measured.sent() < bytes, `${measured.now()} s, ${measured.sent()} bytes`);
  });

test.run();
