import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChromeEvent } from '../../engine/trace/perfetto.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { LARGE_LAYER_BYTES, largeFile } from '../runtime/large-file.ts';
import { createMemoryCgroup, testInCgroup } from '../support/memory-cgroup.ts';
import { testIf } from '../support/needs.ts';
import { type Ended, runCommand } from '../support/run-script.ts';

const MIB = 2 ** 20;
let [folder, model] = ['', ''];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
  model = await largeFile(folder);
});
test.after(() => rmSync(folder, { recursive: true }));
const TOKENS = 6;

const command = (...options: readonly string[]): string[] => [
  ...[process.execPath, 'bin/hearth.js', 'generate', '--model', model, '--prompt', 'ab', '--temperature', '0'],
  ...['--tokens', String(TOKENS), '--kernels', 'native', '--threads', '2', '--json', ...options],
];
const generate = (...options: readonly string[]): Promise<Ended> => runCommand(command(...options));
const textOf = ({ code, stdout, stderr }: Ended): unknown => {
  assert.is(code, 0, stderr);
  return JSON.parse(stdout).tokens;
};

/** The MiB that a command needs at least, and the part of them that Node.js takes, from its error message. */
async function needs(run: (...options: readonly string[]) => Promise<Ended> = generate) {
  const { code, stderr } = await run('--memory', '50MiB');
  assert.is(code, 2);
  const message =
    /^memory: 50\.0 MiB is too little; this model needs at least (\d+) MiB \(Node\.js and its heap ([\d.]+) MiB/;
  const found = message.exec(stderr);
  assert.ok(found, stderr);
  return { least: Number(found?.[1]), process: Number(found?.[2]) };
}

const withKernels = (name: string, body: () => Promise<void>): void =>
  testIf(NATIVE_SETS.length > 0, 'the native kernels are not built', name, body);

withKernels('a budget gives the same text; what it streams, waits for and holds is in the trace', async () => {
  const trace = join(folder, 'trace.json');
  const whole = await generate();
  const { least, process: itself } = await needs();
  const streamed = await generate('--memory', `${least + 64} MiB`, '--trace', trace);
  assert.equal(textOf(streamed), textOf(whole));
  const events: readonly ChromeEvent[] = JSON.parse(readFileSync(trace, 'utf8')).traceEvents;
  const tokens = events.filter(({ name }) => name.startsWith('token '));
  assert.equal(
    tokens.map(({ cat }) => cat),
    ['prefill', ...new Array(TOKENS - 1).fill('decode')],
  );
  const named = (name: string): ChromeEvent[] => events.filter((event) => event.name === name);
  assert.is(named('compute: layer 23').length, TOKENS);
  assert.is(named('disk: waits for layer 21').length, TOKENS);
  // Weights stay in memory from the first of 24 layers on. A layer is read either once or for every token, except one
  // of which a part is read for every token.
  const readsOf = (layer: number): number =>
    named('disk: prefetch').filter(({ args }) => args?.what === `layer ${layer}`).length;
  assert.is(readsOf(0), 1);
  const reads = Array.from({ length: 24 }, (_, layer) => readsOf(layer)).filter((count) => count !== 1);
  assert.ok(reads.filter((count) => count !== TOKENS).length <= 1 && Math.max(...reads) <= TOKENS + 1, String(reads));
  const read = named('disk: prefetch').filter(({ args }) => args?.what !== 'output');
  const bytes = read.reduce((sum, { args }) => sum + Number(args?.bytes), 0);
  const perToken = (bytes - 24 * LARGE_LAYER_BYTES) / (TOKENS - 1);
  // Weights that are not read for every token stay: the 64 MiB beyond the other run's need, less the growth of this
  // process compared with that one, rounded down to a matrix of 2 MiB. The message rounds up to a MiB.
  const stays = 24 * LARGE_LAYER_BYTES - perToken;
  const [here] = named('Node.js and its heap (bytes)').map(({ args }) => Number(args?.value));
  const room = (64 + itself) * MIB - Number(here);
  assert.ok(stays > room - 2.1 * MIB && stays < room + 1.1 * MIB, `${stays / MIB} of ${room / MIB} MiB`);
  const resident = named('resident weights (bytes)').map(({ args }) => Number(args?.value));
  assert.ok(Math.max(...resident) >= stays);
  assert.ok(Math.max(...resident) <= stays + 3 * LARGE_LAYER_BYTES);
});

withKernels('logits keep to a budget, too, and an ample one reads everything once', async () => {
  const logits = (...options: readonly string[]): Promise<Ended> =>
    runCommand([
      process.execPath,
      'bin/hearth.js',
      'logits',
      '--model',
      model,
      '--tokens',
      '5,6,7',
      '--json',
      ...options,
    ]);
  const tightest = (await needs(logits)).least + 24;
  const found = await Promise.all([logits(), logits('--memory', '3 GiB'), logits('--memory', `${tightest} MiB`)]);
  const [whole, ample, tight] = found.map(({ code, stdout, stderr }) => {
    assert.is(code, 0, stderr);
    return JSON.parse(stdout).logits;
  });
  assert.equal(ample, whole);
  assert.equal(tight, whole);
});

withKernels('the reference kernels have no weights to stream', async () => {
  const { code, stderr } = await generate('--kernels', 'reference', '--memory', '1 GiB');
  assert.is(code, 2);
  assert.match(stderr, /^weights: the reference kernels hold all weights .* native kernels are needed/);
});

const inCgroup = NATIVE_SETS.length > 0 ? testInCgroup : withKernels;
inCgroup('a process with a budget lives in a cgroup of that size', async () => {
  const budget = (await needs()).least + 48;
  // Without swap the process's own memory can't be reclaimed: beyond the limit it is killed.
  const cgroup = createMemoryCgroup(budget * MIB);
  try {
    const joining = `echo $$ > ${cgroup.procs} && exec "$@"`;
    const ended = await runCommand(['sh', '-c', joining, 'sh', ...command('--memory', `${budget} MiB`)]);
    assert.equal(textOf(ended), textOf(await generate()));
    assert.is(cgroup.kills(), 0);
    const peak = cgroup.peakBytes();
    assert.ok(peak > 50 * MIB && peak <= budget * MIB, `${peak}`);
  } finally {
    cgroup.remove();
  }
});

test.run();
