import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { withFile } from '../../engine/gguf/file-source.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { randomStream } from '../../engine/input/random-stream.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { loadTransformer } from '../../engine/runtime/load/load-transformer.ts';
import { createConversation } from '../../engine/text/conversation.ts';
import { loadTokenizer } from '../../engine/text/load-tokenizer.ts';
import { createSampler, SAMPLER_DEFAULTS } from '../../engine/text/sampling/sampler.ts';
import { madeFile } from '../runtime/made-file.ts';

const TEMPLATE = `{% for message in messages %}
{{ '[' + message.role + '] ' + message.content }}
{% endfor %}
[assistant]`;

const folder = mkdtempSync(join(tmpdir(), 'hearth-'));
test.after(() => rmSync(folder, { recursive: true }));
const path = await madeFile({
  folder,
  name: 'chat',
  metadata: [['tokenizer.chat_template', { type: 'string', value: TEMPLATE }]],
});
const gguf = withFile(path, readGguf);
const tokenizer = loadTokenizer(gguf);

function begun(context = 512) {
  const kernels = openKernels({ implementation: 'reference' });
  const model = loadTransformer(path, { kernels, context, kvCache: 'F32' });
  const conversation = createConversation({ gguf, tokenizer, model, system: 'Be brief.' });
  const say = (text: string) => {
    const sampler = createSampler({ ...SAMPLER_DEFAULTS, temperature: 0 }, randomStream(1, 'sampler'));
    return conversation.say(text, { tokens: 6, sampler });
  };
  return { model, say, forget: conversation.forget };
}

test('a turn evaluates only what the turns before it have not', async () => {
  const { model, say } = begun();
  const first = await say('Hello');
  assert.is(
    first.promptTokens,
    tokenizer.encode('[system] Be brief.\n[user] Hello\n[assistant]', { addSpecial: true }).length,
  );
  const before = model.position;
  const second = await say('And now?');
  assert.ok(second.promptTokens < before, `${second.promptTokens} tokens`);
});

test('answers are those of a model that reads the whole conversation at once', async () => {
  const { say, model } = begun();
  await say('Hello');
  const second = await say('And now?');
  const fresh = begun();
  // The first answer is the same, and a forgotten conversation leaves nothing.
  await fresh.say('Something else');
  fresh.forget();
  await fresh.say('Hello');
  fresh.model.rewind(0);
  const again = await fresh.say('And now?');
  assert.is(again.text, second.text);
  assert.is(fresh.model.position, model.position);
});

test('a message that does not fit is refused and forgotten', async () => {
  const { say } = begun(64);
  const long = await say('x'.repeat(200)).then(
    () => 'an answer',
    (error: Error) => error.message,
  );
  assert.match(long, /^conversation: it has \d+ tokens, and the context has room for 64; begin a new one/);
  assert.is((await say('Hi')).reason, 'length');
});

test.run();
