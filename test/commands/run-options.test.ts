import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { createGenerateCommand, type GenerateRequest } from '../../commands/generate-options.ts';
import type { RingRequest } from '../../commands/ring-request.ts';
import { RING_SCHEDULERS } from '../../engine/ring/head/planning.ts';
import { writeKeys } from '../../engine/ring/wire/keys.ts';

/** The request that `hearth run` parses from these options, or the message of its error. */
async function requested(...options: readonly string[]): Promise<GenerateRequest | string> {
  let request: GenerateRequest | undefined;
  const command = createGenerateCommand('run', async (given) => {
    request = given;
  });
  try {
    await command.parseAsync(['--model', 'm.gguf', '--prompt', 'Hi', ...options], { from: 'user' });
  } catch (error) {
    return (error as Error).message;
  }
  return request ?? 'no request';
}

const RING = ['--cluster', 'home.json', '--plain'];

test('by default links are encrypted, activations are exact and weights follow the plan', async () => {
  const { place, ...request } = (await requested(...RING)) as GenerateRequest;
  const { memory, memoryLimit, ...ring } = place.ring as RingRequest;
  assert.ok(memory >= 0);
  assert.ok(memoryLimit >= memory);
  assert.equal(ring, {
    ...{ cluster: 'home.json', workers: [], profile: undefined, keys: undefined, plan: undefined },
    ...{ scheduler: undefined, activations: 'F32', chunk: 128, linkDelay: 0, device: undefined },
    ...{ requested: { prefetch: undefined, release: undefined }, maxPressure: undefined, measure: false },
  });
  const { prompts, tokens, saveCluster, savePlan, trace } = request;
  assert.equal(
    { prompts, tokens, saveCluster, savePlan, trace },
    {
      ...{ prompts: ['Hi'], tokens: undefined, saveCluster: undefined, savePlan: undefined, trace: undefined },
    },
  );
});

test('every option reaches the request', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hearth-run-'));
  try {
    const file = join(folder, 'keys');
    const keys = writeKeys(file);
    const request = (await requested(
      ...['--worker', 'tcp://a:1,k', '--worker', 'tcp://b:2', '--keys', file, '--prompt', 'Ho', '--profile', 'p.json'],
      ...['--save-cluster', 'c.json', '--plan', 'plan.json', '--scheduler', 'ring-aware', '--save-plan', 'out.json'],
      ...['--tokens', '9', '--temperature', '0', '--seed', '3', '--context', '64', '--kv', 'F32', '--chunk', '16'],
      ...['--activations', 'F16', '--memory', '64GiB', '--link-delay', '5 ms', '--prefetch', 'willneed-whole'],
      ...[
        '--release',
        'drop',
        '--threads',
        '4',
        '--kernels',
        'native',
        '--trace',
        'run.json',
        '--json',
        '--device',
        'none',
      ],
      ...['--max-pressure', '0.06', '--chat', '--system', 'Be brief.', '--measure', '--top-k', '5', '--stop', '.'],
    )) as GenerateRequest;
    const inputs = ['m.gguf', undefined, 'p.json', 'plan.json', file];
    const output = (flag: string, path: string, kind: string) => ({ flag, path, kind, inputs, force: false });
    const { memory, memoryLimit, ...ring } = request.place.ring as RingRequest;
    assert.ok(memory > 60 * 2 ** 30 && memory < 64 * 2 ** 30);
    assert.is(memoryLimit, 64 * 2 ** 30);
    assert.equal(ring, {
      ...{ cluster: undefined, workers: ['tcp://a:1,k', 'tcp://b:2'], keys, profile: 'p.json', plan: 'plan.json' },
      ...{ scheduler: 'ring-aware', maxPressure: 0.06, chunk: 16, activations: 'F16', linkDelay: 0.005 },
      ...{ requested: { prefetch: 'willneed-whole', release: 'drop' }, device: 'none', measure: true },
    });
    const { place, kernels, drafts, sampling, ...others } = request;
    assert.is(place.gpu, undefined);
    assert.equal(others, {
      ...{ model: 'm.gguf', prompts: ['Hi', 'Ho'], chat: true, system: 'Be brief.', json: true, stops: ['.'] },
      saveCluster: output('--save-cluster', 'c.json', 'a cluster file'),
      savePlan: output('--save-plan', 'out.json', 'a plan'),
      trace: output('--trace', 'run.json', 'a trace'),
      ...{ tokens: 9, seed: 3, context: 64, kvCache: 'F32', memory: undefined, paging: undefined },
      ...{ gpuPaging: undefined, experts: undefined, packedExperts: undefined, routing: undefined },
    });
    assert.equal(sampling, { temperature: 0, topK: 5, topP: 0.95, minP: 0.05, repeatPenalty: 1 });
    assert.equal(kernels, { implementation: 'native', threads: 4 });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const MISTAKES: readonly [string, readonly string[], string][] = [
  [
    'neither a cluster nor workers',
    ['--plain'],
    '--cluster: or --worker is needed, but not both: a file of the devices, or their addresses',
  ],
  [
    'a cluster and workers',
    [...RING, '--worker', 'tcp://a:1'],
    '--cluster: or --worker is needed, but not both: a file of the devices, or their addresses',
  ],
  [
    'neither keys nor --plain',
    ['--cluster', 'home.json'],
    '--keys: is missing; make keys by hearth keygen --out FILE (or use --plain on links you trust)',
  ],
  ['keys and --plain', [...RING, '--keys', 'k'], '--plain: and --keys exclude each other'],
  [
    'a scheduler whose plans a ring can’t carry out',
    [...RING, '--scheduler', 'dllama'],
    `--scheduler: unknown "dllama"; allowed: ${RING_SCHEDULERS.join(', ')}`,
  ],
  ['a misspelt scheduler', [...RING, '--scheduler', 'hadla'], '--scheduler: unknown "hadla"; did you mean "halda"?'],
  [
    'a limit to memory pressure for a scheduler without one',
    [...RING, '--scheduler', 'optimal', '--max-pressure', '0.06'],
    '--max-pressure: is a limit that only ring-aware keeps to; add --scheduler ring-aware',
  ],
  ['a system message without --chat', [...RING, '--system', 'x'], '--system: is used only with --chat; add it'],
  [
    'standard input twice',
    [...RING, '--prompt', '-', '--prompt', '-'],
    '--prompt: is - twice; standard input can be read once',
  ],
  ['a chunk that is too large', [...RING, '--chunk', '129'], '--chunk: "129" is not a whole number between 8 and 128'],
];
for (const [what, options, expected] of MISTAKES) {
  test(`${what} is an error`, async () => {
    assert.is(await requested(...options), expected);
  });
}

test('memory that Node.js itself already exceeds is an error', async () => {
  assert.match(
    (await requested(...RING, '--memory', '1MiB')) as string,
    /^--memory: 1MiB is too little; Node\.js and its heap take [\d.]+ [MG]iB of it$/,
  );
});

test.run();
