import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { testReport } from '../support/open-report.ts';
import { runHere } from '../support/run-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-interference-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));
const { code, stdout } = await runHere('experiments/interference.ts', '--out', directory, '--json', '--tokens', '64');

interface Row {
  readonly way: string;
  readonly lost: number;
  readonly frameRate: number;
}

test('the game starves with GPU-only, and the prompt loses the more the longer a frame takes', () => {
  assert.is(code, 0);
  const { rows } = JSON.parse(stdout) as { rows: Row[] };
  const of = (way: string): Row[] => rows.filter((row) => row.way === way);
  assert.is(rows.length, 27);
  for (const { lost } of of('PPL-OpenCL')) assert.ok(Math.abs(lost) < 0.02);
  for (const way of ['Hetero-layer', 'Hetero-tensor']) {
    const [first, ...others] = of(way);
    assert.ok(first !== undefined && first.lost < (others.at(-1) as Row).lost, way);
  }
});

testReport(() => join(directory, 'report.html'), 2);

test.run();
