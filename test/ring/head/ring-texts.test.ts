import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { RingError } from '../../../engine/ring/head/errors.ts';
import { createRingTexts, ringModel } from '../../../engine/ring/head/ring-texts.ts';
import { failingHead, lost, recovering } from './failing-head.ts';

test('after a loss all tokens are evaluated again and the text continues', async () => {
  const { head, state } = failingHead([]);
  const { ring } = recovering(head);
  const model = ringModel(createRingTexts(ring, 64));
  assert.equal([...(await model.evaluate([1, 2, 3]))], [3]);
  assert.equal([...(await model.evaluate([4]))], [4]);
  state.whole = false;
  assert.equal([...(await model.evaluate([5]))], [5]);
  assert.equal(state.evaluated, [[1, 2, 3], [4], [1, 2, 3, 4, 5]]);
});

test('an interrupted request continues with the remaining devices', async () => {
  const { head, state } = failingHead([undefined, lost('a')]);
  const { ring } = recovering(head);
  const model = ringModel(createRingTexts(ring, 64));
  assert.equal([...(await model.evaluate([1, 2, 3]))], [3]);
  assert.equal(state.assembled, ['h a b', 'h b']);
  assert.equal(state.evaluated, [
    [1, 2, 3],
    [1, 2, 3],
  ]);
});

test('a failure other than a loss ends the request', async () => {
  const { head, state } = failingHead([undefined, new RingError('a', 'no memory')]);
  const { ring } = recovering(head);
  const message = await ringModel(createRingTexts(ring, 64))
    .evaluate([1])
    .then(
      () => 'evaluated',
      (error: Error) => error.message,
    );
  assert.is(message, 'a: no memory');
  assert.equal(state.assembled, ['h a b']);
});

test('tokens that were multiplied in different ways are evaluated again in the same ways', async () => {
  const { head, state } = failingHead([]);
  const { ring } = recovering(head);
  const texts = createRingTexts(ring, 64);
  const [one, other] = [texts.open(), texts.open()];
  await texts.evaluate([{ text: one, tokens: [1, 2, 3], rows: 1, multiplied: 'together' }]);
  await texts.evaluate([{ text: one, tokens: [4], rows: 1, multiplied: 'singly' }]);
  state.whole = false;
  const logits = await texts.evaluate([
    { text: one, tokens: [5], rows: 1, multiplied: 'singly' },
    { text: other, tokens: [6, 7], rows: 2, multiplied: 'together' },
  ]);
  assert.equal(state.evaluated.slice(2), [
    [1, 2, 3],
    [4, 5],
    [6, 7],
  ]);
  assert.equal(
    logits.map((own) => [...own]),
    [[5], [2, 2]],
  );
  assert.equal([one.position, other.position], [5, 2]);
});

test('a text that begins takes the caches of one that was closed, and a rewound one its own', async () => {
  const { head, state } = failingHead([]);
  const { ring } = recovering(head);
  const texts = createRingTexts(ring, 64);
  const one = texts.open();
  const add = (text: typeof one, ...tokens: number[]) =>
    texts.evaluate([{ text, tokens, rows: 1, multiplied: undefined }]);
  await add(one, 1, 2, 3);
  one.rewind(1);
  assert.equal([...((await add(one, 4))[0] as Float32Array)], [2]);
  const other = texts.open();
  await add(other, 5);
  one.close();
  assert.equal([...((await add(texts.open(), 6))[0] as Float32Array)], [1]);
  assert.equal(state.requests, [0, 0, 1, 0]);
});

test.run();
