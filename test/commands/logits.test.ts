import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { nmse } from '../runtime/nmse.ts';
import { goldenModel, readGolden } from '../support/golden-models.ts';
import { type Ended, runScript } from '../support/run-script.ts';

const MODEL = goldenModel('qwen2-Q4_K_M');
const golden = readGolden('qwen2-Q4_K_M');
const tokens = golden.prompt_short.slice(0, 4).join(',');

const logits = (...options: readonly string[]): Promise<Ended> =>
  runScript('bin/hearth.js', 'logits', '--model', MODEL, ...options);

test('--json prints all logits of the last position or of all positions', async () => {
  const exact = ['--tokens', tokens, '--kernels', 'reference', '--kv', 'F32', '--json'];
  const [last, all] = await Promise.all([logits(...exact), logits(...exact, '--all')]);
  assert.equal([last.code, all.code], [0, 0], last.stderr + all.stderr);
  const [one, four] = [JSON.parse(last.stdout), JSON.parse(all.stdout)];
  assert.is(four.logits.length, 4);
  for (const [i, row] of golden.ref64.short_logits.slice(0, 4).entries()) assert.ok(nmse(four.logits[i], row) < 1e-10);
  assert.equal(one.logits, four.logits.slice(3));
  assert.equal([one.firstPosition, four.firstPosition], [3, 0]);
  const { model, architecture, kernels, kvCache, vocabularySize } = one;
  assert.equal(
    [model, architecture, kernels, kvCache, vocabularySize],
    ['random-qwen2-Q4_K_M', 'qwen2', 'reference', 'F32', 768],
  );
});

test('without --json the ten largest logits are printed with their probabilities', async () => {
  const { code, stdout, stderr } = await logits('--tokens', tokens, '--kernels', 'reference', '--threads', '1');
  assert.is(code, 0, stderr);
  const row = golden.ref64.short_logits[3] as Float32Array;
  const largest = [...row.keys()].sort((a, b) => (row[b] as number) - (row[a] as number)).slice(0, 10);
  const lines = stdout.trimEnd().split('\n');
  assert.equal(lines[0]?.trim().split(/ +/), ['Position', 'Token', 'Next', 'Logit', 'Probability']);
  assert.equal(
    lines.slice(2).map((line) => Number(line.trim().split(/ +/).at(-3))),
    largest,
  );
});

const MISTAKES: readonly [string, readonly string[], string][] = [
  ['a token beyond the vocabulary', ['--tokens', '5,768'], '--tokens: "768" is not a whole number between 0 and 767\n'],
  ['an empty token', ['--tokens', '5,,6'], '--tokens: "" is not a whole number between 0 and 767\n'],
  ['other kernels', ['--tokens', '5', '--kernels', 'nativ'], '--kernels: unknown "nativ"; did you mean "native"?\n'],
  ['another cache', ['--tokens', '5', '--kv', 'F8'], '--kv: unknown "F8"; allowed: F16, F32, Q8_0, Q4_0\n'],
  ['no threads', ['--tokens', '5', '--threads', '0'], '--threads: "0" is not a whole number between 1 and 1024\n'],
];

for (const [what, options, expected] of MISTAKES) {
  test(`${what} is reported in one line with exit code 2`, async () => {
    const { code, stdout, stderr } = await logits(...options);
    assert.equal([code, stdout, stderr], [2, '', expected]);
  });
}

test.run();
