import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * Compiles the library to dist/: `npm run build [-- FOLDER]`. JavaScript with declarations, and next to it what the
 * modules read at run time: clusters, models, published cells and the renderer of chat templates.
 */
const root = join(import.meta.dirname, '..');
const out = join(root, process.argv[2] ?? 'dist');
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');

rmSync(out, { recursive: true, force: true });
execFileSync(process.execPath, [compiler, '-p', join(root, 'library'), '--outDir', out], { stdio: 'inherit' });
const data = readdirSync(join(root, 'datasets'), { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.(csv|json)$/.test(name))
  .map((name) => `datasets/${name}`);
const templates = readdirSync(join(root, 'engine/text/template')).map((name) => `engine/text/template/${name}`);
for (const name of [...data, ...templates]) {
  mkdirSync(dirname(join(out, name)), { recursive: true });
  cpSync(join(root, name), join(out, name));
}
