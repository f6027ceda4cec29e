import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { NATIVE_SETS } from '../kernels/native-sets.ts';
import { type Running, startHearth, until } from '../ring/processes.ts';
import { goldenArchitecturePath } from '../support/golden-architectures.ts';
import { goldenModel } from '../support/golden-models.ts';
import { hearthHere, runScript } from '../support/run-script.ts';

const test = suite('commands for experts that do not fit');
const MODEL = goldenArchitecturePath('qwen3moe-F16');
const isNative = NATIVE_SETS.length > 0;
let folder = '';
const started: Running[] = [];
test.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'hearth-experts-'));
});
test.after(() => {
  for (const { child } of started) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

async function refused(line: RegExp, ...options: readonly string[]): Promise<void> {
  const { code, stderr } = await hearthHere(...options);
  assert.is(code, 2, stderr);
  assert.match(stderr, line);
  assert.is(stderr.trim().split('\n').length, 1, stderr);
}

test('pack-experts writes whole pages for each expert, or nothing', async () => {
  const out = join(folder, 'experts.packed');
  const { code, stderr } = await hearthHere('pack-experts', MODEL, '--out', out);
  assert.is(code, 0, stderr);
  assert.match(stderr, /^\S+experts\.packed: 24 experts of .*, \d+ KiB, /);
  // Three matrices of 48 × 40 halves for each of 24 experts, behind a page of header.
  assert.is(statSync(out).size, 4096 * (1 + 24 * Math.ceil((3 * 48 * 40 * 2) / 4096)));
  assert.match(readFileSync(out).subarray(0, 80).toString('latin1'), /^HEARTHPX.{8}\{"model":\{"name":/s);
  await refused(/experts\.packed: exists; give another path, or --force/, 'pack-experts', MODEL, '--out', out);
  await refused(/is a file that this command reads/, 'pack-experts', MODEL, '--out', MODEL);
  const dense = join(folder, 'dense.packed');
  await refused(
    /has no experts; only those of mixtures are packed/,
    'pack-experts',
    goldenModel('llama-Q8_0'),
    '--out',
    dense,
  );
  await refused(/there is no such file/, 'pack-experts', join(folder, 'none.gguf'), '--out', dense);
  const cut = join(folder, 'cut.gguf');
  writeFileSync(cut, readFileSync(MODEL).subarray(0, -1000));
  await refused(/cut\.gguf/, 'pack-experts', cut, '--out', dense);
  assert.not(existsSync(dense));
  assert.equal(
    readdirSync(folder).filter((name) => name.endsWith('.tmp')),
    [],
  );
});

test('generate, chat and serve refuse in one line what is impossible with experts', async () => {
  for (const command of [['generate', '--prompt', 'a'], ['chat'], ['serve']]) {
    const run = (line: RegExp, ...options: readonly string[]) =>
      refused(line, ...command, '--model', MODEL, ...options);
    await run(/^--expert-eviction: is used only with --expert-slots or --memory; add one/, '--expert-eviction', 'lfu');
    await run(/^--packed-experts: is used only with --expert-slots or --memory; add one/, '--packed-experts', 'x');
    await run(
      /^--expert-slots: is for slots, and --expert-reads mmap has none/,
      '--expert-reads',
      'mmap',
      '--expert-slots',
      '4',
    );
    await run(
      /^--packed-experts: is for slots, and --expert-reads mmap has none/,
      '--expert-reads',
      'mmap',
      '--packed-experts',
      'x',
    );
  }
  const serve = ['serve', '--model', MODEL];
  await refused(
    /^--expert-slots: works on the CPU alone; leave --gpu-layers out/,
    ...serve,
    '--gpu-layers',
    '1',
    '--expert-slots',
    '4',
  );
  await refused(
    /^--expert-slots: works on one machine alone; leave it out in a ring/,
    ...serve,
    '--worker',
    'tcp://127.0.0.1:9',
    '--expert-slots',
    '4',
  );
  await refused(/^--routing: unknown option|unknown option '--routing'/, ...serve, '--routing', 'r.json');
});

if (isNative)
  test('generate and chat read packed experts, and say what was read', async () => {
    const out = join(folder, 'read.packed');
    await hearthHere('pack-experts', MODEL, '--out', out);
    const common = ['--model', MODEL, '--tokens', '8', '--temperature', '0', '--threads', '1'];
    const generate = (...options: readonly string[]) =>
      runScript('bin/hearth.js', 'generate', ...common, '--prompt', 'abc', ...options);
    const plain = await generate();
    const packed = await generate('--expert-slots', '4', '--packed-experts', out);
    assert.is(packed.code, 0, packed.stderr);
    assert.is(packed.stdout, plain.stdout);
    assert.match(packed.stderr, /experts: \d+ needed, \d+ % of them in memory; \d+ were read, /);
    await refused(
      /read\.gguf: does not begin with HEARTHPX/,
      'generate',
      ...common,
      '--prompt',
      'a',
      '--expert-slots',
      '4',
      '--packed-experts',
      copyOf(MODEL, 'read.gguf'),
    );
  });

function copyOf(path: string, name: string): string {
  const copy = join(folder, name);
  writeFileSync(copy, readFileSync(path));
  return copy;
}

if (isNative)
  test('a server with slots writes the texts of four requests as without, with drafts too, and counts its reads', async () => {
    const prompts = ['abc', 'One two three four five six', 'z', 'the weights of a mixture'];
    const textsOf = async (...options: readonly string[]) => {
      const running = startHearth(
        'serve',
        '--model',
        MODEL,
        '--name',
        'm',
        '--port',
        '0',
        '--threads',
        '1',
        '--context',
        '64',
        ...options,
      );
      started.push(running);
      await until('the server listens', 60, () => / at http/.test(running.stderr) || running.child.exitCode !== null);
      const url = /at (http:\/\/\S+),/.exec(running.stderr)?.[1];
      assert.ok(url, running.stderr);
      const texts = await Promise.all(
        prompts.map(async (prompt) => {
          const body = JSON.stringify({ model: 'm', prompt, max_tokens: 12, temperature: 0 });
          const answer = await fetch(`${url}/v1/completions`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body,
          });
          return ((await answer.json()) as { choices: { text: string }[] }).choices[0]?.text;
        }),
      );
      const metrics = await (await fetch(`${url}/metrics`)).text();
      running.child.kill('SIGTERM');
      await running.ended;
      const [, read] = /^hearth_experts_read_total (\d+)$/m.exec(metrics) ?? [];
      return { texts, read: read === undefined ? undefined : Number(read) };
    };
    const plain = await textsOf();
    assert.is(plain.read, undefined);
    for (const options of [
      ['--expert-slots', '4'],
      ['--expert-slots', '3', '--lookup', '2', '--draft-tokens', '3'],
    ]) {
      const { texts, read = 0 } = await textsOf(...options);
      assert.equal(texts, plain.texts, options.join(' '));
      assert.ok(read > 20, String(read));
    }
  });

test.run();
