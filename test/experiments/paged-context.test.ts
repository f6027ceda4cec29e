import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ContextRow } from '../../experiments/paged-context/contexts.ts';
import { agrees } from '../../experiments/paged-context/findings.ts';
import { longestContext } from '../../experiments/papers/helm/memory/longest-context.ts';
import { testReport } from '../support/open-report.ts';
import { runHere } from '../support/run-script.ts';

const directory = mkdtempSync(join(tmpdir(), 'hearth-paged-context-'));
test.after(() => rmSync(directory, { recursive: true, force: true }));

test('bisection finds the longest feasible context', () => {
  const upTo = (limit: number) => ({ lack: (context: number) => (context > limit ? `${context} lack` : undefined) });
  for (const limit of [1, 2, 499, 500, 998, 999])
    assert.equal(longestContext(upTo(limit), 1000), { tokens: limit, lack: `${limit + 1} lack` });
  assert.equal(longestContext(upTo(1000), 1000), { tokens: 1000, lack: undefined });
  assert.equal(longestContext(upTo(0), 1000), { tokens: 0, lack: '1 lack' });
});

test('limits agree within a factor of two, and a failure agrees with a failure', () => {
  const row = (outputTokens: number, published: number | undefined) =>
    agrees({ outputTokens, published } as ContextRow);
  assert.equal([row(64, 128), row(63, 128), row(255, 128), row(256, 128)], [true, false, true, false]);
  assert.equal([row(0, 0), row(1, 0), row(0, 1), row(5, undefined)], [true, false, false, undefined]);
});

test('with an 8B on 8 GB HELM continues beyond the others’ limits, and its pages have a cost', async () => {
  const options = ['--machines', 'helm-4060', '--models', 'Qwen3-8B', '--out', directory, '--json'];
  const { code, stdout, stderr } = await runHere('experiments/paged-context.ts', ...options);
  assert.is(code, 0, stderr);
  const { rows } = JSON.parse(stdout) as { rows: readonly ContextRow[] };
  const [helm, accelerate, , vllm] = rows;
  assert.ok(helm && accelerate && vllm);
  assert.equal([helm.outputTokens, helm.published, vllm.outputTokens], [13_696, 8192, 0]);
  assert.ok(accelerate.outputTokens < 8192 && accelerate.lack.includes('VRAM'), accelerate.lack);
  assert.match(vllm.lack, /out of memory: 16\.4 GB of weights and KV cache/);
  // TPOT grows with the context; no slower than without overlap, and pages move from the first that doesn't fit.
  const seconds = helm.times.map((time) => time.seconds);
  assert.equal(
    seconds,
    [...seconds].sort((a, b) => a - b),
  );
  for (const time of helm.times) assert.ok(time.seconds <= time.predictedSeconds + 1e-9);
  assert.is(helm.times[0]?.copiedBytes, 0);
  // 15 of 16 pages of 16 layers, 2 MiB a slice.
  assert.is(helm.times.at(-1)?.copiedBytes, 15 * 16 * 2 ** 21);
  assert.match(
    readFileSync(join(directory, 'contexts.csv'), 'utf8'),
    'helm-4060,Qwen3-8B,helm,"CPU 20, GPU 16",13696,8192',
  );
});

test('an 8B on a ring has pages on every device', async () => {
  const out = join(directory, 'ring');
  const options = ['--machines', 'prima-home', '--models', 'Qwen3-8B', '--most', '4096', '--out', out, '--json'];
  const { code, stdout, stderr } = await runHere('experiments/paged-context.ts', ...options);
  assert.is(code, 0, stderr);
  const { rows } = JSON.parse(stdout) as { rows: readonly ContextRow[] };
  const [helm, ring] = ['helm', 'helm-ring'].map((name) => rows.find(({ backend }) => backend === name));
  assert.is(rows.length, 5);
  assert.is(ring?.outputTokens, 4096);
  assert.ok(Number(ring?.times[0]?.seconds) < Number(helm?.times[0]?.seconds));
});

testReport(() => join(directory, 'report.html'), 2);

test.run();
