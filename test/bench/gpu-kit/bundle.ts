import { dirname, join, relative } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { keepPlaces } from '../../../bin/keep-places.js';

const ROOT = join(import.meta.dirname, '../../..');

/** Packages that the bundle finds next to itself, as they load libraries or files of their own, and what of them it needs. */
export const EXTERNAL_PACKAGES: Readonly<Record<string, RegExp>> = {
  webgpu: /^(index\.js|dist\/linux-x64\/dawn\.node)$/,
  piscina: /^dist\/.*\.m?js$/,
  // Of its builds for Linux the one that needs the oldest glibc (2.25), for any Node.
  zeromq: /^(lib\/[^/]*\.js|build\/manifest\.json|build\/linux\/x64\/node\/glibc-127-Release\/addon\.node)$/,
  'cmake-ts': /^build\/loader\.m?js$/,
};

/** Modules that know the bundle's own address. */
const OF_THE_BUNDLE = ['program.ts', 'bundled-module.ts'].map((name) => join(import.meta.dirname, name));

/**
 * Compiles program.ts with all that it imports into one file. Modules keep the addresses that they have in the project,
 * as if the file's folder were its root: there they find tables, goldens and the addon.
 */
export async function bundleProgram(outfile: string): Promise<void> {
  await build({
    entryPoints: [join(import.meta.dirname, 'program.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'error',
    banner: {
      js: [
        "import { createRequire as $createRequire } from 'node:module';",
        "import { fileURLToPath as $fileURLToPath } from 'node:url';",
        'const require = $createRequire(import.meta.url);',
        'const $url = (path) => new URL(path, import.meta.url).href;',
        'const $path = (path) => $fileURLToPath($url(path));',
      ].join('\n'),
    },
    plugins: [ownModules, addresses, packages],
  });
}

const inProject = (path: string): string => relative(ROOT, path);

const addresses = keepPlaces({
  url: (path) => `$url(${JSON.stringify(inProject(path))})`,
  folder: (path) => `$path(${JSON.stringify(dirname(inProject(path)))})`,
  isKept: (path) => !OF_THE_BUNDLE.includes(path) && !path.includes('/node_modules/'),
});

/** Modules of threads and processes are parts of the bundle. */
const ownModules: Plugin = {
  name: 'own modules',
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/own-module\.ts$/ }, ({ importer }) =>
      importer.endsWith('bundled-module.ts') ? undefined : { path: join(import.meta.dirname, 'bundled-module.ts') },
    ),
};

/** Packages are required where they are first used, so that what doesn't need one runs without it. */
const packages: Plugin = {
  name: 'packages next to the bundle',
  setup({ onLoad, onResolve }) {
    const names = new Set(Object.keys(EXTERNAL_PACKAGES));
    onResolve({ filter: /^[\w-]+$/ }, ({ path, kind, namespace }) => {
      if (!names.has(path)) return undefined;
      return namespace === 'beside' || kind === 'dynamic-import'
        ? { path, external: true }
        : { path, namespace: 'beside' };
    });
    onLoad({ filter: /./, namespace: 'beside' }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)});`,
    }));
  },
};
