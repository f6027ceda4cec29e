import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { testReport } from '../support/open-report.ts';
import { type Ended, runHere } from '../support/run-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-replay-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));

interface Result {
  readonly settings: { readonly seed: number };
  readonly plan: { readonly rounds: number };
  readonly predicted: { readonly tpot_s: number };
  readonly simulated: {
    readonly tokens_s: readonly number[];
    readonly metrics: { readonly tokenSeconds: number };
    readonly devices: readonly { readonly device: string; readonly memoryPressure: number }[];
  };
}

const COMMAND = ['experiments/replay.ts', '--model', 'Llama-3-8B', '--tokens', '3', '--out', directory] as const;
const replay = (...given: string[]): Promise<Ended> => runHere(...COMMAND, ...given);

test('a model that fits: every token as predicted, nothing read after the first', async () => {
  const { code, stdout } = await runHere(...COMMAND, '--scheduler', 'single-device', '--json');
  assert.is(code, 0);
  const { predicted, simulated } = JSON.parse(stdout) as Result;
  assert.is(simulated.tokens_s.length, 4);
  assert.ok(Math.abs((simulated.tokens_s[3] ?? 0) / predicted.tpot_s - 1) < 0.01);
  assert.equal(
    simulated.devices.map(({ device }) => device),
    ['D3'],
  );
  const pressure = simulated.devices[0]?.memoryPressure ?? 1;
  assert.ok(pressure > 0 && pressure < 0.05, `${pressure}`);
});

test('its plan and its Perfetto trace lie next to the report; the plan can be given back', async () => {
  for (const name of ['report.html', 'replay.json', 'plan.json', 'trace.json'])
    assert.ok(existsSync(join(directory, name)), name);
  const first = readFileSync(join(directory, 'replay.json'), 'utf8');
  const { code } = await replay('--plan', join(directory, 'plan.json'));
  assert.is(code, 0);
  assert.is(readFileSync(join(directory, 'replay.json'), 'utf8'), first);
});

test('memory that another app takes can end the run: one line, exit code 2', async () => {
  const late = await replay('--scheduler', 'single-device', '--taken', 'D3@0.001 s=9.5 GiB', '--json');
  assert.is(late.code, 2);
  assert.match(late.stderr, /^out of memory: D3: KV cache and buffers need \d\.\d\d GiB, 0\.20 GiB are available; /);
});

test('ring-aware plans keep to a limit to memory pressure', async () => {
  const { code, stdout } = await replay('--model', 'Llama-3-70B', '--max-pressure', '0.06', '--json');
  assert.is(code, 0);
  const { devices } = (JSON.parse(stdout) as Result).simulated;
  for (const { device, memoryPressure } of devices)
    assert.ok(memoryPressure <= 0.06 + 1e-9, `${device}: ${memoryPressure}`);
  const { code: refused, stderr } = await replay('--scheduler', 'halda', '--max-pressure', '0.06');
  assert.is(refused, 2);
  assert.match(stderr, /^--max-pressure: is a limit that only ring-aware keeps to/);
});

const REFUSED: readonly [what: string, given: readonly string[], message: RegExp][] = [
  ['an unknown device', ['--taken', 'D9@1 s=2 GiB'], /^memoryTaken: no device is called "D9"/],
  ['a size without a unit', ['--taken', 'D3@1 s=2'], /^--taken: "2" has no unit; a size with its unit is needed/],
  ['something else', ['--taken', 'D3'], /^--taken: "D3" is not a device, a time and a size/],
  ['noise beyond one', ['--noise', '7'], /^--noise: "7" is not a number from 0 to 1\n$/],
  ['a plan for another model', ['--plan', join(directory, 'other.json')], /^--plan \S+: stages: hold 1 layers; /],
];

for (const [what, given, message] of REFUSED) {
  test(`${what}: one line and exit code 2`, async () => {
    const place = { device: 'D3', processor: 'cpu' };
    const plan = { rounds: 1, stages: [{ ...place, from: 0, to: 1 }], embedding: place, output: place };
    writeFileSync(join(directory, 'other.json'), JSON.stringify({ ...plan, kvCache: 'with-layers' }));
    const { code, stderr } = await replay(...given);
    assert.is(code, 2);
    assert.match(stderr, message);
    assert.is(stderr.trim().split('\n').length, 1);
  });
}

testReport(() => join(directory, 'report.html'), 1);

test.run();
