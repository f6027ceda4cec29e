import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { randomStream } from '../../../engine/input/random-stream.ts';
import { createDice } from '../../../experiments/train/grammar/dice.ts';
import { type Document, firstDocuments } from '../../../experiments/train/grammar/grammar.ts';

test('the same seed gives the same documents, however many are drawn; seeds and parts differ', () => {
  const ten = firstDocuments(7, 'training', 10);
  assert.equal(firstDocuments(7, 'training', 30).slice(0, 10), ten);
  assert.not.equal(firstDocuments(8, 'training', 10), ten);
  assert.not.equal(firstDocuments(7, 'held-out', 10), ten);
});

test('dice count how surprising their choices are', () => {
  const dice = createDice(randomStream(1, 'test'));
  dice.pick(['a', 'b', 'c', 'd']);
  dice.number(1, 6);
  assert.ok(['b', 'c'].includes(dice.other(['a', 'b', 'c'], 'a')));
  assert.ok(Math.abs(dice.nats - Math.log(4 * 6 * 2)) < 1e-12);
  const before = dice.nats;
  const drawn = dice.weighted([
    [3, 'often'],
    [1, 'seldom'],
  ]);
  assert.ok(Math.abs(dice.nats - before - Math.log(drawn === 'often' ? 4 / 3 : 4)) < 1e-12);
});

test('documents of one text have one probability, and it is how often they occur', () => {
  const documents = firstDocuments(1, 'training', 20_000);
  // A table is one of four kinds of arithmetic, two tenths of the documents, and of eight tables.
  const table = ({ content }: Document): boolean =>
    typeof content === 'string' && content.startsWith('The table of 7:');
  const found = documents.filter(table);
  const probability = 0.2 / 4 / 8;
  for (const { nats } of found) assert.ok(Math.abs(nats + Math.log(probability)) < 1e-12);
  const expected = documents.length * probability;
  assert.ok(Math.abs(found.length - expected) < 4 * Math.sqrt(expected), `${found.length}, expected ${expected}`);
});

test('stories are about people who are told apart, and sums are right', () => {
  const documents = firstDocuments(3, 'training', 3000);
  const texts = documents.map(({ content }) => JSON.stringify(content));
  for (const text of texts) {
    for (const [whole, left, sign, right, result] of text.matchAll(/(\d+) ([-+x]) (\d+) = (\d+)/g)) {
      const [a, b] = [Number(left), Number(right)];
      assert.is(Number(result), sign === '+' ? a + b : sign === '-' ? a - b : a * b, whole);
    }
    assert.not(/(\b[A-Z]\w+) and \1\b/.test(text), text);
  }
  assert.ok(texts.filter((text) => / = /.test(text)).length > 500);
});

test.run();
