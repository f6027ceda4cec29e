import fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createReasoningReader } from '../../engine/text/reasoning/read-reasoning.ts';
import {
  endsInThoughts,
  type Reasoning,
  reasoningKeyOf,
  reasoningOf,
  THINK,
} from '../../engine/text/reasoning/reasoning.ts';

const none = { size: 0, spell: () => '' };
const HARMONY = reasoningOf('', { size: 1, spell: () => '<|channel|>' }) as Reasoning;
const OPEN_HARMONY = '<|channel|>analysis<|message|>';
const FINAL = '<|start|>assistant<|channel|>final<|message|>';

const CASES: readonly (readonly [
  marks: Reasoning,
  isOpened: boolean,
  text: string,
  reasoning: string,
  answer: string,
])[] = [
  [THINK, false, '<think>\nSo.\n\nYes.\n</think>\n\nFour.', 'So.\n\nYes.', 'Four.'],
  [THINK, true, 'So.\n</think>\nFour.\n', 'So.', 'Four.\n'],
  [THINK, false, 'The tag <think> begins thoughts.', '', 'The tag <think> begins thoughts.'],
  [THINK, false, ' plain', '', ' plain'],
  [THINK, false, '<think></think>Four.', '', 'Four.'],
  [THINK, false, '<think>cut </thi', 'cut </thi', ''],
  [THINK, false, '<thin', '', '<thin'],
  [THINK, true, '</think>', '', ''],
  [THINK, false, '<think>a</think> <think>b</think>c', 'ab', 'c'],
  [HARMONY, false, `${OPEN_HARMONY}Hm.<|end|>${FINAL}Four.`, 'Hm.', 'Four.'],
  [HARMONY, false, `${OPEN_HARMONY}A.<|end|><|start|>assistant${OPEN_HARMONY}B.<|end|>${FINAL}C`, 'A.B.', 'C'],
  [HARMONY, false, '<|channel|>final<|message|>Four.', '', 'Four.'],
];

for (const [marks, isOpened, text, reasoning, answer] of CASES)
  test(`${isOpened ? 'opened: ' : ''}${text.slice(0, 60)}`, () => {
    const read = (pieces: readonly string[]) => {
      const reader = createReasoningReader({ ...marks, isOpened });
      const parts = [...pieces.map((piece) => reader.add(piece)), reader.finish()];
      return [parts.map((part) => part.reasoning).join(''), parts.map((part) => part.text).join('')];
    };
    assert.equal(read([text]), [reasoning, answer]);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: text.length }), { maxLength: 8 }), (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), text.length];
        assert.equal(read(places.slice(1).map((end, index) => text.slice(places[index], end))), [reasoning, answer]);
      }),
      { numRuns: 40 },
    );
  });

test('marks are known from the template, or else from the vocabulary', () => {
  assert.is(reasoningOf("{% if '</think>' in x %}<think>{% endif %}", none)?.end, '</think>');
  assert.is(reasoningOf('', { size: 2, spell: (token) => ['a', '[THINK]'][token] as string })?.end, '[/THINK]');
  assert.is(reasoningOf('<|im_start|>', { size: 1, spell: () => 'a' }), undefined);
});

test('a prompt ends within thoughts where it ends with their mark', () => {
  assert.ok(endsInThoughts('<|im_start|>assistant\n<think>\n', THINK));
  assert.not(endsInThoughts('<|im_start|>assistant\n<think>\n\n</think>\n\n', THINK));
  assert.not(endsInThoughts('Say <think> twice', THINK));
});

test('the key of earlier thoughts is the one that the template reads', () => {
  assert.is(reasoningKeyOf('{% if message.reasoning_content is string %}'), 'reasoning_content');
  assert.is(reasoningKeyOf('{% if "thinking" in message %}{{ message.thinking }}'), 'thinking');
  assert.is(reasoningKeyOf('{{ message.content }}'), undefined);
});

test.run();
