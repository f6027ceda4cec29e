import { cpSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build } from 'esbuild';
import { keepPlaces } from '../../bin/keep-places.js';
import { ROOT, writePackage } from '../write-package.ts';

/**
 * Builds the package `@hearth-workbench/engine`: the engine and the GGUF reader in one file for each entry, the kernels'
 * C++ with the script that compiles it when the package is installed, and the clusters, devices and models on file.
 * `npm pack` runs it.
 */
const sourceOf = (path: string): string => JSON.stringify(relative(ROOT, path).replaceAll('\\', '/'));

/** Modules find the addon and their data by their places in the repository, below `dist/`. */
const OWN_PLACE = `import { dirname as hearthFolderOf } from 'node:path';
import { fileURLToPath as hearthPath } from 'node:url';
const hearthUrl = (source) => new URL(source, import.meta.url);
const hearthFolder = (source) => hearthFolderOf(hearthPath(hearthUrl(source)));`;

const out = await writePackage(import.meta.dirname, ['engine', 'gguf'], {
  platform: 'node',
  banner: { js: OWN_PLACE },
  plugins: [
    keepPlaces({
      url: (path) => `hearthUrl(${sourceOf(path)}).href`,
      folder: (path) => `hearthFolder(${sourceOf(path)})`,
    }),
  ],
});

await build({
  entryPoints: [join(ROOT, 'native/build.ts')],
  outfile: join(out, 'native/build.js'),
  ...{ bundle: true, format: 'esm', platform: 'node', target: 'es2023', logLevel: 'warning' },
});
copy('native', (name) => /\.[ch]pp$/.test(name) && !name.startsWith('build'));
copy('datasets', (name) => /^(clusters[\\/][^\\/]+\.json|devices\.csv|models\.csv)$/.test(name));

function copy(folder: string, isWanted: (name: string) => boolean): void {
  for (const name of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).filter(isWanted))
    cpSync(join(ROOT, folder, name), join(out, folder, name));
}
