import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadPlan } from '../../datasets/load.ts';
import { testReport } from '../support/open-report.ts';
import { runHere } from '../support/run-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-sequence-cutting-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));
const { code, stdout } = await runHere('experiments/sequence-cutting.ts', '--length', '600', '--out', directory);

test('600 = 512 + 32 + 56, and every operator with its reason', () => {
  assert.is(code, 0);
  assert.match(stdout, /cuts tokens only, 600 = 512 \+ 32 \+ 56/);
  for (const operator of ['qkv', 'attention-output', 'gate-up', 'down'])
    assert.match(stdout, new RegExp(`\\n${operator} .* ms`));
});

test('plans are written that can be read again', () => {
  const { stages } = loadPlan(join(directory, 'plans/sequence-cutting.json'));
  assert.equal(stages[0]?.partition?.prefill.qkv, { npuRows: 6144, npuLengths: [512, 32] });
});

test('Hetero-tensor is the fastest at every length of the sweep', () => {
  const [header, ...lines] = readFileSync(join(directory, 'lengths.csv'), 'utf8').trim().split('\n');
  assert.is(header, 'tokens,hetero-tensor,sequence-cutting,pipe,padding,online-prepare');
  assert.is(lines.length, 64);
  for (const line of lines) {
    const [, own = 0, ...others] = line.split(',').map(Number);
    assert.ok(
      others.every((other) => other >= own),
      line,
    );
  }
});

test('lengths outside 1 to 8192, and fractions, are refused', async () => {
  for (const length of ['0', '8193', '3.5']) {
    const { code: failed, stderr } = await runHere(
      'experiments/sequence-cutting.ts',
      '--length',
      length,
      '--out',
      directory,
    );
    assert.is(failed, 2);
    assert.is(stderr, `--length: "${length}" is not a whole number between 1 and 8192\n`);
  }
});

testReport(() => join(directory, 'report.html'), 2);

test.run();
