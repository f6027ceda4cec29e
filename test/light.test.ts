import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { compile, example, install, pack } from './support/packages.ts';

const run = promisify(execFile);
const NAME = '@hearth-workbench/light';
const project = mkdtempSync(join(tmpdir(), 'hearth-light-'));
const installed = join(project, 'node_modules', NAME);
test.after(() => rmSync(project, { recursive: true, force: true }));

/** Examples of docs/how-to/use-the-library.md that need no engine. */
const EXAMPLES = ['planner.ts', 'header.ts'] as const;
const OUTPUTS = [/^laptop 32: [\d.]+ tokens\/s\n/, /^\[ 'token_embd\.weight 32 × 8' \]\n/];

test.before(async () => await install(project, [await pack(['--workspace', NAME], project)]));

test('the light package installs without a network, dependencies or scripts, in at most 5 MB', () => {
  const { dependencies, scripts } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  // npm runs this script where the package is packed, not where it is installed.
  assert.equal([dependencies, Object.keys(scripts)], [undefined, ['prepack']]);
  const files = readdirSync(join(project, 'node_modules'), { recursive: true, encoding: 'utf8' });
  const bytes = files.reduce((sum, name) => sum + statSync(join(project, 'node_modules', name)).size, 0);
  assert.ok(bytes < 5e6, `${bytes} bytes`);
  assert.ok(existsSync(join(installed, 'LICENSE')));
});

test('the first example and that of GGUF headers compile under strict TypeScript and run from it', async () => {
  for (const file of EXAMPLES) writeFileSync(join(project, file), example(file, NAME));
  await compile(project, EXAMPLES);
  for (const [index, file] of EXAMPLES.entries()) {
    const { stdout } = await run(process.execPath, [`out/${file.replace(/ts$/, 'js')}`], { cwd: project });
    assert.match(stdout, OUTPUTS[index] as RegExp);
  }
});

test.run();
