import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { publishResults } from '../../../experiments/lab/publish-results.ts';

/** What is printed, and written where. */
function published(json: { readonly json?: true }) {
  const out = mkdtempSync(join(tmpdir(), 'hearth-publish-'));
  const write = process.stdout.write;
  let printed = '';
  process.stdout.write = (text) => {
    printed += text;
    return true;
  };
  try {
    publishResults(
      { models: '', tokens: '3', seed: '1', out, ...json },
      {
        subtitle: 'four devices',
        table: 'a b\n',
        findings: 'It holds.',
        report: '<p>',
        json: ['cells.json', '{}\n'],
        more: [['traces/1.json', '[]']],
      },
    );
  } finally {
    process.stdout.write = write;
  }
  const files = ['report.html', 'cells.json', 'traces/1.json'].map((file) => readFileSync(join(out, file), 'utf8'));
  rmSync(out, { recursive: true });
  return { printed: printed.replace(out, 'OUT'), files };
}

test('the table, what was found and where the report lies; the same files with --json, which prints the results', () => {
  const files = ['<p>', '{}\n', '[]'];
  assert.equal(published({}), {
    printed: 'four devices\n\na b\n\nIt holds.\n\nReport: OUT/report.html\n',
    files,
  });
  assert.equal(published({ json: true }), { printed: '{}\n', files });
});

test.run();
