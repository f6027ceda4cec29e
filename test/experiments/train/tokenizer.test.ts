import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withFile } from '../../../engine/gguf/file-source.ts';
import { readGguf } from '../../../engine/gguf/read-gguf.ts';
import { writeGguf } from '../../../engine/gguf/write-gguf.ts';
import { loadTokenizer } from '../../../engine/text/load-tokenizer.ts';
import type { Message } from '../../../engine/text/message.ts';
import { chatTokens } from '../../../engine/text/prompt-tokens.ts';
import type { Conversation } from '../../../experiments/train/grammar/conversations.ts';
import { firstDocuments } from '../../../experiments/train/grammar/grammar.ts';
import { documentText, tokenizerMetadata, VOCABULARY_SIZE } from '../../../experiments/train/tokenizer.ts';

const folder = mkdtempSync(join(tmpdir(), 'hearth-train-'));
test.after(() => rmSync(folder, { recursive: true, force: true }));
const path = join(folder, 'tokenizer.gguf');
await writeGguf(path, new Map(tokenizerMetadata(1)), []);
const gguf = withFile(path, readGguf);
const tokenizer = loadTokenizer(gguf);
const documents = firstDocuments(5, 'held-out', 300);

test('texts come back from their tokens, but for control tokens', () => {
  assert.is(tokenizer.size, VOCABULARY_SIZE);
  for (const text of [...documents.map(documentText), 'Žofie ate 1024 naïve 🍰s.']) {
    const bytes = tokenizer.encode(text, { addSpecial: true, parseSpecial: true }).map((id) => tokenizer.bytesOf(id));
    assert.is(Buffer.concat(bytes).toString(), text.replaceAll(/<\|\w+\|>/g, ''));
  }
});

test('a word of the corpus is a token, and so is every digit', () => {
  const spell = (text: string): string[] => tokenizer.encode(text).map((id) => tokenizer.spell(id));
  const words = ['Mia', 'Ġfound', 'Ġthe', 'Ġkite', 'Ġbehind', 'Ġthe', 'Ġtree', '.'];
  assert.equal(spell('Mia found the kite behind the tree.'), words);
  assert.equal(spell(' 27 + 12 = 39.'), ['Ġ2', '7', 'Ġ+', 'Ġ1', '2', 'Ġ=', 'Ġ3', '9', '.']);
});

test('conversations of the corpus are what the chat template writes', async () => {
  const found = documents.flatMap(({ content }) => (typeof content === 'string' ? [] : [content]));
  const conversation = found.find(({ system, turns }) => system !== undefined && turns.length > 1) as Conversation;
  const { system = '', turns } = conversation;
  const last = turns.length - 1;
  const messages: Message[] = [
    { role: 'system', content: system },
    ...turns.flatMap(({ user, assistant }, index): Message[] => [
      { role: 'user', content: user },
      ...(index === last ? [] : [{ role: 'assistant', content: assistant } as const]),
    ]),
  ];
  const prompt = await chatTokens(gguf, tokenizer, messages);
  const whole = tokenizer.encode(documentText({ kind: 'conversation', content: conversation, nats: 0 }), {
    addSpecial: true,
    parseSpecial: true,
  });
  assert.equal(whole.slice(0, prompt.length), prompt);
  assert.is(tokenizer.spell(prompt[0] as number), '<|begin_of_text|>');
});

test.run();
