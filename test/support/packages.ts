import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Packs a package as `npm publish` does. @param given what npm packs: a workspace's option, or a folder */
export async function pack(given: readonly string[], to: string): Promise<string> {
  const options = ['pack', '--json', '--pack-destination', to, ...given];
  const { stdout } = await run('npm', options, { maxBuffer: 2 ** 26 });
  const [{ filename }] = JSON.parse(stdout.slice(stdout.search(/^\[/m)));
  return filename;
}

/** Installs tarballs in an empty project without a network, and without running their scripts. */
export async function install(project: string, tarballs: readonly string[]): Promise<void> {
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'empty', type: 'module', private: true }));
  const options = ['install', '--offline', '--ignore-scripts', '--no-audit', '--no-fund'];
  await run('npm', [...options, ...tarballs.map((name) => `./${name}`)], { cwd: project });
}

/** An example of docs/how-to/use-the-library.md by its file's name, with another package's name in its imports. */
export function example(file: string, name: string): string {
  const guide = readFileSync('docs/how-to/use-the-library.md', 'utf8');
  const [, text = ''] = new RegExp(`\`\`\`ts\\n// ${file}\\n([\\s\\S]*?)\`\`\``).exec(guide) ?? [];
  return text.replaceAll('@hearth-workbench/hearth', name);
}

/** Compiles files of a project to its folder `out` under strict TypeScript. @throws Error with the compiler's complaints */
export async function compile(project: string, files: readonly string[], types: readonly string[] = []): Promise<void> {
  const compilerOptions = {
    ...{ target: 'ES2023', lib: ['ES2023', 'DOM'], module: 'nodenext', types, outDir: 'out' },
    ...{ strict: true, noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true },
  };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  for (const name of types) {
    mkdirSync(join(project, 'node_modules/@types'), { recursive: true });
    symlinkSync(join(process.cwd(), 'node_modules/@types', name), join(project, 'node_modules/@types', name));
  }
  const compiler = join(process.cwd(), 'node_modules/typescript/bin/tsc');
  await run(process.execPath, [compiler, '-p', '.'], { cwd: project }).catch(({ stdout }) => {
    throw new Error(stdout);
  });
}
