import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { PAGE_TABLES } from '../../../engine/cost/reclaim.ts';
import { parseCsv } from '../../../engine/input/parse-csv.ts';
import { createPageCache } from '../../../simulator/page-cache/page-cache.ts';
import { scan } from '../../../simulator/page-cache/scan.ts';

const FILE = 'datasets/measured/kernel-repeats.csv';
const SCANS = Array.from({ length: 12 }, (_, index) => `scan_${index + 1}` as const);
const ROWS = parseCsv(readFileSync(FILE, 'utf8'), FILE, ['limit', 'repeat', 'held', ...SCANS]).map((row) => ({
  limit: row.cell('limit'),
  held: Number(row.cell('held')),
  reads: SCANS.map((name) => Number(row.cell(name))),
}));
const LIMITS = [...new Set(ROWS.map(({ limit }) => limit))];
const SIZE = 96 * 4 * 2 ** 20;

/** A run whose last scan read less than this share of the file has come to rest elsewhere than at reading all of it. */
const READS_ALL = 0.98;

/** Share of the file that the last of twelve scans reads in so much memory. */
function simulated(held: number): number {
  const policy = { name: 'linux-two-list', readAhead: 8 * 2 ** 20 } as const;
  const cache = createPageCache({ size: SIZE, limit: SIZE * (held + PAGE_TABLES), policy, extentBytes: 128 * 1024 });
  const reads = SCANS.map(() => {
    const before = cache.counters().read;
    scan(cache, { from: 0, to: SIZE });
    return (cache.counters().read - before) / SIZE;
  });
  return reads.at(-1) as number;
}

test('the table of repeated scans in docs/measurements/simulator.md has the regimes of the record', () => {
  const lines = readFileSync('docs/measurements/simulator.md', 'utf8').split('\n');
  const cells = lines.map((line) => line.split('|').map((cell) => cell.trim()));
  for (const limit of LIMITS) {
    const runs = ROWS.filter((row) => row.limit === limit);
    const held = runs.map((row) => row.held).sort();
    const last = runs.map(({ reads }) => reads.at(-1) as number);
    const fallen = last.filter((read) => read < READS_ALL).sort();
    const expected = [
      `${held[0]?.toFixed(2)}–${held.at(-1)?.toFixed(2)}`,
      `${runs.length - fallen.length} of ${runs.length}`,
      fallen.length === 0 ? 'none' : `${fallen.length}: ${fallen.map((read) => read.toFixed(2)).join(', ')}`,
      simulated(held[held.length >> 1] as number).toFixed(2),
    ];
    assert.ok(
      cells.some((found) => expected.every((text, at) => found[at + 1] === text)),
      `no line ${expected.join(' | ')}`,
    );
  }
});

test.run();
