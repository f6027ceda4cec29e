import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { Operator } from '../../engine/model/operators.ts';
import { coarseCuts, coarseLists } from '../../engine/schedule/tensor-partition/coarse-cuts.ts';
import { fixedRate } from '../../experiments/partition-measured/modes.ts';
import { checkFirstScreen } from '../support/first-screen.ts';
import { goldenModel } from '../support/golden-models.ts';
import { testGpu } from '../support/gpu.ts';
import { hearthHere, runHere } from '../support/run-script.ts';

const SCRIPT = 'experiments/partition-measured.ts';

let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-partition-'));
});
test.after(() => rmSync(folder, { recursive: true }));

test('a prompt is cut by whole graphs, in one or several, and by quarters of the rows', () => {
  assert.equal(coarseLists(70), [[70], [32], [64], [32, 32]]);
  const rows = new Set(coarseCuts({ rows: 100 }, 1).map(({ npuRows }) => npuRows));
  assert.equal([...rows], [25, 50, 75, 100]);
});

test('a fixed rate gives time by FLOPs for prompts, and by bytes for tokens', () => {
  const operator: Operator = { name: 'down', rows: 100, columns: 10, bytes: 1000 };
  const seconds = fixedRate({
    flops: 200,
    bandwidth: 50,
    attention: 1,
    promptAttention: 1,
    activations: 1,
    dispatch: 0,
  });
  assert.equal([seconds(operator, 50, 4), seconds(operator, 50, 1)], [20, 10]);
});

testGpu('every strategy is predicted, simulated and measured, by parts that hearth profile measured', async () => {
  const [out, parts] = [join(folder, 'results'), join(folder, 'parts.json')];
  const model = goldenModel('llama-Q8_0');
  const machine = ['--threads', '1', '--lengths', '34', '--device', 'SwiftShader'];
  const profiled = await hearthHere('profile', '--parts-of', model, ...machine, '--out', parts);
  assert.is(profiled.code, 0, profiled.stderr);
  const small = [...machine, '--parts', parts, '--tokens', '1', '--repeats', '1', '--json'];
  const { code, stdout, stderr } = await runHere(SCRIPT, '--model', model, ...small, '--out', out);
  assert.is(code, 0, stderr);
  const { cells, paces, regrets } = JSON.parse(stdout);
  // A token has no cut by tokens.
  assert.is(cells.length, 4 + 6);
  for (const { predicted, simulated, measured } of cells) {
    assert.ok(predicted > 0 && measured.median > 0);
    // Nothing overlaps but the two parts of an operator.
    assert.ok(Math.abs(simulated / predicted - 1) < 0.02, `${simulated} ${predicted}`);
  }
  for (const pace of Object.values(paces).flatMap((pair) => Object.values(pair as Record<string, number>)))
    assert.ok(pace > 0 && pace <= 1, `${pace}`);
  // Nothing is lost by choosing with the times that judge.
  assert.equal(regrets.find(({ mode }: { mode: string }) => mode === 'real').prefill, 0);
  checkFirstScreen(join(out, 'report.html'));
  for (const file of ['cells.csv', 'regrets.csv']) assert.ok(existsSync(join(out, file)), file);
});

test('a prompt of one token is refused', async () => {
  const { code, stderr } = await runHere(SCRIPT, '--lengths', '1', '--out', folder);
  assert.equal([code, stderr], [2, '--lengths: "1" is not a whole number between 2 and 100000\n']);
});

test.run();
