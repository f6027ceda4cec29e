import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { SCHEDULER_NAMES } from '../../../engine/schedule/registry.ts';
import { type Ended, runHere } from '../../support/run-script.ts';

const scratch = mkdtempSync(join(tmpdir(), 'hearth-own-scheduler-'));
test.after(() => rmSync(scratch, { recursive: true, force: true }));

const OUT = join(scratch, 'out');
const SMALL = ['--models', 'Llama-3-8B', '--schedulers', 'optimal', '--no-subsets', '--out', OUT];

function sweepWith(name: string, text: string): Promise<Ended> {
  const file = join(scratch, name);
  writeFileSync(file, text);
  return runHere('experiments/halda-sweep.ts', ...SMALL, '--scheduler-file', file);
}

test('the example of docs/how-to/add-a-scheduler.md is planned, predicted, simulated and shown', async () => {
  const [, example = ''] = /```ts\n([\s\S]*?)```/.exec(readFileSync('docs/how-to/add-a-scheduler.md', 'utf8')) ?? [];
  const { code, stdout, stderr } = await sweepWith(
    'fastest-cpu.ts',
    example.replaceAll("'./engine/", `'${process.cwd()}/engine/`),
  );
  assert.equal([code, stderr], [0, '']);
  assert.match(stdout, /fastest-cpu/);
  const { clusters, settings } = JSON.parse(readFileSync(join(OUT, 'results.json'), 'utf8'));
  assert.equal(settings.schedulers, ['optimal', 'fastest-cpu']);
  const row = clusters[0].rows.find(({ scheduler }: { scheduler: string }) => scheduler === 'fastest-cpu');
  // All layers on one CPU, whose time is the same in both answers.
  assert.ok(Math.abs(row.simulatedSeconds / row.tokenSeconds - 1) < 0.05);
  assert.match(readFileSync(join(OUT, 'report.html'), 'utf8'), /"name":"fastest-cpu"/);
});

const REFUSED: readonly (readonly [name: string, text: string, complaint: RegExp])[] = [
  ['syntax.ts', 'export default (', /can’t be loaded: /],
  ['throws.ts', '\nexport default (problem) => problem.nothing.at(0);', /throws: Cannot read .* \(line 2\)\n/],
  ['number.ts', 'export default () => 3;', /returns neither \{ plan \} nor the reason for none/],
  ['named.ts', 'export const plan = () => 3;', /has no default export that is a function/],
  [
    'other.ts',
    "export default () => ({ plan: { kind: 'ring', rounds: 1, stages: [], output: {}, embedding: {}, weights: {} } });",
    /returns a plan that Llama-3-8B can’t have: /,
  ],
  [`${SCHEDULER_NAMES[0]}.ts`, 'export default () => 3;', /is called like a scheduler that there is already/],
];

for (const [name, text, complaint] of REFUSED) {
  test(`${name} is refused in a line`, async () => {
    const { code, stderr } = await sweepWith(name, text);
    assert.is(code, 2);
    assert.match(stderr, complaint);
    assert.ok(stderr.startsWith(`--scheduler-file ${join(scratch, name)}: `), stderr);
    assert.is(stderr.trimEnd().split('\n').length, 1);
  });
}

test.run();
