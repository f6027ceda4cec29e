import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { readBySeconds } from '../../experiments/page-scan/read-share.ts';
import { parsePageScan } from '../../experiments/page-scan/record.ts';
import { compared } from '../../experiments/page-scan/report.ts';
import { mapsFiles } from '../../experiments/page-scan/scan-file.ts';
import { scanSizes } from '../../experiments/page-scan/scan-sizes.ts';
import { near } from '../support/near.ts';
import { testIf } from '../support/needs.ts';
import { hearthHere } from '../support/run-script.ts';

const out = mkdtempSync(join(tmpdir(), 'hearth-page-scan-test-'));
test.after(() => rmSync(out, { recursive: true, force: true }));

/** Scans of a file far below the memory of any machine that runs tests. */
async function scan(...options: readonly string[]) {
  const small = ['--memory', '16MiB', '--shares', '0.5,1.5', '--scans', '3', '--json', '--folder', out];
  const files = ['--out', join(out, 'scan.json'), '--force'];
  const { code, stdout, stderr } = await hearthHere('lab', '--scan', ...small, ...files, ...options);
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

test('where files can’t be mapped they are read; the process’s bytes judge on Linux, elsewhere times if they can', async () => {
  const { sizes } = await scan('--by', 'read');
  for (const { judgedBy, scans } of sizes) {
    assert.ok((process.platform === 'linux' ? ['io'] : ['seconds', 'none']).includes(judgedBy), judgedBy);
    for (const { read } of scans) assert.ok(judgedBy === 'none' ? read === undefined : read >= 0 && read <= 1);
  }
});

test('sizes beyond the limits of bytes and seconds are left out, and it is said why', async () => {
  const { sizes, leftOut } = await scan('--by', 'read', '--most', '10MiB');
  assert.equal([sizes.length, leftOut], [1, [{ share: 1.5, reason: '24.0 MiB exceed the limit of 10.0 MiB' }]]);
  const request = { folder: out, by: 'read', memory: 2 ** 24, scans: 2, most: 2 ** 30, seconds: 0, seed: 1 } as const;
  const late = scanSizes({ ...request, shares: [0.5] }, () => ({ step() {}, stop() {} }));
  const message = await late.then(
    () => '',
    ({ message: text }: Error) => text,
  );
  assert.is(
    message,
    '--seconds: 0 are too few: the disk took only 0 in the time for writing; give more, or smaller --shares',
  );
});

const RECORDED = 'datasets/measured/page-scan-linux-6.18.json';

test('a recorded scan of Linux 6.18 reads what strict LRU and two lists do, and not what the papers’ overflow does', async () => {
  const { sizes, differences, policy } = compared(parsePageScan(readFileSync(RECORDED, 'utf8'), RECORDED));
  assert.is(policy, 'linux');
  const off = Object.fromEntries(differences.map((one) => [one.policy, one.mean]));
  assert.ok((off.linux as number) < 0.01 && (off['linux-two-list'] as number) < 0.01, JSON.stringify(off));
  assert.ok((off.overflow as number) > 0.3 && (off.mglru as number) > 0.1, JSON.stringify(off));
  near(sizes.find(({ share }) => share === 1.4)?.simulated.overflow ?? 0, 0.4 / 1.4, 0.01);
  const { code, stdout } = await hearthHere('lab', '--compare', RECORDED);
  assert.is(code, 0);
  assert.match(stdout, /The nearest policy is linux or linux-two-list.*Hearth simulates this system with linux\.\n$/);
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
  [['--scan', '--by', 'walk'], /^--by: unknown "walk"; .*fault, read\n$/],
  [['--scan', '--shares', '0'], /^--shares: "0" is not a number between 0.01 and 10\n$/],
  [['--scan', '--memory', '500TB', '--most', '900TB'], /^--shares: need a file of .* give smaller ones\n$/],
  [
    ['--scan', '--memory', '900TB'],
    /^--most: .* exceed the limit of 32.0 GiB; give a larger one, or smaller --shares\n$/,
  ],
  [[], /^lab: needs either --scan, or --compare with a file that --scan wrote\n$/],
  [['--compare', 'package.json', '--seconds', '9'], /^--seconds: has no effect with --compare; leave it out\n$/],
  [
    ['--compare', 'package.json'],
    /^package.json: is no file of hearth lab --scan: its "format" is not "hearth-page-scan"\n$/,
  ],
] as const)
  test(`lab ${options.join(' ')} ends in one line and exit code 2`, async () => {
    const place = options[0] === '--scan' ? ['--folder', out, '--out', join(out, 'none.json')] : [];
    const { code, stderr } = await hearthHere('lab', ...options, ...place);
    assert.is(code, 2);
    assert.match(stderr, expected);
  });

test.run();
