import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

/**
 * Writes the package `@hearth-workbench/light`: planner, simulator and GGUF reader in one file for each entry, with what
 * they depend on inside, so that nothing is compiled or downloaded when it is installed. Run by
 * `npm run build:light [-- FOLDER]`.
 */
const root = join(import.meta.dirname, '../..');
const out = resolve(root, process.argv[2] ?? 'results/light');
const ENTRIES = ['index', 'simulator', 'gguf'] as const;
const { version, license, engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
await build({
  entryPoints: ENTRIES.map((name) => join(root, `library/${name}.ts`)),
  outdir: out,
  ...{ bundle: true, splitting: true, format: 'esm', platform: 'browser', target: 'es2023', legalComments: 'inline' },
  ...{ minifySyntax: true, minifyWhitespace: true, logLevel: 'warning' },
});
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
const project = ['-p', import.meta.dirname, '--outDir', join(out, 'types')];
execFileSync(process.execPath, [compiler, ...project], { stdio: 'inherit' });
const entry = (name: string) => ({ types: `./types/library/${name}.d.ts`, default: `./${name}.js` });
writeFileSync(
  join(out, 'package.json'),
  `${JSON.stringify(
    {
      name: '@hearth-workbench/light',
      version,
      description: 'Planner, simulator and GGUF reader of Hearth, without its engine',
      ...{ license, engines, type: 'module', sideEffects: false },
      exports: {
        '.': entry('index'),
        './simulator': entry('simulator'),
        './gguf': entry('gguf'),
        './package.json': './package.json',
      },
      publishConfig: { access: 'public' },
    },
    null,
    2,
  )}\n`,
);
cpSync(join(root, 'LICENSE'), join(out, 'LICENSE'));
cpSync(join(import.meta.dirname, 'README.md'), join(out, 'README.md'));
