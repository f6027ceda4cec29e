import { join } from 'node:path';
import { build } from 'esbuild';

const ROOT = join(import.meta.dirname, '../..');
const ADDON = 'engine/kernels/native/addon.ts';
const STARTED = /^node:(child_process|worker_threads)$|^piscina$/;

/**
 * Filters test files by whether they may run native code: their imports reach the module that loads the addon, or one
 * that starts processes or threads.
 * @param files paths relative to the project's folder
 * @throws Error if a file cannot be bundled
 */
export async function nativeTests(files: readonly string[]): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: [...files],
    absWorkingDir: ROOT,
    ...{ bundle: true, write: false, metafile: true, outdir: 'unused', logLevel: 'error' },
    ...{ platform: 'node', format: 'esm', packages: 'external' },
  });
  return Object.values(metafile.outputs)
    .filter(({ inputs, imports }) => ADDON in inputs || imports.some(({ path }) => STARTED.test(path)))
    .flatMap(({ entryPoint }) => entryPoint ?? []);
}
