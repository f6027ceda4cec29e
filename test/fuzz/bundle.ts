import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { keepPlaces } from '../../bin/keep-places.js';

/** A program and a module that it loads, compiled. */
export interface FuzzBundle {
  readonly program: string;
  readonly module: string;
  remove(): void;
}

const ROOT = join(import.meta.dirname, '../..');
/** A folder from which packages are still found. */
const FOLDER = join(ROOT, 'results/fuzz-bundles');

/**
 * Compiles the program of a campaign and its target's module, so that each process starts at once and runs nothing but
 * the sources: the loader that compiles one by one also wraps every function that a call makes.
 * @throws Error for sources that don't compile
 */
export async function bundle(program: string, module: string): Promise<FuzzBundle> {
  mkdirSync(FOLDER, { recursive: true });
  const folder = mkdtempSync(join(FOLDER, 'bundle-'));
  await build({
    ...{ entryPoints: [program, module], outbase: ROOT, outdir: folder, outExtension: { '.js': '.mjs' } },
    ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node20', packages: 'external' },
    ...{ sourcemap: 'linked', logLevel: 'silent' },
    plugins: [
      keepPlaces({
        url: (path) => JSON.stringify(pathToFileURL(path).href),
        folder: (path) => JSON.stringify(dirname(path)),
      }),
    ],
  });
  const compiled = (path: string): string => join(folder, relative(ROOT, path).replace(/\.ts$/, '.mjs'));
  return {
    program: compiled(program),
    module: compiled(module),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
