import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { CountedPage } from '../../../engine/batch/counted-pages.ts';
import { RingError } from '../../../engine/ring/head/errors.ts';
import { createRingTexts, type RingText, ringModel } from '../../../engine/ring/head/ring-texts.ts';
import { wholeTexts } from '../ring-in-process.ts';
import { failingHead, lost, recovering } from './failing-head.ts';

test('after a loss all tokens are evaluated again and the text continues', async () => {
  const { head, state } = failingHead([]);
  const { ring } = recovering(head);
  const model = ringModel(createRingTexts(ring, wholeTexts(64)));
  assert.equal([...(await model.evaluate([1, 2, 3]))], [3]);
  assert.equal([...(await model.evaluate([4]))], [4]);
  state.whole = false;
  assert.equal([...(await model.evaluate([5]))], [5]);
  assert.equal(state.evaluated, [[1, 2, 3], [4], [1, 2, 3, 4, 5]]);
});

test('an interrupted request continues with the remaining devices', async () => {
  const { head, state } = failingHead([undefined, lost('a')]);
  const { ring } = recovering(head);
  const model = ringModel(createRingTexts(ring, wholeTexts(64)));
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
  const message = await ringModel(createRingTexts(ring, wholeTexts(64)))
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
  const texts = createRingTexts(ring, wholeTexts(64));
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

test('a text that begins takes the pages of one that was closed, and a rewound one its own', async () => {
  const { head, state } = failingHead([]);
  const { ring } = recovering(head);
  const texts = createRingTexts(ring, wholeTexts(64));
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
  assert.equal(state.requests, [0, 0, 1, 2]);
  assert.equal(state.pages, [[0], [0], [1], [0]]);
});

test('texts that begin alike share pages, which after a loss are evaluated once, before all else', async () => {
  const { head, state } = failingHead([]);
  const { ring } = recovering(head);
  const texts = createRingTexts(ring, { contextLength: 64, pages: 5, pageTokens: 2 });
  const add = (...work: [RingText, ...number[]][]) =>
    texts.evaluate(work.map(([text, ...tokens]) => ({ text, tokens, rows: 1, multiplied: 'together' as const })));
  const one = texts.open();
  await add([one, 1, 2, 3]);
  const page = one.keep(0) as CountedPage;
  const other = texts.open([page]);
  assert.equal([other.position, other.sharedPages, texts.freePages], [2, 1, 3]);
  await add([other, 4]);
  assert.equal(state.pages, [
    [0, 1],
    [0, 2],
  ]);
  state.whole = false;
  await add([one, 5], [other, 6, 7]);
  assert.equal(state.evaluated.slice(2), [
    [1, 2],
    [3, 5],
    [4, 6, 7],
  ]);
  assert.equal(state.pages.slice(2), [
    [0, 1],
    [0, 1],
    [0, 2, 3],
  ]);
  one.close();
  other.close();
  assert.equal([page.isIdle, texts.freePages], [true, 4]);
  // What is kept is on no device after a loss.
  state.whole = false;
  const third = texts.open([page]);
  await add([third, 8]);
  assert.equal(state.evaluated.slice(5), [[1, 2, 8]]);
  third.close();
  page.release();
  assert.is(texts.freePages, 5);
});

test('the page in which texts part is copied before the next pass, whosever it is, and never after a loss', async () => {
  const { head, state } = failingHead([]);
  const { ring } = recovering(head);
  const texts = createRingTexts(ring, { contextLength: 64, pages: 8, pageTokens: 4 });
  const add = (text: RingText, ...tokens: number[]) =>
    texts.evaluate([{ text, tokens, rows: 1, multiplied: 'together' as const }]);
  const one = texts.open();
  await add(one, 1, 2, 3, 4, 5, 6, 7);
  const pages = [one.keep(0), one.keep(1)] as CountedPage[];
  const begun = (): RingText => {
    const text = texts.open(pages);
    text.rewind(6);
    return text;
  };
  const [other, third] = [begun(), begun()];
  await add(one, 8);
  await add(other, 9);
  assert.equal(state.copies.slice(1), [
    [
      { from: 1, to: 2, tokens: 2 },
      { from: 1, to: 3, tokens: 2 },
    ],
    [],
  ]);
  assert.equal([state.evaluated.at(-1), state.pages.at(-1), other.foundTokens], [[9], [0, 2], 6]);
  // A copy of a copy, and one of a page that a text goes on writing to.
  const kept = other.keep(1) as CountedPage;
  other.rewind(5);
  await add(other, 10);
  assert.equal(state.copies.at(-1), [{ from: 2, to: 4, tokens: 1 }]);
  const late = begun();
  state.whole = false;
  await add(late, 11);
  await add(third, 12);
  await add(other, 13);
  assert.equal(state.evaluated.slice(-4), [
    [1, 2, 3, 4],
    [5, 6, 11],
    [5, 6, 12],
    [5, 10, 13],
  ]);
  assert.equal(state.copies.slice(4).flat(), []);
  for (const text of [one, other, third, late]) text.close();
  for (const page of [...pages, kept]) page.release();
  assert.is(texts.freePages, 8);
});

test('tokens for which there are no pages change no text', async () => {
  const { head, state } = failingHead([]);
  const { ring } = recovering(head);
  const texts = createRingTexts(ring, { contextLength: 64, pages: 2, pageTokens: 2 });
  const [one, other] = [texts.open(), texts.open()];
  const work = (text: RingText, ...tokens: number[]) => ({ text, tokens, rows: 1, multiplied: undefined });
  const error = await texts.evaluate([work(one, 1, 2), work(other, 3, 4, 5)]).catch(String);
  assert.is(error, 'RangeError: all 2 pages are in use');
  assert.equal([one.position, other.position, texts.freePages], [0, 0, 2]);
  await texts.evaluate([work(one, 1, 2, 3)]);
  assert.equal(state.evaluated, [[1, 2, 3]]);
});

test.run();
