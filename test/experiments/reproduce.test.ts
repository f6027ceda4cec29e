import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { renderReport } from '../../experiments/lib/report.ts';
import { cellsCsv } from '../../experiments/papers/cells-csv.ts';
import { computeAll } from '../../experiments/papers/compute.ts';
import { summaryMarkdown } from '../../experiments/papers/markdown.ts';
import {
  primaOptions,
  type ReproduceOptions,
  refusePrimaOptions,
  reproduceOptions,
} from '../../experiments/papers/options.ts';
import { computePrima } from '../../experiments/papers/prima/compute.ts';
import { allReport } from '../../experiments/papers/report.ts';
import { testReport } from '../support/open-report.ts';
import { runScript } from '../support/run-script.ts';
import { driftGate } from './papers/drift-gate.ts';
import { helmSpecification } from './papers/helm/specification.ts';
import { heterollmSpecification } from './papers/heterollm/specification.ts';
import { primaSpecification } from './papers/prima/specification.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-reproduce-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));

/** Everything once, for all tests of what is reproduced: they lie beside this file, in reproduce/. */
const reproduction = await computeAll(() => {});
primaSpecification(reproduction.prima);
helmSpecification(reproduction.helm);
heterollmSpecification(reproduction.heterollm);
driftGate(reproduction);

test('all papers: one form for every cell, fitted ones marked', () => {
  const { cells } = reproduction;
  assert.equal([...new Set(cells.map(({ paper }) => paper))], ['prima', 'helm', 'heterollm']);
  const keys = cells.map(({ paper, table, row, column, policy }) => [paper, table, row, column, policy].join('\n'));
  assert.is(new Set(keys).size, keys.length);
  assert.is(cellsCsv(cells).trimEnd().split('\n').length, 1 + cells.length);
  assert.ok(cells.some(({ use }) => use === 'fit'));
});

test('all papers: the summary as Markdown has a line per row, and a word on every target', () => {
  const { summary } = reproduction;
  const lines = summaryMarkdown(summary).trimEnd().split('\n');
  assert.is(lines.length, 2 + summary.length);
  assert.is(
    lines.filter((line) => /\| (yes|no) \|$/.test(line)).length,
    summary.filter(({ met }) => met !== undefined).length,
  );
});

testReport(
  () => {
    const file = join(directory, 'report.html');
    writeFileSync(file, renderReport(allReport(reproduction)));
    return file;
  },
  3,
  async (page) => {
    assert.is(await page.locator('h2', { hasText: /^prima\.cpp · Table \d+:/ }).count(), 6);
    assert.is(await page.locator('h2', { hasText: /^HELM · Table 6\.\d:/ }).count(), 5);
    assert.ok((await page.locator('td.good').count()) > 150);
  },
);

test('one table of prima.cpp only', async () => {
  const { tables, comparisons } = await computePrima(
    primaOptions({ seed: 0, json: false, table: ['5'] }),
    () => () => {},
  );
  assert.equal(
    tables.map(({ number }) => number),
    ['5'],
  );
  assert.is(new Set(comparisons.map(({ cell }) => cell)).size, 49);
});

test('the command writes report, CSV and JSON, and prints the JSON; bad input is one line and exit code 2', async () => {
  const out = join(directory, 'helm');
  const [written, refused] = await Promise.all([
    runScript('experiments/reproduce.ts', 'helm', '--json', '--out', out),
    runScript('experiments/reproduce.ts', 'primo', '--out', join(directory, 'none')),
  ]);
  assert.is(written.code, 0);
  assert.is(readFileSync(join(out, 'cells.json'), 'utf8'), written.stdout);
  assert.equal(readdirSync(out).sort(), ['cells.csv', 'cells.json', 'report.html']);
  assert.equal(refused, { code: 2, stdout: '', stderr: 'paper: unknown "primo"; did you mean "prima"?\n' });
});

test('options that are wrong, or another paper’s, are refused with what is allowed', () => {
  const parse = (...options: string[]): ReproduceOptions => {
    const command = new Command().exitOverride();
    reproduceOptions(command);
    return command.parse(options, { from: 'user' }).opts();
  };
  assert.throws(
    () => parse('prima', '--table', '6'),
    /--table: "6" is not a table that is reproduced; allowed: 4, 5, 7, 8, 9, 10$/,
  );
  assert.throws(() => parse('prima', '--context', '0'), /--context: "0" is not a whole number between 1 and 10000000$/);
  assert.throws(
    () => refusePrimaOptions(parse('helm', '--tokens', '3'), 'helm'),
    /--tokens: is for prima's tables; leave it out for helm$/,
  );
});

test.run();
