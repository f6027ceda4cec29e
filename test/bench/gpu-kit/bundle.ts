import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { build, type Plugin } from 'esbuild';

const ROOT = join(import.meta.dirname, '../../..');

/** Packages that the bundle finds beside itself: they load libraries, or threads from files of their own. */
export const EXTERNAL_PACKAGES = ['webgpu', 'piscina'] as const;

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
    external: [...EXTERNAL_PACKAGES],
    banner: {
      js: [
        "import { createRequire as $createRequire } from 'node:module';",
        "import { fileURLToPath as $fileURLToPath } from 'node:url';",
        'const require = $createRequire(import.meta.url);',
        'const $url = (path) => new URL(path, import.meta.url).href;',
        'const $path = (path) => $fileURLToPath($url(path));',
      ].join('\n'),
    },
    plugins: [addresses],
  });
}

const addresses: Plugin = {
  name: 'addresses of the project',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /\/own-module\.ts$/ }, ({ importer }) =>
      importer.endsWith('bundled-module.ts') ? undefined : { path: join(import.meta.dirname, 'bundled-module.ts') },
    );
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      if (OF_THE_BUNDLE.includes(path) || path.includes('/node_modules/')) return undefined;
      const inProject = relative(ROOT, path);
      const contents = readFileSync(path, 'utf8')
        .replaceAll('import.meta.url', `$url(${JSON.stringify(inProject)})`)
        .replaceAll('import.meta.dirname', `$path(${JSON.stringify(dirname(inProject))})`);
      return { contents, loader: 'ts' };
    });
  },
};
