import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createPromptLookup } from '../../../engine/text/speculation/prompt-lookup.ts';

test('the longest run of last tokens counts, not the newest of a shorter one', () => {
  // 2 3 4 occurred first, before 5; 3 4 also later, before 9.
  const text = [2, 3, 4, 5, 6, 7, 3, 4, 9, 8, 2, 3, 4];
  assert.equal(createPromptLookup(3).find(text, 3), { tokens: [5, 6, 7], matched: 3 });
  assert.equal(createPromptLookup(2).find(text, 3), { tokens: [9, 8, 2], matched: 2 });
});

test('of two occurrences the newest counts', () => {
  assert.equal(createPromptLookup(2).find([1, 2, 3, 1, 2, 4, 1, 2], 1), { tokens: [4], matched: 2 });
});

test('nothing follows where the last two tokens are new', () => {
  const none = { tokens: [], matched: 0 };
  assert.equal(createPromptLookup(4).find([1, 2, 3, 2], 4), none);
  assert.equal(createPromptLookup(4).find([1], 4), none);
  assert.equal(createPromptLookup(4).find([], 4), none);
});

test('a continuation that reaches the end goes on with itself', () => {
  assert.equal(createPromptLookup(2).find([9, 1, 2, 1, 2], 5), { tokens: [1, 2, 1, 2, 1], matched: 2 });
  assert.equal(createPromptLookup(2).find([7, 7, 7], 3).tokens, [7, 7, 7]);
});

test('a text that grows is found as if it were given at once', () => {
  const lookup = createPromptLookup(3);
  const text = [5, 1, 2, 3, 5, 1, 2, 8, 1, 2, 3, 5, 1];
  for (let length = 1; length <= text.length; length++) {
    const part = text.slice(0, length);
    assert.equal(lookup.find(part, 4), createPromptLookup(3).find(part, 4), `${part}`);
  }
});

test('a run of one token is refused', () => {
  assert.throws(() => createPromptLookup(1), /runs of 1 tokens; give a whole number from 2 on/);
});

test.run();
