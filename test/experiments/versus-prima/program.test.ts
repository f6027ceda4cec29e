import { readFileSync } from 'node:fs';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { loadMeasuredRuns } from '../../../datasets/load.ts';
import { parseMeasuredRuns } from '../../../datasets/measured.ts';
import { cellText } from '../../../experiments/report/columns.ts';
import { isFitted, programAnswers, programFinding } from '../../../experiments/versus-prima/program.ts';
import { programTable } from '../../../experiments/versus-prima/report.ts';
import { between, linesOf } from '../../support/tables-of-docs.ts';

const ANSWERS = programAnswers(loadMeasuredRuns());

test('eleven runs of the real program are on file, with the figures as measured', () => {
  assert.equal(
    ANSWERS.map(({ run }) => run.tokenSeconds),
    [11.33, 11.44, 11.12, 10.85, 8.14, 11.36, 6.56, 3.44, 3.68, 10.84, 0.101],
  );
  assert.is(ANSWERS.filter(({ run }) => isFitted(run)).length, 2);
  for (const { run } of ANSWERS) assert.is(run.rounds * run.windows.reduce((sum, one) => sum + one, 0), 32);
});

test('the table of docs/measurements/rings.md is what the program prints', () => {
  const { columns, rows } = programTable(ANSWERS);
  const line = (cells: readonly string[]) => ['', ...cells, ''];
  const printed = [
    line(columns.map(({ title = '' }) => title)),
    ...rows.map((row) => line(columns.map((column) => cellText(column, row)))),
  ];
  const written = linesOf(between(readFileSync('docs/measurements/rings.md', 'utf8'), 'program'));
  assert.equal(
    written.map((cells) => cells.map((cell) => cell.replaceAll(/[`\\]/g, ''))),
    printed,
  );
});

test('ten of eleven times are simulated within 15 %, and the bytes of nine that read', () => {
  const off = (pick: (one: (typeof ANSWERS)[number]) => number): string[] =>
    ANSWERS.filter((one) => Math.abs(pick(one) - 1) > 0.15).map(({ run }) => `${run.flags} ${run.rounds}`);
  assert.equal(
    off(({ run, simulated }) => simulated.seconds / run.tokenSeconds),
    ['--prefetch 8'],
  );
  assert.equal(
    off(({ run, simulated }) => (run.readBytes === 0 ? 1 : simulated.bytes / run.readBytes)),
    [],
  );
  assert.match(programFinding(ANSWERS), /within 15 % in 10 of 11 runs; over the 9 that no value was inferred from/);
});

test('a figure that is not a number is refused with its place', () => {
  const header = 'program,flags,prefetch,rounds,windows,memory_share,token_s,read_gb,source';
  assert.throws(
    () => parseMeasuredRuns(`${header}\nprima.cpp,,none,1,8 8 8 8,0.62,fast,2.31,x\n`, 'runs.csv'),
    /runs\.csv: row 2, column token_s: "fast" is not a number/,
  );
});

test.run();
