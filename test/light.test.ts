import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';

const run = promisify(execFile);
const project = mkdtempSync(join(tmpdir(), 'hearth-light-'));
const installed = join(project, 'node_modules/@hearth-workbench/light');
test.after(() => rmSync(project, { recursive: true, force: true }));

/** Examples of docs/how-to/use-the-library.md that need no engine. */
const EXAMPLES = ['planner.ts', 'header.ts'] as const;
const OUTPUTS = [/^laptop 32: [\d.]+ tokens\/s\n/, /^\[ 'token_embd\.weight 32 × 8' \]\n/];

function example(file: string): string {
  const guide = readFileSync('docs/how-to/use-the-library.md', 'utf8');
  const [, text = ''] = new RegExp(`\`\`\`ts\\n// ${file}\\n([\\s\\S]*?)\`\`\``).exec(guide) ?? [];
  return text.replaceAll('@hearth-workbench/hearth', '@hearth-workbench/light');
}

test.before(async () => {
  const folder = join(project, 'built');
  await run(process.execPath, ['--import', 'tsx', 'library/light/build.ts', folder]);
  await run('npm', ['pack', '--pack-destination', project], { cwd: folder });
  const [tarball = ''] = readdirSync(project).filter((name) => name.endsWith('.tgz'));
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'empty', type: 'module', private: true }));
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', `./${tarball}`], { cwd: project });
});

test('the light package installs without a network, dependencies or scripts, in at most 5 MB', () => {
  const { dependencies, scripts } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  assert.equal([dependencies, scripts], [undefined, undefined]);
  const files = readdirSync(join(project, 'node_modules'), { recursive: true, encoding: 'utf8' });
  const bytes = files.reduce((sum, name) => sum + statSync(join(project, 'node_modules', name)).size, 0);
  assert.ok(bytes < 5e6, `${bytes} bytes`);
  assert.ok(existsSync(join(installed, 'LICENSE')));
});

test('the first example and that of GGUF headers compile under strict TypeScript and run from it', async () => {
  const compilerOptions = {
    ...{ target: 'ES2023', lib: ['ES2023', 'DOM'], module: 'nodenext', types: [], outDir: 'out' },
    ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true },
  };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: EXAMPLES }));
  for (const file of EXAMPLES) writeFileSync(join(project, file), example(file));
  const compiler = join(process.cwd(), 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [compiler, '-p', '.'], { cwd: project }).catch(({ stdout }) =>
    assert.unreachable(stdout),
  );
  for (const [index, file] of EXAMPLES.entries()) {
    const { stdout } = await run(process.execPath, [`out/${file.replace(/ts$/, 'js')}`], { cwd: project });
    assert.match(stdout, OUTPUTS[index] as RegExp);
  }
});

test.run();
