import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseKernelScans, recordedScan, SCAN_EXTENTS } from '../../../datasets/lab/kernel-scan.ts';
import { EXTENTS, scan } from '../../../notebooks/when-weights-dont-fit/scan.ts';

const FILE = 'datasets/measured/kernel-scan.csv';
const scans = parseKernelScans(readFileSync(FILE, 'utf8'), FILE);

test('an extent that is in memory and was not a moment before has been read', () => {
  const { read, room } = recordedScan(0.5, [
    { token: 0, extent: 0, resident: [{ from: 0, to: 2 }] },
    { token: 0, extent: 1, resident: [{ from: 1, to: 3 }] },
    { token: 1, extent: 0, resident: [{ from: 0, to: 1 }] },
  ]);
  assert.equal(read, [3 / SCAN_EXTENTS, 1 / SCAN_EXTENTS]);
  assert.is(room, 2 / SCAN_EXTENTS);
});

test('every use of every extent is on record', () => {
  assert.is(EXTENTS, SCAN_EXTENTS);
  for (const { moments } of scans) assert.is(moments.length, 4 * SCAN_EXTENTS);
});

test('Linux reads a file that does not fit whole for every scan, as the simulated strict list does', () => {
  const short = scans.filter(({ room }) => room < 1);
  assert.equal(short.length, 5);
  assert.ok(Math.max(...short.map(({ room }) => room)) > 0.95);
  for (const { room, read } of short) {
    const simulated = scan('strict LRU (Linux on an advised mapping)', Math.round(room * EXTENTS), 4).read;
    for (const [token, share] of read.entries()) {
      assert.ok(Math.abs(share - (simulated[token] as number)) < 0.03, `${room}, token ${token}: ${share}`);
    }
  }
});

test('Linux reads a file that fits once', () => {
  const fits = scans.filter(({ room }) => room === 1);
  assert.equal(
    fits.map(({ read }) => read.map((share) => Math.round(share))),
    [[1, 0, 0, 0]],
  );
});

test('a value that is no number is an error with its place', () => {
  assert.throws(() => parseKernelScans('limit,token,extent,resident\nx,0,0,0-1\n', 'a.csv'), /a\.csv.*limit/s);
});

test.run();
