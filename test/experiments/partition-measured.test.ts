import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { PartTimes } from '../../engine/cost/chip/part-times.ts';
import type { Operator } from '../../engine/model/operators.ts';
import { candidateCuts, cutSeconds } from '../../experiments/partition-measured/cuts.ts';
import { goldenModel } from '../support/golden-models.ts';
import { testGpu } from '../support/gpu.ts';
import { runHere } from '../support/run-script.ts';

const SCRIPT = 'experiments/partition-measured.ts';

let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-partition-'));
});
test.after(() => rmSync(folder, { recursive: true }));

const OPERATOR: Operator = { name: 'down', rows: 100, columns: 10, bytes: 1 };
/** A row and token takes the CPU 1 s; the GPU a quarter, and 10 s a graph. */
const TIMES: PartTimes = {
  gpu: (_, rows, tokens) => rows * tokens,
  npu: (_, rows, tokens) => 10 + (rows * tokens) / 4,
};

test('an operator takes as long as the longer of its parts', () => {
  assert.is(cutSeconds(OPERATOR, { npuRows: 0, npuLengths: [] }, 4, TIMES), 400);
  assert.is(cutSeconds(OPERATOR, { npuRows: 100, npuLengths: [4] }, 4, TIMES), 110);
  // 75 rows on the GPU: 10 + 75; 25 on the CPU: 100.
  assert.is(cutSeconds(OPERATOR, { npuRows: 75, npuLengths: [4] }, 4, TIMES), 100);
  // Two graphs of one token; the CPU has the two others.
  assert.is(cutSeconds(OPERATOR, { npuRows: 100, npuLengths: [1, 1] }, 4, TIMES), 200);
});

test('a prompt is cut by whole graphs, in one or several, and by quarters of the rows', () => {
  const lists = new Set(candidateCuts(OPERATOR, 70).map(({ npuLengths }) => npuLengths.join('+')));
  assert.equal([...lists], ['', '70', '32', '64', '32+32']);
  const rows = new Set(candidateCuts(OPERATOR, 1).map(({ npuRows }) => npuRows));
  assert.equal([...rows], [0, 25, 50, 75, 100]);
});

testGpu('every strategy is predicted and measured for a token and for prompts', async () => {
  const out = join(folder, 'results');
  const small = ['--lengths', '34', '--tokens', '1', '--repeats', '1', '--threads', '1', '--json'];
  const { code, stdout, stderr } = await runHere(SCRIPT, '--model', goldenModel('llama-Q8_0'), ...small, '--out', out);
  assert.is(code, 0, stderr);
  const { cells } = JSON.parse(stdout);
  // A token has no cut by tokens.
  assert.is(cells.length, 4 + 6);
  for (const { strategy, predicted, measured } of cells) {
    assert.ok(predicted > 0 && measured.median > 0);
    // What isn't a product is taken from these.
    if (strategy === 'CPU alone') assert.ok(predicted >= measured.median * 0.999, `${predicted} ${measured.median}`);
  }
  for (const file of ['report.html', 'cells.csv']) assert.ok(existsSync(join(out, file)), file);
});

test('a prompt of one token is refused', async () => {
  const { code, stderr } = await runHere(SCRIPT, '--lengths', '1', '--out', folder);
  assert.equal([code, stderr], [2, '--lengths: "1" is not a whole number between 2 and 100000\n']);
});

test.run();
