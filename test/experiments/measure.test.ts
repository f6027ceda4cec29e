import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadAddon } from '../../engine/kernels/native/addon.ts';
import { clusterFile } from '../../engine/profile/cluster-file.ts';
import { PROFILE } from '../profile/measures.ts';
import { checkFirstScreen } from '../support/first-screen.ts';
import { goldenModel } from '../support/golden-models.ts';
import { testIf } from '../support/needs.ts';
import { runHere, runScript } from '../support/run-script.ts';

const MODEL = goldenModel('qwen2-Q4_K_M');

let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-measure-'));
  writeFileSync(join(folder, 'laptop.json'), clusterFile(PROFILE));
});
test.after(() => rmSync(folder, { recursive: true }));

const SCRIPT = 'experiments/measure.ts';
const measure = (...options: readonly string[]) => runHere(SCRIPT, ...options);

testIf(
  typeof loadAddon() !== 'string',
  'the addon is not built',
  'with a profile: every cell has three answers; report, CSV, JSON and profile are written',
  async () => {
    const out = join(folder, 'results');
    const small = ['--contexts', '4,8', '--tokens', '3', '--repeats', '2', '--json'];
    const profile = ['--profile', join(folder, 'laptop.json')];
    const { code, stdout, stderr } = await runScript(SCRIPT, '--model', MODEL, ...profile, ...small, '--out', out);
    assert.is(code, 0, stderr);
    const { settings, cells } = JSON.parse(stdout);
    assert.equal(settings.threads, [2]);
    assert.equal(
      cells.map((cell: { promptTokens: number }) => cell.promptTokens),
      [4, 8],
    );
    for (const { predicted, simulated, measured, bytes } of cells) {
      assert.ok(Math.abs(simulated.tpot / predicted.tpot - 1) < 1e-6);
      // The simulator reads the weights for the first time, from a disk of 1e14 bytes per second.
      assert.ok(Math.abs(simulated.ttft - predicted.ttft) < (2 * bytes) / 1e14);
      assert.ok(measured.own.tpot.median > 0 && measured.own.tpot.median <= measured.wall.tpot.median * 1.0001);
      assert.is(measured.own.ttft.repeats, 2);
    }
    assert.is(readFileSync(join(out, 'measure.json'), 'utf8'), stdout);
    assert.is(readFileSync(join(out, 'profile-2.json'), 'utf8'), clusterFile(PROFILE));
    checkFirstScreen(join(out, 'report.html'));
    assert.ok(existsSync(join(out, 'measure.csv')));
  },
);

const MISTAKES: readonly [string, readonly string[], RegExp][] = [
  ['contexts of nothing', ['--contexts', '0'], /--contexts: "0" is not a whole number/],
  ['a profile that isn’t there', ['--profile', 'missing.json'], /missing\.json/],
  ['a model that isn’t there', ['--model', 'nowhere.gguf'], /^nowhere\.gguf: there is no such file/],
  ['no repeats', ['--repeats', '0'], /--repeats: "0"/],
];

for (const [what, options, expected] of MISTAKES) {
  test(`${what} is reported in one line with exit code 2`, async () => {
    const { code, stdout, stderr } = await measure(...options, '--out', join(folder, 'none'));
    assert.equal([code, stdout, stderr.trimEnd().split('\n').length], [2, '', 1], stderr);
    assert.match(stderr, expected);
  });
}

test('a number of threads without a profile is refused', async () => {
  const { code, stderr } = await measure('--profile', join(folder, 'laptop.json'), '--threads', '1', '--out', folder);
  assert.is(code, 2);
  assert.match(stderr, /--threads: the profile was made with 2/);
});

test.run();
