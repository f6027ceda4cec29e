import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { testIf } from './support/needs.ts';

const run = promisify(execFile);
const NAME = '@hearth-workbench/hearth';
const CHROMIUM = '/usr/bin/chromium';

const project = mkdtempSync(join(tmpdir(), 'hearth-library-'));
test.after(() => rmSync(project, { recursive: true, force: true }));

/** The examples of docs/how-to/use-the-library.md by file name. */
const EXAMPLES = [
  ...readFileSync('docs/how-to/use-the-library.md', 'utf8').matchAll(/```ts\n\/\/ (\S+)\n([\s\S]*?)```/g),
].map(([, file = '', text = '']) => ({ file, text }));

/** Does without a network what `npm install TARBALL` does: unpacks it, and links what it depends on. */
test.before(async () => {
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', project], { maxBuffer: 2 ** 26 });
  const [{ filename }] = JSON.parse(stdout.slice(stdout.search(/^\[/m)));
  const installed = join(project, 'node_modules', NAME);
  mkdirSync(installed, { recursive: true });
  await run('tar', ['-xzf', join(project, filename), '-C', installed, '--strip-components=1']);
  const { dependencies } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  for (const name of [...Object.keys(dependencies), '@types/node']) {
    mkdirSync(dirname(join(project, 'node_modules', name)), { recursive: true });
    symlinkSync(join(process.cwd(), 'node_modules', name), join(project, 'node_modules', name));
  }
  const compilerOptions = {
    ...{ target: 'ES2023', lib: ['ES2023', 'DOM'], module: 'nodenext', types: ['node'], outDir: 'out' },
    ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true },
  };
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'empty', type: 'module' }));
  writeFileSync(
    join(project, 'tsconfig.json'),
    JSON.stringify({ compilerOptions, files: EXAMPLES.map(({ file }) => file) }),
  );
  for (const { file, text } of EXAMPLES) writeFileSync(join(project, file), text);
  writeFileSync(join(project, 'model.gguf'), gunzipSync(readFileSync('test/golden/models/llama-Q8_0.gguf.gz')));
});

test('the examples have at most 15 lines and compile under strict TypeScript', async () => {
  assert.ok(EXAMPLES.length >= 4);
  for (const { file, text } of EXAMPLES) assert.ok(text.trim().split('\n').length <= 15, file);
  const compiler = join(process.cwd(), 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [compiler, '-p', '.'], { cwd: project }).catch((error) =>
    assert.unreachable(error.stdout),
  );
});

const OUTPUTS: Readonly<Record<string, RegExp>> = {
  'planner.ts': /^laptop 32: [\d.]+ tokens\/s\nlaptop: .* tokens\/s\n/,
  'two-answers.ts': /^predicted [\d.]+ s, simulated [\d.]+ s\n$/,
  'header.ts': /^\[ 'token_embd\.weight 32 × 8' \]\ncut\.gguf: byte \d+/,
  'generate.ts': /./,
};

test('each of them runs in Node', async () => {
  for (const { file } of EXAMPLES) {
    // The package's own script would compile the addon; here it is the clone's.
    const env = { HEARTH_ADDON: join(process.cwd(), 'native/build/release/hearth.node'), ...process.env };
    const { stdout } = await run(process.execPath, [`out/${file.replace(/ts$/, 'js')}`], { cwd: project, env });
    assert.match(stdout, OUTPUTS[file] as RegExp, file);
  }
});

test('the command line and an experiment run from the tarball', async () => {
  const installed = join(project, 'node_modules', NAME);
  const plan = ['--cluster', join(installed, 'datasets/clusters/prima-home.json'), '--model', 'Llama-3-8B', '--json'];
  const { stdout } = await run(process.execPath, [join(installed, 'bin/hearth.js'), 'plan', ...plan], { cwd: project });
  assert.is(JSON.parse(stdout).length, 1);
  const tsx = ['--import', 'tsx', join(installed, 'experiments/halda-sweep.ts'), '--help'];
  assert.match((await run(process.execPath, tsx, { cwd: project })).stdout, /^Usage: /);
});

testIf(existsSync(CHROMIUM), `no ${CHROMIUM}`, 'planner, simulator and GGUF reader run in a browser', async () => {
  const entries = ['', '/simulator', '/gguf'].map((part) => `export * from '${NAME}${part}';`).join('\n');
  const text = EXAMPLES.filter(({ file }) => file === 'planner.ts' || file === 'header.ts').map((one) => one.text);
  const bundle = async (contents: string) =>
    await build({
      stdin: { contents, resolveDir: project, loader: 'ts' },
      ...{ bundle: true, write: false, metafile: true, format: 'esm', platform: 'browser', logLevel: 'silent' },
    });
  const { metafile } = await bundle(entries);
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports.map(({ path }) => path));
  assert.equal(
    imports.filter((path) => path.startsWith('node:') || builtinModules.includes(path)),
    [],
  );
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    const page = await browser.newPage();
    const lines: string[] = [];
    page.on('console', (message) => lines.push(message.text()));
    page.on('pageerror', (error) => lines.push(String(error)));
    for (const example of text) {
      const { outputFiles } = await bundle(example);
      await page.addScriptTag({ content: outputFiles?.[0]?.text ?? '', type: 'module' });
    }
    for (const expected of [/laptop.*: [\d.]+ tokens\/s/, /cut\.gguf: byte \d+/]) {
      for (let waits = 0; waits < 100 && !expected.test(lines.join('\n')); waits++) await page.waitForTimeout(100);
      assert.match(lines.join('\n'), expected, lines.join('\n'));
    }
  } finally {
    await browser.close();
  }
});

test.run();
