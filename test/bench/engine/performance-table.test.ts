import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { between, linesOf } from '../../support/tables-of-docs.ts';
import { performanceTable, RECORDED, type RecordedBench } from './performance-table.ts';

const spread = (median: number) => ({ median, lower: 0.9 * median, upper: 1.1 * median, least: 0, most: 9 });

test('docs/measurements/performance.md shows the recorded runs', () => {
  const docs = readFileSync('docs/measurements/performance.md', 'utf8');
  const names = readdirSync(RECORDED).map((file) => file.replace('.json', ''));
  assert.ok(names.length > 0);
  for (const name of names) {
    const recorded = JSON.parse(readFileSync(join(RECORDED, `${name}.json`), 'utf8')) as RecordedBench;
    assert.ok(recorded.cells.length > 0, name);
    assert.equal(linesOf(between(docs, name)), linesOf(performanceTable(recorded)), name);
  }
});

test('a row has Hearth, and each peer with its ratio; a peer that is absent from a cell has dashes', () => {
  const cell = { type: 'Q4_K_M', threads: 2, tokens: 128, rounds: 7, rate: 1, limit: 1, processorShare: 1 } as const;
  const peer = { name: 'ik', tokensPerSecond: 20, ratio: spread(2), share: spread(0.4) };
  const table = performanceTable({
    model: 'Some-1B',
    processor: 'Some Processor',
    load: 0.25,
    engines: ['Hearth, avx2', 'ik: build 1'],
    cells: [
      { ...cell, kind: 'decode', hearth: 40, share: spread(0.8), peers: [peer] },
      { ...cell, kind: 'prefill', hearth: 300, share: spread(0.5), peers: [], rounds: 9 },
    ],
  });
  assert.equal(
    linesOf(table),
    linesOf(`
- Some-1B, random weights
- Hearth, avx2
- ik: build 1
- Some Processor; load average before the run: 0.25; at least 7 rounds
| weights | threads | what | Hearth, tokens/s | share of the limit | ik, tokens/s | share of the limit | Hearth’s ratio (quartiles) |
| Q4_K_M | 2 | decode 128 | 40.0 | 80 % | 20.0 | 40 % | 2.00 (1.80–2.20) |
| Q4_K_M | 2 | prefill 128 | 300 | 50 % | – | – | – |
`),
  );
});

test.run();
