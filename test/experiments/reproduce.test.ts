import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadRegister } from '../../datasets/load.ts';
import { BLIND } from '../../datasets/register.ts';
import { parseCsv } from '../../engine/input/parse-csv.ts';
import { primaLeftOut } from '../../experiments/consistency/prima-left-out.ts';
import { idleRules } from '../../experiments/papers/coverage.ts';
import { GROUPS } from '../../experiments/papers/groups.ts';
import { computeHelm, helmReproduced } from '../../experiments/papers/helm/helm.ts';
import { computeHeterollm, heterollmReproduced } from '../../experiments/papers/heterollm/heterollm.ts';
import { allResults, COVERAGE, coveredCells } from '../../experiments/papers/papers.ts';
import { primaOptions } from '../../experiments/papers/prima/options.ts';
import { computePrima, primaReproduced } from '../../experiments/papers/prima/prima.ts';
import { renderPage } from '../../experiments/report/page/page.ts';
import { testReport } from '../support/open-report.ts';
import { runHere, runScript } from '../support/run-script.ts';
import { between, linesOf, TABLES } from '../support/tables-of-docs.ts';
import { driftGate } from './papers/drift-gate.ts';
import { helmSpecification } from './papers/helm/specification.ts';
import { heterollmSpecification } from './papers/heterollm/specification.ts';
import { primaSpecification } from './papers/prima/specification.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-reproduce-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));

/** Everything once, for all tests of what is reproduced: they lie in papers/. */
const step = (): void => {};
const helm = computeHelm(step);
const papers = {
  prima: primaReproduced(await computePrima(primaOptions({}), step), 0),
  helm: helmReproduced(helm),
  heterollm: heterollmReproduced(computeHeterollm(step)),
};
const results = allResults(papers, await primaLeftOut(step));
const comparisons = Object.values(papers).flatMap((paper) => paper.comparisons);
const summary = Object.values(papers).flatMap((paper) => paper.summary);
primaSpecification(papers.prima);
helmSpecification(helm);
heterollmSpecification(papers.heterollm);
driftGate(comparisons);

test('all papers: one form for every cell, fitted ones marked', () => {
  assert.equal([...new Set(comparisons.map(({ paper }) => paper))], ['prima', 'helm', 'heterollm']);
  const keys = comparisons.map(({ paper, policy, cell: { table, row, column } }) =>
    [paper, table, row, column, policy].join('\n'),
  );
  assert.is(new Set(keys).size, keys.length);
  assert.is(results.files?.['cells.csv']?.trimEnd().split('\n').length, 1 + comparisons.length);
  assert.ok(comparisons.some(({ use }) => use === 'fit'));
});

test('cells.csv: every cell is fitted, seen or blind, and fitted where a constant or a value of a testbed was', () => {
  const csv = results.files?.['cells.csv'] ?? '';
  const lines = parseCsv(csv, 'cells.csv', (csv.split('\n')[0] ?? '').split(','));
  const groups = lines.map(({ oneOf }) => oneOf('group', GROUPS));
  assert.equal(
    groups.map((group) => group === 'fitted'),
    comparisons.map(({ use }) => use === 'fit'),
  );
  const cells = comparisons.filter((_, index) => groups[index] === 'blind').map(({ cell }) => cell);
  assert.equal([...new Set(cells.map(({ paper }) => paper))], ['prima-cpp-v1']);
  const first = loadRegister().filter(({ choice }) => choice === BLIND);
  for (const { table, row, column } of cells)
    assert.ok(first.some((one) => one.table === table && one.row === row && one.column === column));
});

for (const paper of ['prima', 'helm', 'heterollm'] as const) {
  test(`${paper}: every printed number is compared, or there is a reason why not`, () => {
    const covered = coveredCells(paper, papers[paper].comparisons);
    const missing = covered.filter(({ status }) => status === 'missing');
    assert.equal(
      missing.map(({ cell: { table, row, column } }) => `${table}, ${row}, ${column}`),
      [],
    );
    assert.equal(idleRules(covered, COVERAGE[paper].rules), []);
  });
}

test('all papers: the summary as Markdown has a line per row, and a word on every target', () => {
  const lines = (results.files?.['summary.md'] ?? '').trimEnd().split('\n');
  assert.is(lines.length, 2 + summary.length);
  assert.is(
    lines.filter((line) => /\| (yes|no) \|$/.test(line)).length,
    summary.filter(({ met }) => met !== undefined).length,
  );
});

for (const { file, marker, from, shown } of TABLES) {
  test(`${file} has the ${marker} as the program prints it`, () => {
    const printed = results.files?.[from] ?? '';
    assert.ok(linesOf(printed).length > 5);
    assert.equal(linesOf(between(readFileSync(file, 'utf8'), marker)), linesOf(shown?.(printed) ?? printed));
  });
}

testReport(
  () => {
    const file = join(directory, 'report.html');
    writeFileSync(file, renderPage({ subtitle: '', summary: '', title: '', sections: [], ...results.page }));
    return file;
  },
  4,
  async (page) => {
    assert.is(await page.locator('h2', { hasText: /^Table \d+:/ }).count(), 6);
    assert.is(await page.locator('h2', { hasText: /^Table 6\.\d:/ }).count(), 5);
    assert.ok((await page.locator('td.good').count()) > 150);
  },
);

test('one table of prima.cpp only', async () => {
  const { tables, comparisons: own } = await computePrima(primaOptions({ table: ['5'] }), step);
  assert.equal(
    tables.map(({ number }) => number),
    ['5'],
  );
  assert.is(new Set(own.map(({ cell }) => cell)).size, 49);
});

test('the command writes report, CSV and JSON, and prints the JSON; bad input is one line and exit code 2', async () => {
  const out = join(directory, 'helm');
  const [written, refused] = await Promise.all([
    runScript('experiments/reproduce.ts', 'helm', '--json', '--out', out),
    runHere('experiments/reproduce.ts', 'primo', '--out', join(directory, 'none')),
  ]);
  assert.is(written.code, 0);
  assert.is(readFileSync(join(out, 'cells.json'), 'utf8'), written.stdout);
  assert.equal(readdirSync(out).sort(), ['cells.csv', 'cells.json', 'report.html']);
  assert.equal(refused, { code: 2, stdout: '', stderr: 'paper: unknown "primo"; did you mean "prima"?\n' });
});

for (const [options, message] of [
  [['prima', '--table', '6'], '--table: "6" is not a table that is reproduced; allowed: 4, 5, 7, 8, 9, 10, v1-3, v1-6'],
  [['prima', '--context', '0'], '--context: "0" is not a whole number between 1 and 10000000'],
  [['helm', '--tokens', '3'], '--tokens: is for prima’s tables; leave it out for helm'],
] as const) {
  test(`${options.join(' ')} is refused with what is allowed`, async () => {
    const ended = await runHere('experiments/reproduce.ts', ...options, '--out', join(directory, 'none'));
    assert.equal(ended, { code: 2, stdout: '', stderr: `${message}\n` });
  });
}

test.run();
