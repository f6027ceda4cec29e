import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { InputError } from '../../../engine/input/input-error.ts';
import { loadAddon } from '../../../engine/kernels/native/addon.ts';
import { GPU_ENVIRONMENT, GPU_MISSING } from '../../support/gpu.ts';
import { testIf } from '../../support/needs.ts';
import { runCommand, runScript } from '../../support/run-script.ts';
import { between, linesOf } from '../../support/tables-of-docs.ts';
import { missingLibraries } from './libraries.ts';
import { type Cell, emptyResults, type GpuResults, parseGpuResults } from './results.ts';
import { gpuTables, recordedRuns } from './tables.ts';

/** Why no box can be packed here without network; `undefined`: it can. */
function packingMissing(): string | undefined {
  if (process.platform !== 'linux' || process.arch !== 'x64') return 'the box is for Linux on x64';
  if (GPU_MISSING !== undefined) return GPU_MISSING;
  const addon = loadAddon();
  if (typeof addon === 'string') return `native kernels: ${addon}`;
  const libraries = missingLibraries();
  return libraries.length === 0 ? undefined : `no ${libraries.join(', ')}`;
}
const MISSING = packingMissing();

let folder = '';
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-gpu-kit-test-'));
});
test.after(() => rmSync(folder, { recursive: true }));

const run = (...options: readonly string[]) => {
  const variables = Object.entries(GPU_ENVIRONMENT).map(([name, value]) => `${name}=${value}`);
  return runCommand(['env', ...variables, join(folder, 'hearth-gpu-kit/run.sh'), ...options]);
};
const resultsIn = (out: string): GpuResults =>
  parseGpuResults(readFileSync(join(out, 'results.json'), 'utf8'), 'results.json');

/** The box on a system that states this version of glibc. */
async function runOnGlibc(version: string, ...options: readonly string[]): ReturnType<typeof runCommand> {
  const programs = join(folder, `glibc-${version}`);
  mkdirSync(programs);
  writeFileSync(join(programs, 'getconf'), `#!/bin/sh\necho glibc ${version}\n`, { mode: 0o755 });
  const { PATH } = process.env;
  process.env.PATH = `${programs}:${PATH}`;
  try {
    return await run(...options);
  } finally {
    process.env.PATH = PATH;
  }
}

testIf(
  MISSING === undefined,
  MISSING ?? '',
  'a box is packed, unpacked and run, also by its own glibc; a step without time is cut off',
  async () => {
    const box = join(folder, 'kit.tar');
    const packed = await runScript('test/bench/gpu-kit/pack.ts', '--out', box, '--without-peer');
    assert.is(packed.code, 0, packed.stderr);
    assert.match(packed.stdout, /kit\.tar: \d+ MiB\n$/);
    assert.is((await runCommand(['tar', '-xf', box, '-C', folder])).code, 0);

    const [out, models] = [join(folder, 'out'), join(folder, 'models')];
    const { code, stdout, stderr } = await run(out, '--minutes', '0.2', '--steps', 'kernels', '--models', models);
    assert.is(code, 0, stdout + stderr);
    // On a busy machine the first step may leave no time.
    assert.match(
      stdout,
      /^1 device: .*\n {2}[\d.]+ s: .*subgroups of \d+ to \d+.*\n2 kernels: .*\n {2}[\d.]+ s: (cut off after \d+ s; \d+ cells are kept|no time is left)\n$/,
    );
    const results = resultsIn(out);
    assert.equal(
      results.steps.map(({ name, state }) => [name, state]),
      [
        ['device', 'ended'],
        ['kernels', stdout.includes('cut off') ? 'cut off' : 'left out'],
      ],
    );
    const [first, second] = results.steps;
    assert.ok(first !== undefined && second !== undefined && first.seconds + second.allowed < 12);
    const [device] = first.cells;
    assert.is(device?.kind, 'device');
    assert.ok((device as Extract<Cell, { kind: 'device' }>).limits.maxBufferSize);
    for (const cell of second.cells) assert.ok(cell.kind === 'check' && cell.agrees, JSON.stringify(cell));
    assert.match(gpuTables([results]), /- steps: device \d+ s, kernels \d+ s \((cut off|left out)\)\n/);

    const older = await runOnGlibc('2.31', join(folder, 'older'), '--minutes', '0.5', '--steps', 'device');
    assert.is(older.code, 0, older.stdout + older.stderr);
    const { steps, machine } = resultsIn(join(folder, 'older'));
    assert.equal([steps[0]?.state, steps[0]?.cells[0]?.kind], ['ended', 'device']);
    assert.match(machine.glibc, /^2\.31, run by the box’s 2\.\d+$/);

    const wrong = await run(out, '--steps', 'kernel');
    assert.is(wrong.code, 2);
    assert.match(wrong.stderr, /^--steps: unknown "kernel".*kernels/);
    const helped = await run('--help');
    for (const step of ['1 device', '4 speed', '6 together', '7 experts']) assert.match(helped.stdout, step);
  },
);

