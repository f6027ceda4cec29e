import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { ChromeEvent } from '../../engine/trace/perfetto.ts';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { madeFile } from '../runtime/made-file.ts';
import { testIf } from '../support/needs.ts';
import { type Ended, runCommand } from '../support/run-script.ts';

let [folder, model] = ['', ''];
test.before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-'));
  model = await madeFile({ folder, name: 'tiny' });
});
test.after(() => rmSync(folder, { recursive: true }));

const generate = (...options: readonly string[]): Promise<Ended> => {
  const common = ['--prompt', 'ab '.repeat(100), '--temperature', '0', '--tokens', '60', '--threads', '2', '--json'];
  return runCommand([process.execPath, 'bin/hearth.js', 'generate', '--model', model, ...common, ...options]);
};

testIf(
  NATIVE_SETS.length > 0,
  'the native kernels are not built',
  'a limit gives the same text, from a file',
  async () => {
    const trace = join(folder, 'trace.json');
    // A page of 64 tokens takes 32 KiB in two layers: memory for two pages, and two slices for evicted pages on their way.
    const limit = ['--kv-memory', '96KiB', '--kv-pages', '64', '--kv-folder', folder, '--trace', trace];
    const [whole, paged] = [await generate('--kernels', 'native'), await generate('--kernels', 'native', ...limit)];
    const textOf = ({ code, stdout, stderr }: Ended): unknown => {
      assert.is(code, 0, stderr);
      return JSON.parse(stdout).tokens;
    };
    assert.equal(textOf(paged), textOf(whole));
    const events: readonly ChromeEvent[] = JSON.parse(readFileSync(trace, 'utf8')).traceEvents;
    const named = (name: string): ChromeEvent[] => events.filter((event) => event.name === name);
    const { promptTokens } = JSON.parse(whole.stdout);
    // All pages except the newest are evicted; writes of the last one may be under way when the process ends.
    const pages = Math.ceil((promptTokens + 59) / 64);
    const evictions = named('deviceCopy: eviction').length;
    assert.ok(evictions >= 2 * (pages - 2) && evictions <= 2 * (pages - 1), `${evictions} for ${pages} pages`);
    assert.ok(named('disk: prefetch').length >= 59 * 2 * (pages - 2));
  },
);

test('a missing folder and too little memory are reported in one line', async () => {
  const missing = await generate(
    '--kernels',
    'reference',
    '--kv-memory',
    '96KiB',
    '--kv-pages',
    '64',
    '--kv-folder',
    '/x/y',
  );
  assert.is(missing.code, 2);
  assert.match(missing.stderr, /^\/x\/y: .*no such file/im);
  const little = await generate('--kernels', 'reference', '--kv-memory', '10KiB', '--kv-pages', '64');
  assert.is(little.code, 2);
  assert.match(little.stderr, /^KV memory: 10\.0 KiB is too little; at least 1 MiB/m);
});

test.run();
