import { setImmediate } from 'node:timers/promises';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withFile } from '../../engine/gguf/file-source.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { loadTokenizer } from '../../engine/text/load-tokenizer.ts';
import { atOnce, inTurns, type Slices } from '../../engine/text/slices.ts';

/** A work of so many milliseconds. */
function* busy(milliseconds: number): Slices<number> {
  for (let passed = 0; passed < milliseconds; passed++) {
    const end = performance.now() + 1;
    while (performance.now() < end);
    yield;
  }
  return milliseconds;
}

test('work in turns leaves room for other events, and works share it', async () => {
  let turns = 0;
  let done = false;
  const count = async (): Promise<void> => {
    for (; !done; turns++) await setImmediate();
  };
  const counted = count();
  const results = await Promise.all([inTurns(busy(40)), inTurns(busy(20)), inTurns(busy(1))]);
  done = true;
  await counted;
  assert.equal(results, [40, 20, 1]);
  assert.ok(turns >= 10, `${turns} turns`);
});

test('the error of a work is its own', async () => {
  function* failing(): Slices<never> {
    yield;
    throw new Error('broken');
  }
  const [good, bad] = await Promise.allSettled([inTurns(busy(3)), inTurns(failing())]);
  assert.equal([good.status, bad.status], ['fulfilled', 'rejected']);
  assert.is(await inTurns(busy(1)), 1);
  assert.throws(() => atOnce(failing()), 'broken');
});

test('a long text has the same tokens in turns as at once', async () => {
  const { encode, encodeInTurns } = loadTokenizer(withFile('datasets/models/stories-3m.gguf', readGguf));
  for (const text of ['One day '.repeat(5000), 'ab'.repeat(20_000), '</s>'.repeat(9000), '\u{1f600}'.repeat(5000)])
    for (const parseSpecial of [true, false])
      assert.equal(await encodeInTurns(text, { parseSpecial }), encode(text, { parseSpecial }));
});

test.run();
