import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type BuildOptions, build } from 'esbuild';

export const ROOT = join(import.meta.dirname, '..');

/**
 * Writes the `dist/` of a package of this repository: JavaScript with what it depends on inside, except the dependencies
 * that its package.json names, and declarations in `dist/types`. The license is copied next to its package.json.
 * @param folder the package's, with package.json and tsconfig.json
 * @param entries files of library/, without `.ts`
 * @param options esbuild's, in addition to those that all packages share
 * @returns the folder `dist`
 */
export async function writePackage(
  folder: string,
  entries: readonly string[],
  options: BuildOptions = {},
): Promise<string> {
  const out = join(folder, 'dist');
  const { dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  rmSync(out, { recursive: true, force: true });
  await build({
    entryPoints: entries.map((name) => join(ROOT, `library/${name}.ts`)),
    outdir: out,
    external: Object.keys(dependencies),
    ...{ bundle: true, splitting: true, format: 'esm', target: 'es2023', legalComments: 'inline' },
    ...{ minifySyntax: true, minifyWhitespace: true, logLevel: 'warning' },
    ...options,
  });
  const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  const project = ['-p', folder, '--outDir', join(out, 'types')];
  execFileSync(process.execPath, [compiler, ...project], { stdio: 'inherit' });
  cpSync(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'));
  return out;
}
