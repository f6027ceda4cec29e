import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { resultBlocks, resultsData, resultTable } from '../../../experiments/lab/report.ts';
import { terminalTable } from '../../../experiments/report/columns.ts';
import { resultOf } from './result.ts';

const CELL = { policy: 'none', rounds: 2, memoryShare: 0.62, diskRate: 1e8 } as const;
const FAR = resultOf(CELL, [10, 1e9], [8, 1.1e9]);
const NOTHING_READ = resultOf(CELL, [10, 0], [8, 0]);

test('a row has the cell, then time, bytes and stall of each answer; errors are deviations from the measurement', () => {
  const [titles = '', , row = ''] = terminalTable(resultTable([FAR]), 250).split('\n');
  const words = (line: string): string[] => line.trim().split(/ {2,}/);
  assert.equal(words(titles).slice(0, 5), ['policy', 'k', 'windows', 'in memory', 'disk']);
  assert.equal(words(row), [
    'no prefetch',
    '2',
    '4',
    '62 %',
    '100 MB/s',
    '10.0 s',
    '8.00 s',
    '−20 %',
    '11.0 s',
    '+10 %',
    '20.0 s',
    '+100 %',
    '954 MiB',
    '1.02 GiB',
    '+10 %',
    '0 ms',
    '0 ms',
  ]);
});

test('the two blocks of a page have all columns; tones tell errors within the aim for the median, within the worst, and beyond', () => {
  const blocks = resultBlocks([FAR], { median: 0.05, worst: 0.15 });
  const titles = new Set(blocks.flatMap(({ columns }) => columns.map(({ title }) => title)));
  assert.equal(titles, new Set(resultTable([FAR]).columns.map(({ title }) => title)));
  assert.equal(
    blocks.map(({ tones }) => tones?.[0]?.filter(Boolean)),
    [['bad', 'fair', 'bad'], ['fair']],
  );
  for (const { columns, rows, tones } of blocks) {
    assert.is(rows[0]?.length, columns.length);
    assert.equal(
      columns.flatMap(({ title }, index) => (title === 'error' ? [index] : [])),
      tones?.[0]?.flatMap((tone, index) => (tone === undefined ? [] : [index])),
    );
  }
  assert.is(resultBlocks([FAR])[0]?.tones, undefined);
});

test('where nothing was read, bytes have no error', () => {
  const [, reads] = resultBlocks([NOTHING_READ], { median: 0.05, worst: 0.15 });
  const error = reads?.columns.findIndex(({ title }) => title === 'error') ?? -1;
  assert.is(reads?.rows[0]?.[error], '');
  assert.is(reads?.tones?.[0]?.[error], undefined);
});

test('JSON has the figures of every cell without its traces', () => {
  const facts = { tokenSeconds: 1 } as never;
  const model = { name: 'Lab', bytes: 5 } as never;
  const data = JSON.parse(JSON.stringify(resultsData({ model, facts }, [FAR], { tokens: 4 })));
  assert.equal(data.settings, { tokens: 4 });
  assert.equal(data.probes, { tokenSeconds: 1, model: 'Lab', modelBytes: 5 });
  assert.is(data.cells[0].measured.seconds, 10);
  assert.is(data.cells[0].traces, undefined);
});

test.run();
