import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createPartialSums, type PartialSums } from '../../engine/ring/device/partial-sums.ts';
import type { SumsFrame } from '../../engine/ring/wire/frame.ts';
import { FrameError } from '../../engine/ring/wire/frame-error.ts';
import { FROM_HEAD } from '../../engine/ring/wire/message.ts';

const MEMBERS = [
  { device: 'a', share: 0.25 },
  { device: FROM_HEAD, share: 0.5 },
  { device: 'b', share: 0.25 },
];

/** The devices of a cut of two layers, whose frames go from one to the other at once. */
function devices(allReduce: 'exchange' | 'star') {
  const all = new Map<string, PartialSums>();
  const sent: string[] = [];
  for (const [own, { device }] of MEMBERS.entries())
    all.set(
      device,
      createPartialSums({
        ...{
          cut: { allReduce, members: MEMBERS, own },
          epoch: 5,
          activations: 'F32',
          chunk: 2,
          hiddenSize: 2,
          layers: 2,
        },
        send(to, frame) {
          sent.push(`${device || 'head'}→${to || 'head'}`);
          all.get(to)?.take({ ...frame, payload: frame.payload.slice() }, device);
        },
        record: () => {},
      }),
    );
  return { all, sent };
}

for (const allReduce of ['exchange', 'star'] as const)
  test(`${allReduce}: all devices get the sum in one order, and the last one only the head`, async () => {
    const { all, sent } = devices(allReduce);
    for (let half = 0; half < 4; half++) {
      const totals = await Promise.all(
        [...all.values()].map((one, index) => one.total(half, Float32Array.of(10 ** index, half))),
      );
      const sum = [111, 3 * half];
      assert.equal(
        totals.map((total) => total && [...total]),
        half === 3 ? [undefined, sum, undefined] : [sum, sum, sum],
      );
    }
    // To all others, or to the head and back, three times; then to the head.
    assert.is(sent.length, allReduce === 'exchange' ? 3 * 6 + 2 : 3 * 4 + 2);
  });

test('sums that are not the next of a device, or of another size, are refused', () => {
  const one = devices('exchange').all.get('a') as PartialSums;
  const right: SumsFrame = {
    ...{ kind: 'sums', epoch: 5, number: 0, layer: 0, rows: 1, format: 'F32', sentAt: 0 },
    payload: new Uint8Array(8),
  };
  const refused = (change: Partial<SumsFrame>, reason: RegExp, from = 'b'): void => {
    assert.throws(
      () => one.take({ ...right, ...change }, from),
      (error: Error) => error instanceof FrameError && reason.test(error.message),
    );
  };
  refused({}, /^sums of a device that sends none here in the plan$/, 'c');
  refused({ number: 1 }, /^sums 1; the next ones are 0$/);
  refused({ layer: 1 }, /^sums of layer 1; those of layer 0 come next$/);
  refused({ rows: 3, payload: new Uint8Array(24) }, /^sums of 3 tokens; the plan has 2 at most$/);
  refused({ payload: new Uint8Array(4) }, /^4 bytes of F32 for 1 sums; 8 of F32 are planned$/);
  refused({ format: 'F16', payload: new Uint8Array(4) }, /^4 bytes of F16/);
  one.take(right, 'b');
  one.take({ ...right, number: 1 }, 'b');
  refused({ number: 2, layer: 1 }, /^more than 2 sums ahead of this device$/);
});

test('sums of another number of tokens, or that are no numbers, end the pass; an end does too', async () => {
  const reasonOf = (pass: Promise<unknown>): Promise<string> =>
    pass.then(
      () => 'none',
      (error: Error) => error.message,
    );
  const frame = { kind: 'sums', epoch: 5, number: 0, layer: 0, format: 'F32', sentAt: 0 } as const;
  const waiting = (): { one: PartialSums; pass: Promise<string> } => {
    const one = createPartialSums({
      ...{ cut: { allReduce: 'star', members: MEMBERS, own: 0 }, epoch: 5, activations: 'F32', chunk: 2 },
      ...{ hiddenSize: 2, layers: 2, send: () => {}, record: () => {} },
    });
    return { one, pass: reasonOf(one.total(0, new Float32Array(2))) };
  };
  const longer = waiting();
  longer.one.take({ ...frame, rows: 2, payload: new Uint8Array(16) }, FROM_HEAD);
  assert.is(await longer.pass, 'the head: sent sums of 2 tokens; 1 are in the pass');
  const damaged = waiting();
  const payload = new Uint8Array(Float32Array.of(1, Number.NaN).buffer);
  damaged.one.take({ ...frame, rows: 1, payload }, FROM_HEAD);
  assert.match(await damaged.pass, /^the head: sent activations that are not numbers/);
  const ended = waiting();
  assert.equal(ended.one.awaited()?.devices, [FROM_HEAD]);
  ended.one.end(new Error('the plan has ended'));
  assert.is(await ended.pass, 'the plan has ended');
});

test.run();
