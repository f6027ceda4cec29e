import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readBySeconds } from '../../experiments/page-scan/read-share.ts';
import { mapsFiles } from '../../experiments/page-scan/scan-file.ts';
import { testIf } from '../support/needs.ts';
import { runHere } from '../support/run-script.ts';

const out = mkdtempSync(join(tmpdir(), 'hearth-page-scan-test-'));
test.after(() => rmSync(out, { recursive: true, force: true }));

/** Scans of a file far below the memory of any machine that runs tests. */
async function scan(...options: readonly string[]) {
  const small = ['--memory', '16MiB', '--shares', '0.5,1.5', '--scans', '3', '--json', '--out', out];
  const { code, stdout, stderr } = await runHere('experiments/page-scan.ts', ...small, ...options);
  assert.is(code, 0, stderr);
  return JSON.parse(stdout);
}

testIf(mapsFiles(), 'needs the native kernels', 'page faults bring a small file once, and it stays', async () => {
  const { settings, sizes, system } = await scan('--by', 'fault');
  assert.is(system.platform, process.platform);
  assert.equal([settings.by, settings.memory], ['fault', 16 * 2 ** 20]);
  assert.equal(
    sizes.map(({ share, bytes, judgedBy }: { share: number; bytes: number; judgedBy: string }) => [
      share,
      bytes,
      judgedBy,
    ]),
    [
      [0.5, 8_257_536, 'mincore'],
      [1.5, 25_165_824, 'mincore'],
    ],
  );
  for (const { scans } of sizes) {
    assert.equal([scans[1].read, scans[2].read], [0, 0]);
    assert.is(scans[0].extentSeconds.length, 96);
  }
  assert.equal(
    readdirSync(out).filter((name) => name.startsWith('hearth-page-scan')),
    [],
  );
});

test('where files can’t be mapped they are read, and times judge if they can', async () => {
  const { sizes } = await scan('--by', 'read');
  for (const { judgedBy, scans } of sizes) {
    assert.ok(['seconds', 'none'].includes(judgedBy), judgedBy);
    for (const { read } of scans) assert.ok(judgedBy === 'none' ? read === null : read >= 0 && read <= 1);
  }
});

test('times tell a disk from memory where it is clearly slower', () => {
  assert.equal(
    readBySeconds([
      [9, 8, 9, 9],
      [1, 1, 9, 1],
      [1, 1, 1, 1],
    ]),
    [1, 0.25, 0],
  );
  assert.is(
    readBySeconds([
      [1, 1.5],
      [1.2, 1],
    ]),
    undefined,
  );
});

for (const [options, expected] of [
  [['--by', 'walk'], /^--by: "walk" is no way to use a file; allowed: fault, read\n$/],
  [['--shares', '0'], /^--shares: "0" is not a number between 0.01 and 10\n$/],
  [['--memory', '900TB'], /^--shares: need a file of .* give smaller ones\n$/],
] as const)
  test(`${options.join(' ')} ends in one line and exit code 2`, async () => {
    const { code, stderr } = await runHere('experiments/page-scan.ts', ...options, '--out', out);
    assert.is(code, 2);
    assert.match(stderr, expected);
  });

test.run();
