import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readBlocks } from '../../engine/server/forms/message-blocks.ts';

const user = (...content: { type: string; [name: string]: unknown }[]) =>
  readBlocks({ role: 'user', content }, 0).map((message) => message.content);

test('documents and results of a search are text, under their titles', () => {
  const written = { type: 'document', title: 'Cats', source: { type: 'text', media_type: 'text/plain', data: 'Mew.' } };
  const blocks = { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'Wuff.' }] } };
  const found = { type: 'search_result', source: 'a.txt', title: 'A', content: [{ type: 'text', text: 'One.' }] };
  const question = { type: 'text', text: 'So?' };
  assert.equal(user(written, blocks, found, question), ['Cats\nMew.\n\nWuff.\n\nA\na.txt\nOne.\n\nSo?']);
});

test('instructions in the course of a conversation are text', () => {
  const content = [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }];
  assert.equal(readBlocks({ role: 'system', content }, 1), [{ role: 'system', content: 'Be brief.' }]);
  assert.throws(() => readBlocks({ role: 'system', content: [{ type: 'tool_result' }] }, 1), /send text/);
});

test('files are refused with what can be sent', () => {
  const pdf = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'aa' } };
  assert.throws(() => user(pdf), /^messages\[0\]\.content\[0\]\.source\.type: must be "text" or "content"/);
  assert.throws(
    () => user({ type: 'image', source: {} }),
    /is of type "image", which is not supported here; send text/,
  );
});

test.run();