const RUN: GpuResults = {
  ...emptyResults({
    hearth: { version: '0.1.0', commit: 'abc' },
    begun: '2026-01-02T03:04:05.000Z',
    minutes: 9,
    machine: {
      processor: 'A CPU',
      cores: 4,
      memory: 2 ** 34,
      system: 'Linux',
      glibc: '2.36',
      node: 'v20',
      driver: null,
    },
  }),
  steps: [
    {
      ...{ name: 'speed', state: 'cut off', seconds: 12.4, allowed: 12 },
      cells: [
        {
          ...{ kind: 'contest', model: 'Some-1B', mix: 'F16', discipline: 'decode', tokens: 64 },
          rates: { Hearth: [40, 60, 50], 'llama.cpp vulkan': [50, 50, 25] },
          ...{ share: 0.625, limit: 1e12, engines: ['Hearth, WebGPU: A GPU'] },
        },
        { kind: 'quantity', name: 'reading F16', unit: 'B/s', median: 2.5e12, spread: 0.01, repeats: 3 },
        {
          ...{ kind: 'batch', model: 'Some-1B', mix: 'F16', requests: 8, promptTokens: 4 },
          measured: { median: 0.02, spread: 0, repeats: 2 },
        },
        {
          ...{ kind: 'experts', model: 'Some-MoE', mix: 'Q4_K_M', cpuExperts: 8, layers: 8, threads: 4 },
          ...{ promptTokens: 128, outputTokens: 8 },
          measured: {
            ttft: { median: 0.5, spread: 0, repeats: 2 },
            tpot: { median: 0.02, spread: 0, repeats: 2 },
          },
        },
      ],
    },
  ],
};

test('results become tables: medians, ratios by turns, and what was cut off', () => {
  const text = gpuTables([RUN]);
  for (const line of [
    '- Hearth 0.1.0 (abc), 2026-01-02; random weights',
    '- steps: speed 12 s (cut off)',
    '| Some-1B F16 | decode 64 | 50.0 | 63 % | 50.0 | 1.20 (0.80–2.00) |',
    '| reading F16 | 2500 GB/s | ± 1.0 % | 3 |',
    '| Some-1B F16 | 8 requests together | 20.0 ms | 400 |',
    '| Some-MoE Q4_K_M | 8 of 8 layers, 4 threads | 20.0 ms | 50.0 | 256 |',
  ])
    assert.ok(text.replaceAll('\u00a0', ' ').includes(line), `${line}\n${text}`);
  assert.is(gpuTables([]), 'No run is recorded.\n');
});

test('results of another form are refused with their place', () => {
  const wrong = JSON.stringify({ ...RUN, minutes: 'nine' });
  assert.throws(
    () => parseGpuResults(wrong, 'results.json'),
    (error: Error) => error instanceof InputError && /^results\.json: minutes/.test(error.message),
  );
});

test('docs/measurements/gpu.md shows the recorded runs', () => {
  const docs = readFileSync('docs/measurements/gpu.md', 'utf8');
  assert.equal(linesOf(between(docs, 'gpu')), linesOf(gpuTables(recordedRuns())));
});

test.run();
