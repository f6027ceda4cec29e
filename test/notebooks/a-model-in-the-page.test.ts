import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openModel } from '../../notebooks/a-model-in-the-page/open-model.ts';
import { layersRead, type Way } from '../../notebooks/a-model-in-the-page/residency.ts';
import { symbolOf } from '../../notebooks/a-model-in-the-page/symbols.ts';
import { randomToy, TOY_SHAPE } from '../../notebooks/a-model-in-the-page/toy.ts';
import { type Setting, tokensOf, WRITTEN, write } from '../../notebooks/a-model-in-the-page/write.ts';

const LRU: Way = 'least recently used goes first';
const PINNED: Way = 'a pinned prefix stays';
const SETTING: Omit<Setting, 'weights'> = {
  prompt: 'abc',
  room: TOY_SHAPE.layers,
  way: LRU,
  temperature: 1,
  topK: 0,
  topP: 1,
  seed: 1,
};
const file = randomToy(1);

test('what is written does not depend on the layers that fit, or on how they are kept', () => {
  const { tokens, logits } = write(file, SETTING);
  for (const room of [1, 3, 5])
    for (const way of [LRU, PINNED]) {
      const other = write(file, { ...SETTING, room, way });
      assert.equal(other.tokens, tokens, `${room}, ${way}`);
      assert.equal(other.logits.at(-1)?.at(-1), logits.at(-1)?.at(-1));
    }
  assert.is(tokens.length, 3 + WRITTEN);
  assert.not.equal(write(file, { ...SETTING, seed: 2 }).tokens, tokens);
});

test('a list of least recently used layers keeps none of a scan; a pinned prefix keeps all but one of those that fit', () => {
  assert.equal(
    [1, 2, 5, 6].map((room) => layersRead(6, room, LRU)),
    [6, 6, 6, 0],
  );
  assert.equal(
    [1, 2, 5, 6].map((room) => layersRead(6, room, PINNED)),
    [6, 5, 2, 0],
  );
});

test('the prompt takes one pass, each written token another, and each reads what the page cache lacks', () => {
  const { passes } = write(file, { ...SETTING, room: 4, way: PINNED });
  assert.is(passes.length, 1 + WRITTEN);
  assert.equal(passes[0], { tokens: 3, wasRead: [true, true, true, true, true, true] });
  assert.equal(passes[1], { tokens: 1, wasRead: [false, false, false, true, true, true] });
});

test('the logits after the last layer are those of the model', () => {
  const { transformer, seen } = openModel({ file, contextLength: 8, room: 2, way: LRU });
  const last = transformer.evaluate([97, 98, 99]);
  assert.equal(seen.logits.at(-1)?.at(-1), last);
  assert.not.equal(seen.logits.at(-2)?.at(-1), last);
  assert.equal(
    seen.logits.map(({ length }) => length),
    Array.from({ length: TOY_SHAPE.layers + 1 }, () => 3),
  );
});

test('tokens are bytes, and every one has a symbol', () => {
  assert.equal(tokensOf('é!'), [0xc3, 0xa9, 0x21]);
  assert.equal(tokensOf(''), [0x0a]);
  assert.equal([0x41, 0x20, 0x0a, 0x07, 0xc3, 257].map(symbolOf), ['A', '␣', '⏎', '07', 'C3', 'end']);
});

test.run();
