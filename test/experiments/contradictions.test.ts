import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { judge } from '../../experiments/contradictions/judge.ts';
import { testReport } from '../support/open-report.ts';
import { runHere, runScript } from '../support/run-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-contradictions-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));
const { code, stdout } = await runScript('experiments/contradictions.ts', '--out', directory, '--json');

test('documents count signs and sizes as the table does', () => {
  assert.is(code, 0);
  const { counts } = JSON.parse(stdout) as { counts: Record<string, number> };
  const { series, signs, sizes, findings, findingsRight, untried } = counts;
  const text = readFileSync('docs/measurements/contradictions.md', 'utf8');
  const sentence = `${signs} of ${series} signs are right, and ${sizes} sizes within 15 %; of ${findings} numbered findings ${findingsRight} have the right sign in all their series. ${untried} findings are not tried.`;
  assert.ok(text.includes(sentence), sentence);
});

test('a series is judged by its ends, its shape, its floor, or a bound', () => {
  const signs = (judged: Parameters<typeof judge>[0]['judged'], values: number[], unit: 'tok/s' | 'share' = 'tok/s') =>
    judge({ judged, sign: '', unit }, values, values).simulated;
  assert.is(signs('ends', [1, 3, 1.02]), 'flat');
  assert.is(signs('shape', [1, 3, 1.02]), 'hump');
  assert.is(signs('shape', [3, 1, 2]), 'dip');
  assert.is(signs('ends', [0.5, 0.53], 'share'), 'rises');
  assert.is(signs('floor', [0, 0, 0.3], 'share'), 'floor of 2');
  const claimed = judge({ judged: 'bound', sign: '', unit: 'share' }, [0.88], [0.26]);
  assert.equal([claimed.isSignRight, claimed.simulated], [false, 'impossible']);
});

test('the size of an effect is taken at the published extremes', () => {
  const rate = judge({ judged: 'ends', sign: '', unit: 'tok/s' }, [1, 4, 2], [1, 3, 9]);
  assert.is(rate.sizeError, -0.25);
  const share = judge({ judged: 'ends', sign: '', unit: 'share' }, [0.25, 0.75], [0.5, 0.75]);
  assert.is(share.sizeError, -0.5);
});

test('a number that no finding has is one line', async () => {
  const { code: ended, stderr } = await runHere(
    'experiments/contradictions.ts',
    '--out',
    directory,
    '--findings',
    '99',
  );
  assert.is(ended, 2);
  assert.match(stderr.trim(), /^--findings: no finding that is tried has the number "99"/);
});

testReport(() => join(directory, 'report.html'), 2);

test.run();
