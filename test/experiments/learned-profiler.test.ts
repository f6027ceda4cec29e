import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { testReport } from '../support/open-report.ts';
import { runHere, runScript } from '../support/run-script.ts';

const QUICK = ['--model', 'InternLM2-1.8B', '--samples', '24,60', '--lengths', '135', '--epochs', '40'];
const [directory, again] = [1, 2].map((run) => mkdtempSync(join(tmpdir(), `hearth-learned-${run}-`))) as [
  string,
  string,
];
test.after(() => {
  for (const folder of [directory, again]) rmSync(folder, { recursive: true, force: true });
});
const script = 'experiments/learned-profiler.ts';
const { code, stdout } = await runScript(script, ...QUICK, '--out', directory);

interface Results {
  readonly lessons: readonly {
    readonly coverage: string;
    readonly samples: number;
    readonly regrets: readonly { readonly kind: string; readonly tpot: number; readonly warnings: readonly string[] }[];
  }[];
}
const results = JSON.parse(readFileSync(join(directory, 'results.json'), 'utf8')) as Results;

test('the output has each regression’s error and its cost', () => {
  assert.is(code, 0);
  const text = stdout.replaceAll(/\s+/g, ' ');
  assert.match(text, /median error at lengths not seen: tree [\d.]+ %, network [\d.]+ %/);
  assert.match(text, /after 60 samples are: tree [\d.]+ % on the GPU and [\d.]+ % on the NPU, network/);
});

test('a tree reproduces the stages at unseen lengths with little more than the noise, a network with more', () => {
  const [, tree, network] = /tree ([\d.]+) %, network ([\d.]+) %/.exec(stdout.replaceAll(/\s+/g, ' ')) ?? [];
  assert.ok(Number(tree) < 4);
  assert.ok(Number(network) > 1.5 * Number(tree));
});

test('no plan from predictions is faster than the best, and the output layer is extrapolated if it wasn’t sampled', () => {
  assert.equal(
    results.lessons.map(({ samples, coverage }) => `${samples} ${coverage}`),
    ['24 all operators', '60 all operators', '60 layers only'],
  );
  for (const { regrets } of results.lessons) for (const { tpot } of regrets) assert.ok(tpot > -1e-9);
  const [warning] = results.lessons[2]?.regrets[0]?.warnings ?? [];
  assert.match(warning ?? '', /^[GN]PU, \d+ × \d+, \d+ tokens?: extrapolated \(\d+ (rows|columns|tokens), trained on/);
  const ofRows = results.lessons[2]?.regrets[0]?.warnings.filter((line) => line.includes(' rows, trained on '));
  assert.ok((ofRows?.length ?? 0) > 0);
});

test('the same seed gives the same study', async () => {
  await runHere(script, ...QUICK, '--out', again);
  assert.is(readFileSync(join(again, 'results.json'), 'utf8'), readFileSync(join(directory, 'results.json'), 'utf8'));
});

test('too few samples and a cluster without a chip are refused', async () => {
  const few = await runHere(script, '--samples', '10', '--out', again);
  assert.is(few.code, 2);
  assert.is(few.stderr, '--samples: "10" is not a whole number between 20 and 2000\n');
  const none = await runHere(script, '--cluster', 'home-example', '--out', again);
  assert.is(none.code, 2);
  assert.match(none.stderr, /has no GPU that shares the RAM/);
});

testReport(() => join(directory, 'report.html'), 3);

test.run();
