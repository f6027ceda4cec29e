import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parsePlan } from '../../engine/plan/parse-plan.ts';
import { testReport } from '../support/open-report.ts';
import { runHere } from '../support/run-script.ts';

const SCRIPT = 'experiments/helm-split.ts';
const helmSplit = (...options: string[]) => runHere(SCRIPT, ...options);

const scratch = mkdtempSync(join(tmpdir(), 'helm-split-'));
test.after(() => rmSync(scratch, { recursive: true, force: true }));
const out = join(scratch, 'results');

test('every configuration of Table 6.1, as data: splits, T_plan and errors', async () => {
  const { code, stdout, stderr } = await runHere(SCRIPT, '--json', '--out', out);
  assert.is(code, 0, stderr);
  const { configurations, vram, settings } = JSON.parse(stdout);
  assert.equal(settings.context, 192);
  const rows = configurations.map((one: { machine: string; model: string; chosen?: { split: { cpuUnits: number } } }) =>
    [one.machine, one.model, one.chosen?.split.cpuUnits ?? 'none'].join(' '),
  );
  assert.equal(rows, [
    ...['helm-4060 Qwen3-4B 4', 'helm-4060 Qwen3-8B 21', 'helm-4060 Qwen3-14B none', 'helm-4060 Qwen3-32B none'],
    ...['helm-3090 Qwen3-4B 0', 'helm-3090 Qwen3-8B 0', 'helm-3090 Qwen3-14B 8', 'helm-3090 Qwen3-32B 43'],
    ...['helm-l40s Qwen3-4B 0', 'helm-l40s Qwen3-8B 0', 'helm-l40s Qwen3-14B 0', 'helm-l40s Qwen3-32B 18'],
  ]);
  assert.ok(configurations.every((one: { splitAgrees: boolean }) => one.splitAgrees));
  assert.is((vram.reserve.above / 1e9).toFixed(3), '0.359');
  assert.is((vram.reserve.atMost / 1e9).toFixed(3), '0.561');
  assert.is(readFileSync(join(out, 'results.json'), 'utf8'), stdout);
});

test('the files: a report, two tables, and a plan per split that the project reads back', () => {
  assert.equal(readdirSync(out).sort(), ['curve.csv', 'plans', 'report.html', 'results.csv', 'results.json']);
  assert.is(readdirSync(join(out, 'plans')).length, 10);
  const file = join(out, 'plans', 'helm-4060__Qwen3-8B.json');
  assert.is(parsePlan(readFileSync(file, 'utf8'), file).stages[0]?.to, 20);
  // 3 × (39 + 39 + 43 + 67) splits and a header.
  assert.is(readFileSync(join(out, 'curve.csv'), 'utf8').trimEnd().split('\n').length, 3 * 188 + 1);
});

test('the same input writes the same bytes', async () => {
  const again = join(scratch, 'again');
  await helmSplit('--json', '--out', again);
  for (const file of ['results.json', 'results.csv', 'curve.csv', 'report.html']) {
    assert.ok(readFileSync(join(again, file)).equals(readFileSync(join(out, file))), file);
  }
});

test('the running example on the terminal: printed and computed values, and the curve with its k*', async () => {
  const { code, stdout } = await helmSplit(
    ...['--machines', 'helm-4060', '--models', 'Qwen3-8B', '--context', '0', '--out', join(scratch, 'example')],
  );
  assert.is(code, 0);
  const lines = stdout.split('\n');
  const line = (start: string): string => lines.find((one) => one.startsWith(start))?.replace(/\s+/g, ' ') ?? '';
  assert.match(line('W_attn '), /^W_attn 83.9 MB 83.9 MB/);
  assert.match(line('W_FFN '), /^W_FFN 302 MB 302.0 MB/);
  assert.match(line('W_param'), /386 MB 385.9 MB/);
  assert.match(line('W_act'), /8 KB 8 KiB/);
  assert.match(line('W_kv'), /16 KB 16 MiB/);
  assert.match(line('T_CPU '), /^T_CPU 154.8 ms 171.5 ms .* 18 blocks x 8.6 ms/);
  assert.match(line('T_GPU '), /^T_GPU 30.6 ms 34.03 ms .* 17 x 1.8 ms/);
  assert.ok(lines.some((one) => /^T_plan +186 ms +205\.5 ms/.test(one)));
  assert.ok(lines.some((one) => /^ 21 {2}█+░+ +205\.5 ms {2}◄ k\* = 21$/.test(one)));
  assert.ok(lines.every((one) => [...one].length <= 120 || one.startsWith('Report: ')));
});

test('bad input ends with code 2 and one line, and writes nothing', async () => {
  const file = join(scratch, 'file');
  writeFileSync(file, '');
  const broken = join(scratch, 'broken.json');
  writeFileSync(broken, '{\n  "name": "x",\n}\n');
  const untouched = join(scratch, 'untouched');
  const cases: readonly (readonly [string[], RegExp])[] = [
    [['--models', 'Qwen3-9B'], /^--models: no model is called "Qwen3-9B"; did you mean "Qwen3-/],
    [['--machines', broken], /broken\.json: line 3, column \d+: is not valid JSON/],
    [['--contxt', '1'], /unknown option '--contxt'.*--context/],
    [['--out', file], /is a file; name a directory/],
  ];
  const ended = await Promise.all(cases.map(([options]) => helmSplit('--out', untouched, ...options)));
  ended.forEach(({ code, stdout, stderr }, index) => {
    assert.is(code, 2, stderr);
    assert.is(stdout, '');
    assert.match(stderr, cases[index]?.[1] as RegExp);
    assert.is(stderr.trimEnd().split('\n').length, 1);
  });
  assert.not(existsSync(untouched));
});

test('a machine without GPU is a reason in the table, not an error', async () => {
  const { code, stdout } = await helmSplit(
    ...['--machines', 'prima-fig2', '--models', 'Qwen3-4B', '--out', join(scratch, 'cpu')],
  );
  assert.is(code, 0);
  assert.match(stdout, /has no GPU to split Qwen3-4B with/);
});

testReport(
  () => join(out, 'report.html'),
  2,
  async (page) => {
    await page.locator('figure select').first().selectOption('Qwen3-32B on helm-3090');
    await page.waitForSelector('figure .annotation-text:has-text("k* = 43")');
  },
);

test.run();
