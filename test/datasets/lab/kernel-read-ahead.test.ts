import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { PAGE_TABLES } from '../../../engine/cost/reclaim.ts';
import { parseCsv } from '../../../engine/input/parse-csv.ts';
import { createPageCache } from '../../../simulator/page-cache/page-cache.ts';
import { scan } from '../../../simulator/page-cache/scan.ts';
import { prefetch } from '../../simulator/page-cache/prefetch.ts';

const FILE = 'datasets/measured/kernel-read-ahead.csv';
const SCANS = ['scan_1', 'scan_2', 'scan_3', 'scan_4'] as const;
const COLUMNS = ['read_ahead_kib', 'how', 'limit', 'repeat', 'held', ...SCANS] as const;
const ROWS = parseCsv(readFileSync(FILE, 'utf8'), FILE, COLUMNS).map((row) => ({
  readAhead: 1024 * Number(row.cell('read_ahead_kib')),
  limit: Number(row.cell('limit')),
  how: row.cell('how') as 'fault' | 'populate' | 'willneed',
  held: Number(row.cell('held')),
  reads: SCANS.map((name) => Number(row.cell(name))),
}));
const EXTENT = 4 * 2 ** 20;
const SIZE = 96 * EXTENT;

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Mean share of the file that the scans after the first read, in the memory that the file really held. */
function simulated({ readAhead, how, held }: (typeof ROWS)[number]): number {
  const policy = { name: 'linux-two-list', readAhead } as const;
  const cache = createPageCache({
    ...{ size: SIZE, limit: SIZE * (held + PAGE_TABLES), policy, extentBytes: 128 * 1024 },
  });
  const reads = SCANS.map(() => {
    const before = cache.counters().read;
    for (let from = 0; from < SIZE; from += EXTENT) {
      if (how !== 'fault') prefetch(cache, { from, to: from + EXTENT }, how);
      scan(cache, { from, to: from + EXTENT });
    }
    return (cache.counters().read - before) / SIZE;
  });
  return mean(reads.slice(1));
}

/** The share of the file by which simulated and measured means may differ. */
const MOST = { fault: 0.01, willneed: 0.04 } as const;
/** With read-ahead of 8 MiB Linux reads some of it twice where memory is a third of the file. */
const MOST_AT_8_MIB = { fault: 0.11, willneed: 0.04 } as const;
/** The limit at which the file just fits, so that chance decides whether a scan is read again. */
const JUST_FITS = 0.92;

for (const how of ['fault', 'willneed'] as const)
  for (const kib of [128, 512, 2048, 8192])
    test(`${how}, read-ahead of ${kib} KiB: scans read what Linux 6.18 reads`, () => {
      const rows = ROWS.filter((row) => row.how === how && row.readAhead === 1024 * kib && row.limit !== JUST_FITS);
      assert.ok(rows.length >= 5);
      for (const row of rows) {
        const [real, own] = [mean(row.reads.slice(1)), simulated(row)];
        const most = kib === 8192 ? MOST_AT_8_MIB[how] : MOST[how];
        assert.ok(Math.abs(real - own) <= most, `held ${row.held}: measured ${real}, simulated ${own}`);
      }
    });

const WAYS = { fault: 'faults', populate: 'populate', willneed: 'willneed' } as const;

/** The lowest and the highest of some values as shares. */
function rangeText(values: readonly number[]): string {
  const [least, most] = [Math.min(...values).toFixed(2), Math.max(...values).toFixed(2)];
  return least === most ? least : `${least}–${most}`;
}

test('the table of read-ahead in docs/measurements/simulator.md has what was measured and what is simulated', () => {
  const page = readFileSync('docs/measurements/simulator.md', 'utf8');
  const cellsOf = (line: string): string[] => line.split('|').map((cell) => cell.trim());
  const lines = page.split('\n').map(cellsOf);
  for (const [how, name] of Object.entries(WAYS))
    for (const limit of [0.2, 0.45, 0.7, 0.85, JUST_FITS]) {
      const rows = ROWS.filter((row) => row.how === how && row.limit === limit);
      const held = rangeText(rows.map((row) => row.held));
      const cells = [128, 512, 2048, 8192].map((kib) => {
        const own = rows.filter((row) => row.readAhead === 1024 * kib);
        return `${rangeText(own.map((row) => mean(row.reads.slice(1))))} (${rangeText(own.map(simulated))})`;
      });
      const expected = ['', name, held, ...cells, ''];
      assert.ok(
        lines.some((line) => line.join('|') === expected.join('|')),
        expected.join(' | '),
      );
    }
});

test.run();
