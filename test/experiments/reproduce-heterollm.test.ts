import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { testReport } from '../support/open-report.ts';
import { runScript } from '../support/run-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-reproduce-heterollm-'));
const { code, stdout } = await runScript('experiments/reproduce.ts', 'heterollm', '--out', directory, '--json');

interface Cell {
  readonly row: string;
  readonly column: string;
  readonly predictedError: number;
  readonly simulatedError: number;
  readonly isFitted: boolean;
  readonly target?: number;
}

const { cells, contradictions } = JSON.parse(stdout) as { cells: Cell[]; contradictions: { here: string }[] };
const errorOf = (row: RegExp, column: RegExp): number => {
  const found = cells.filter((cell) => row.test(cell.row) && column.test(cell.column));
  assert.is(found.length, 1, `${row} ${column}`);
  return Math.abs((found[0] as Cell).predictedError);
};

test('it ends well, and writes what it prints', () => {
  assert.is(code, 0);
  assert.is(readFileSync(join(directory, 'cells.json'), 'utf8'), stdout);
});

test('every figure with a target keeps it, as predicted', () => {
  const aimed = cells.filter(({ target }) => target !== undefined);
  assert.is(aimed.length, 8);
  for (const { row, column, predictedError, target = 0 } of aimed) {
    assert.ok(Math.abs(predictedError) <= target, `${row}, ${column}: ${predictedError}`);
  }
});

test('thirteen figures are fitted to; the others are held out, their errors as they were', () => {
  assert.is(cells.filter(({ isFitted }) => isFitted).length, 13);
  assert.is(cells.length, 51);
  const gate: readonly (readonly [RegExp, RegExp, number])[] = [
    [/Llama-3B, prompt/, /^decoding speed$/, 0.002],
    [/InternLM-1.8B, prompt/, /^decoding speed$/, 0.03],
    [/InternLM-1.8B, sequence length 256/, /^prefill speed$/, 0.045],
    [/without fast synchronization/, /^prefill speed$/, 0.047],
    [/525/, /Online-prepare/, 0.145],
    [/525/, /Padding/, 0.146],
    [/525/, /Pipe/, 0.022],
    [/Llama-8B, prompt length 256/, /by fast synchronization/, 0.004],
    [/prefill, sequence length 256/, /energy efficiency/, 0.056],
  ];
  for (const [row, column, error] of gate) assert.ok(errorOf(row, column) <= error + 0.01, `${row} ${column}`);
});

test('what the paper says twice is shown twice', () => {
  assert.is(contradictions.length, 9);
  assert.ok(contradictions.every(({ here }) => here.length > 0));
});

testReport(() => join(directory, 'report.html'), 1);

test.run();
