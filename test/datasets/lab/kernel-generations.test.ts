import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseCsv } from '../../../engine/input/parse-csv.ts';
import { createPageCache } from '../../../simulator/page-cache/page-cache.ts';
import { scan } from '../../../simulator/page-cache/scan.ts';
import { prefetch } from '../../simulator/page-cache/prefetch.ts';

const FILE = 'datasets/measured/kernel-generations.csv';
const COLUMNS = ['how', 'policy', 'file_kib', 'token', 'read_kib', 'refaulted_pages'] as const;
const ROWS = parseCsv(readFileSync(FILE, 'utf8'), FILE, COLUMNS);
const KIB = 1024;
/** MemAvailable of the emulated machine during the scans; it was 134,572 KiB before the first. */
const LIMIT = 133_464 * KIB;
const PIECE = 4 * 2 ** 20;
/** The first scan, which reads everything, doesn't count. */
const SCANS = 6;

/** Mean share of the file that the scans after the first read. */
function measured(how: string, policy: string, kibibytes: number): number {
  const rows = ROWS.filter(
    (row) => row.cell('how') === how && row.cell('policy') === policy && row.cell('file_kib') === String(kibibytes),
  );
  assert.is(rows.length, SCANS, `${how}, ${policy}, ${kibibytes} KiB`);
  const later = rows.filter((row) => row.cell('token') !== '0');
  return later.reduce((sum, row) => sum + Number(row.cell('read_kib')), 0) / kibibytes / later.length;
}

function simulated(how: string, name: 'mglru' | 'linux-two-list', kibibytes: number): number {
  const size = kibibytes * KIB;
  const policy = { name, readAhead: 128 * KIB, overhead: 0 };
  const cache = createPageCache({ size, limit: LIMIT, policy, extentBytes: 128 * KIB });
  let first = 0;
  for (let token = 0; token < SCANS; token++) {
    for (let from = 0; from < size; from += PIECE) {
      const range = { from, to: Math.min(size, from + PIECE) };
      if (how !== 'faults') prefetch(cache, range, how === 'populate' ? 'populate' : 'willneed');
      scan(cache, range);
    }
    if (token === 0) first = cache.counters().read;
  }
  return (cache.counters().read - first) / size / (SCANS - 1);
}

/** A file by KiB, and the share by which the simulated mean may differ from the measured one. */
const CELLS = [
  ['faults', 'mglru', 126_976, 0.001],
  ['faults', 'mglru', 139_264, 0.21],
  ['faults', 'mglru', 159_744, 0.08],
  ['faults', 'mglru', 200_704, 0.01],
  ['populate', 'mglru', 139_264, 0.08],
  ['populate', 'mglru', 159_744, 0.12],
  ['populate', 'mglru', 200_704, 0.01],
  ['faults', 'linux-two-list', 159_744, 0.01],
  ['faults', 'linux-two-list', 200_704, 0.01],
  ['populate', 'linux-two-list', 159_744, 0.14],
] as const;

for (const [how, policy, kibibytes, most] of CELLS) {
  test(`${how}, ${policy}: scans of ${kibibytes} KiB read what Linux 6.1 reads, within ${most} of the file`, () => {
    const [real, own] = [measured(how, policy, kibibytes), simulated(how, policy, kibibytes)];
    assert.ok(Math.abs(real - own) <= most, `measured ${real.toFixed(3)}, simulated ${own.toFixed(3)}`);
  });
}

test('what MGLRU keeps of a scan of 1.2 times the memory, the two lists don’t', () => {
  const share = (policy: 'mglru' | 'linux-two-list'): readonly number[] => [
    measured('faults', policy, 159_744),
    simulated('faults', policy, 159_744),
  ];
  for (const one of share('mglru')) assert.ok(one < 0.75, String(one));
  for (const one of share('linux-two-list')) assert.ok(one > 0.95, String(one));
});

test.run();
