import { existsSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { matrixFormats } from '../../commands/device-profile.ts';
import { formatsOf } from '../../commands/profile.ts';
import { QUANTIZATION_NAMES } from '../../engine/model/quantization.ts';
import { goldenModel } from '../support/golden-models.ts';
import { runScript } from '../support/run-script.ts';

const MISTAKES: readonly [string, readonly string[], RegExp][] = [
  ['no --out', [], /required option '--out <file>' not specified/],
  ['no threads', ['--out', 'x.json', '--threads', '0'], /--threads: "0" is not a whole number/],
  ['a name that is none', ['--out', 'x.json', '--name', ' '], /--name: is empty/],
  [
    'lengths without a model',
    ['--out', 'x.json', '--lengths', '64'],
    /--lengths: is of the parts that --parts-of measures/,
  ],
  ['parts without a GPU', ['--out', 'x.json', '--parts-of', 'x.gguf', '--device', 'none'], /--parts-of: needs a GPU/],
  ['a format that is none', ['--out', 'x.json', '--formats', 'Q9'], /--formats: unknown "Q9"/],
  [
    'formats of parts',
    ['--out', 'x.json', '--formats', 'Q8_0', '--parts-of', 'x.gguf'],
    /--formats: is not for --parts-of, which measures the model’s own; leave it out/,
  ],
  ['a folder that isn’t there', ['--out', '/nowhere/x.json'], /--out \/nowhere\/x\.json: there is no folder \/nowhere/],
];

for (const [what, options, expected] of MISTAKES) {
  test(`${what} is reported in one line with exit code 2`, async () => {
    const { code, stdout, stderr } = await runScript('bin/hearth.js', 'profile', ...options);
    assert.equal([code, stdout, stderr.trimEnd().split('\n').length], [2, '', 1], stderr);
    assert.match(stderr, expected);
    assert.not.ok(existsSync('x.json'));
  });
}

test('all formats are measured, the usual ones if it must be quick, or those of a model; F16 always', () => {
  assert.equal(new Set(formatsOf({})), new Set(QUANTIZATION_NAMES));
  assert.equal(formatsOf({ quick: true }), ['F16', 'Q8_0', 'Q4_0', 'Q4_K', 'Q5_K', 'Q6_K']);
  const model = matrixFormats(goldenModel('qwen2-Q4_K_M'));
  assert.equal(model, ['Q4_K', 'Q6_K']);
  assert.equal(formatsOf({ quick: true, formats: model.join() }), ['F16', 'Q4_K', 'Q6_K']);
  assert.equal(formatsOf({ formats: 'Q8_0,F16' }), ['F16', 'Q8_0']);
});

test.run();
