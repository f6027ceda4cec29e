import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { answerLines } from '../../commands/plan-report.ts';
import { createNamedModel, loadCatalogue, loadCluster } from '../../datasets/load.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { answer } from '../../planner/answer.ts';
import { hearthHere, runHere } from '../support/run-script.ts';

const COLUMNS = 50;
const folder = mkdtempSync(join(tmpdir(), 'hearth-narrow-'));
const file = (name: string): string => join(folder, name);
const { COLUMNS: before } = process.env;
test.before(async () => {
  process.env.COLUMNS = String(COLUMNS);
  await hearthHere('make-model', '--shape', 'tiny', '--mix', 'F16', '--out', file('f16.gguf'));
});
test.after(() => {
  if (before === undefined) delete process.env.COLUMNS;
  else process.env.COLUMNS = before;
  rmSync(folder, { recursive: true });
});

/** Lines of tables: those around a rule, up to the next empty line, that have columns. */
function tableLines(text: string): string[] {
  const blocks = text.split('\n\n').filter((block) => /^─/m.test(block));
  return blocks.flatMap((block) => block.split('\n')).filter((line) => /─| {2}/.test(line));
}

const STORIES = ['--model', 'datasets/models/stories-300k.gguf'] as const;
const DESKTOP = 'Desktop Ryzen 7 7700 32 GB + RTX 3060 12 GB';

const COMMANDS: readonly (readonly [name: string, ...options: string[]])[] = [
  ['plan', '--device', DESKTOP, '--device', 'MacBook Air M1 8 GB', '--model', 'Qwen3-30B-A3B'],
  ['inspect', ...STORIES],
  ['inspect', ...STORIES, '--graph'],
  ['logits', ...STORIES, '--tokens', '1,2,3', '--kernels', 'reference'],
  ['quantize', '--in', 'f16.gguf', '--out', 'q4.gguf'],
];

for (const [name, ...options] of COMMANDS)
  test(`tables of hearth ${[name, ...options].join(' ')} fit ${COLUMNS} columns`, async () => {
    const here = options.map((option) => (/^\w+\.gguf$/.test(option) ? file(option) : option));
    const { code, stdout, stderr } = await hearthHere(name, ...here);
    assert.is(code, 0, stderr);
    const lines = tableLines(stdout);
    assert.ok(lines.length > 3, stdout);
    assert.equal(
      lines.filter((line) => [...line].length > COLUMNS),
      [],
    );
  });

test(`the list of models fits ${COLUMNS} columns`, () => {
  const cluster = loadCluster('prima-home');
  const workload = createWorkload({ context: 1024 });
  const answers = ['Llama-3-8B', 'Qwen3-Coder-480B-A35B'].map((name) =>
    answer({ cluster, model: createNamedModel(loadCatalogue(), name), workload }, { simulates: false }),
  );
  const lines = tableLines(answerLines(cluster, answers));
  assert.equal(
    lines.filter((line) => [...line].length > COLUMNS),
    [],
  );
  assert.ok(lines.some((line) => line.includes('Qwen3-Coder-480B-A35B')));
});

test(`tables of an experiment fit ${COLUMNS} columns, and lose nothing`, async () => {
  const options = ['--models', 'Llama-3-8B', '--schedulers', 'optimal,halda', '--no-subsets', '--all'];
  const { code, stdout, stderr } = await runHere('experiments/halda-sweep.ts', ...options, '--out', folder);
  assert.is(code, 0, stderr);
  const lines = tableLines(stdout);
  assert.equal(
    lines.filter((line) => [...line].length > COLUMNS),
    [],
  );
  for (const words of ['optimal', 'halda', 'Llama-3-8B']) assert.ok(stdout.includes(words), stdout);
});

test.run();
