import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { runHere } from '../support/run-script.ts';

for (const [script, options, expected] of [
  ['three-answers', ['--quick', '--only', 'k = 5'], /^--only: no plan’s name has "k = 5"\n$/],
  ['three-answers', ['--tokens', '3'], /^--tokens: "3" is not a whole number between 4 and 1000\n$/],
  ['versus-prima', ['--disk', 'fast'], /^--disk: /],
  ['rounds-measured', ['--memory', '9'], /^--memory: "9" is not a number between 0.1 and 2\n$/],
  ['kernel-scan', ['--tokens', '0'], /^--tokens: "0" is not a whole number between 1 and 100\n$/],
  ['kernel-scan', ['--by', 'walk'], /^--by: .*"walk".*populate, fault/],
  ['prefetch-conflict', ['--seed', '-1'], /^--seed: "-1" is not a whole number/],
] as const) {
  test(`${script} ${options.join(' ')} ends in one line and exit code 2, before a lab is set up`, async () => {
    const out = join(tmpdir(), 'hearth-none');
    const { code, stderr, stdout } = await runHere(`experiments/${script}.ts`, ...options, '--out', out);
    assert.is(code, 2);
    assert.match(stderr, expected);
    assert.is(stdout, '');
  });
}

test.run();
