import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { testReport } from '../support/open-report.ts';
import { runHere } from '../support/run-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-expert-caches-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));
const SHAPE = ['--layers', '4', '--experts', '32', '--used', '4', '--tokens', '600', '--slots', '4,8,16,32'];
const { code, stdout } = await runHere('experiments/expert-caches.ts', '--out', directory, '--json', ...SHAPE);

test('hits rise with the slots, Belady’s are the most, and LRU’s are as expected', () => {
  assert.is(code, 0);
  const { rows } = JSON.parse(stdout) as { rows: Record<string, number>[] };
  assert.equal(
    rows.map(({ slots }) => slots),
    [4, 8, 16, 32],
  );
  for (const [index, row] of rows.entries()) {
    for (const name of ['lru', 'lfu', 'slru', 'lfru', 'pinned', 'random']) {
      assert.ok((row[name] as number) <= (row.belady as number) + 1e-9, name);
      assert.ok((row[name] as number) >= (rows[index - 1]?.[name] ?? 0), name);
    }
    assert.ok(Math.abs((row.lru_expected as number) - (row.lru as number)) < 0.03, JSON.stringify(row));
  }
  assert.is(rows.at(-1)?.lru, 1);
});

test('options that make no routing are one line', async () => {
  for (const [options, line] of [
    [['--used', '9', '--experts', '4'], '--used: is 9 of 4 experts'],
    [['--routing', 'no.json'], 'no.json: there is no such file'],
    [['--previous', '0.9', '--recent', '0.9'], /^--previous, --recent: are more than 0\.95 together/],
  ] as const) {
    const { code: ended, stderr } = await runHere('experiments/expert-caches.ts', '--out', directory, ...options);
    assert.is(ended, 2);
    assert.match(stderr.trim(), line);
  }
});

testReport(() => join(directory, 'report.html'), 1);

test.run();
