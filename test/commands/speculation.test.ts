import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { madeFile } from '../runtime/made-file.ts';
import { testIf } from '../support/needs.ts';
import { type Ended, hearthHere, runScript } from '../support/run-script.ts';

const folder = mkdtempSync(join(tmpdir(), 'hearth-'));
test.after(() => rmSync(folder, { recursive: true }));
const model = await madeFile({ folder, name: 'model' });
const other = await madeFile({ folder, name: 'other', shape: { layers: 1 } });
const larger = await madeFile({ folder, name: 'larger', shape: { vocabularySize: 261 } });

const OPTIONS = ['generate', '--model', model, '--prompt', 'a b a b a', '--tokens', '60', '--json'];
const generate = (...options: readonly string[]): Promise<Ended> => hearthHere(...OPTIONS, ...options);
const KERNELS = NATIVE_SETS.length > 0 ? ['--kernels', 'native', '--threads', '2'] : ['--kernels', 'reference'];

/** The result of a run that ended well. */
async function result(...options: readonly string[]) {
  const { code, stdout, stderr } = await generate(...KERNELS, ...options);
  assert.is(code, 0, stderr);
  return { ...JSON.parse(stdout), stderr };
}

test('texts with drafts are those without: greedy and drawn, whatever drafts', async () => {
  for (const temperature of ['0', '0.9']) {
    const sampling = ['--temperature', temperature];
    const { tokens } = await result(...sampling);
    for (const draft of [['--draft', model], ['--draft', other], ['--lookup'], ['--lookup', '2', '--draft', other]])
      for (const count of [[], ['--draft-tokens', '3']]) {
        const found = await result(...sampling, ...draft, ...count);
        assert.equal(found.tokens, tokens, `${temperature}, ${draft}, ${count}`);
        assert.ok(found.speculation.passes > 0);
      }
  }
});

test('a draft that is the model itself has all of its tokens accepted, greedy and drawn', async () => {
  const draft = ['--draft', model, '--draft-tokens', '4'];
  const drawn = await result('--temperature', '0.9', ...draft);
  const { passes, drafted, accepted, sources } = drawn.speculation;
  assert.equal({ passes, drafted, accepted }, { passes: 12, drafted: 47, accepted: 47 });
  assert.equal(sources, { draft: { drafted: 47, accepted: 47 } });
  assert.match(drawn.stderr, /\n47 of 47 drafted tokens accepted, 4\.92 tokens a pass\n$/);
  // In a greedy text it drafts less, since with random weights it often isn't sure.
  const greedy = (await result('--temperature', '0', ...draft)).speculation;
  assert.ok(greedy.drafted > 10, `${greedy.drafted} drafted tokens`);
  assert.equal([greedy.accepted, greedy.passes + greedy.accepted], [greedy.drafted, 59]);
});

test('a text ends before a stop string in the middle of accepted tokens', async () => {
  const { text } = await result('--temperature', '0');
  const stop = ['--temperature', '0', '--stop', text.slice(20, 24)];
  const [plain, drafted] = [await result(...stop), await result(...stop, '--draft', model, '--draft-tokens', '8')];
  assert.is(drafted.reason, 'stop');
  assert.equal([drafted.text, drafted.tokens], [plain.text, plain.tokens]);
});

test('a cache in pages rewinds too, and F32 caches do', async () => {
  for (const cache of [
    ['--kv-memory', '1MiB', '--kv-pages', '16'],
    ['--kv', 'F32'],
  ]) {
    const { tokens } = await result(...cache, '--temperature', '0');
    const found = await result(...cache, '--temperature', '0', '--draft', other, '--draft-tokens', '5');
    assert.equal(found.tokens, tokens);
  }
});

test('a draft with another vocabulary is refused in one line', async () => {
  const { code, stderr } = await generate('--draft', larger);
  assert.is(code, 2);
  assert.match(stderr, /^.*larger\.gguf: has 261 tokens, and the model has 260; a draft needs the vocabulary of .*\n$/);
});

testIf(NATIVE_SETS.length > 0, 'native kernels are not built', 'drafts work within a memory budget', async () => {
  // In processes of their own: the budget counts all that a process holds, and this one's tests hold much.
  const tokensOf = async (...drafts: readonly string[]): Promise<number[]> => {
    const streamed = ['--memory', '800MiB', '--temperature', '0', ...KERNELS, ...drafts];
    const { code, stdout, stderr } = await runScript('bin/hearth.js', ...OPTIONS, ...streamed);
    assert.is(code, 0, stderr);
    return JSON.parse(stdout).tokens;
  };
  assert.equal(await tokensOf('--draft', other, '--draft-tokens', '3'), await tokensOf());
});

test.run();
