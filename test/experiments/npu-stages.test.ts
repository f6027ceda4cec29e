import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { near } from '../support/near.ts';
import { testReport } from '../support/open-report.ts';
import { runHere } from '../support/run-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-npu-stages-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));
const { code, stdout } = await runHere('experiments/npu-stages.ts', '--out', directory, '--json');
const result = JSON.parse(stdout);

test('it ends well, and writes what it prints', () => {
  assert.is(code, 0);
  assert.is(readFileSync(join(directory, 'curves.json'), 'utf8'), stdout);
});

test('Fig. 4: a staircase of seven steps over 200 sizes', () => {
  const [{ y }] = result.figures['Fig. 4'];
  assert.is(new Set(y).size, 7);
});

test('Fig. 5: one order is up to 6.5 × as fast as the other, and never below the GPU', () => {
  const [right, , reverse] = result.figures['Fig. 5'];
  const gains = right.y.map((rate: number, index: number) => rate / reverse.y[index]);
  near(gains[right.x.indexOf(256)], 6.472, 0.01);
  for (const gain of gains) assert.ok(gain > 1);
  const [gpu] = result.figures['Fig. 2'];
  for (const rate of reverse.y) assert.ok(rate >= Math.max(...gpu.y), String(rate));
});

test('the band: whatever is varied, FFN-down is slower than the attention output and gives more to the GPU', () => {
  assert.is(result.band.length, 7);
  const gains: number[] = [];
  for (const { varied, down, attentionOutput, downShare, outputShare, orderGain } of result.band) {
    assert.ok(down < 0.6 * attentionOutput, varied);
    assert.ok(downShare < outputShare, varied);
    gains.push(orderGain);
  }
  near(Math.min(...gains), 2.93, 0.01);
  near(Math.max(...gains), 7.62, 0.01);
});

test('the band: 7 MiB on chip would need more than the 10 TFLOPS that the paper measures (1)', () => {
  const flops = Object.fromEntries(
    result.band.map((row: { varied: string; flops: number }) => [row.varied, row.flops]),
  );
  near(flops['as in the file'] / 8.015e12, 1, 0.002);
  assert.ok(flops['7 MiB on chip for the stationary operand'] > 10e12);
});

test('Fig. 6: each alone 40 to 45 GB/s, both about 60, while they work', () => {
  const [gpu, npu, both] = result['Fig. 6'].map(({ working }: { working: number }) => working / 1e9);
  for (const alone of [gpu, npu]) assert.ok(alone >= 40 && alone <= 45, String(alone));
  assert.ok(both >= 55 && both <= 60, String(both));
});

test('an unknown model ends in one line', async () => {
  const { code: failed, stderr } = await runHere(
    'experiments/npu-stages.ts',
    '--model',
    'Llama-8B',
    '--out',
    directory,
  );
  assert.is(failed, 2);
  assert.match(stderr, /^--model: no model is called "Llama-8B"/);
});

test('a cluster without an NPU ends in one line', async () => {
  const { code: failed, stderr } = await runHere(
    'experiments/npu-stages.ts',
    '--cluster',
    'prima-home',
    '--out',
    directory,
  );
  assert.is(failed, 2);
  assert.match(stderr, /^device ".*": has no /);
});

testReport(() => join(directory, 'report.html'), 5);

test.run();
