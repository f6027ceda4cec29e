import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { BENCH_CACHE, NODE_LLAMA, NODE_LLAMA_VERSION } from '../engine/find-llama.ts';

/** llama.cpp's Vulkan build, as node-llama-cpp brings it. */
const BUILD = '@node-llama-cpp/linux-x64-vulkan';

/** Builds of its CPU backend that are packed: for any processor, for AVX2, and for AVX-512 of both makers. */
const PROCESSORS = ['x64', 'haswell', 'icelake', 'sapphirerapids', 'zen4'];

/** Installed once, without the builds for other systems. */
const FOLDER = join(BENCH_CACHE, 'vulkan-alone');

/**
 * Copies into a folder `node_modules` what node-llama-cpp loads on Linux with Vulkan: the scripts that its entry
 * reaches, and the build. @returns its name and version
 */
export async function packPeer(to: string): Promise<string> {
  const packages = join(FOLDER, 'node_modules');
  if (!existsSync(join(packages, BUILD))) install();
  for (const file of await reachedFiles(packages)) copy(packages, file, to);
  const bins = `${BUILD}/bins/linux-x64-vulkan`;
  const built = readdirSync(join(packages, bins)).filter((name) => {
    const processor = /^libggml-cpu-(\w+)\.so$/.exec(name)?.[1];
    return processor === undefined || PROCESSORS.includes(processor);
  });
  for (const file of [...built.map((name) => `${bins}/${name}`), `${BUILD}/package.json`, `${BUILD}/dist/index.js`])
    copy(packages, file, to);
  return `${NODE_LLAMA} ${NODE_LLAMA_VERSION}`;
}

function install(): void {
  process.stderr.write(`installing ${NODE_LLAMA} ${NODE_LLAMA_VERSION} to ${FOLDER}\n`);
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, 'package.json'), '{}');
  const options = ['--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', FOLDER];
  const wanted = [`${NODE_LLAMA}@${NODE_LLAMA_VERSION}`, `${BUILD}@${NODE_LLAMA_VERSION}`];
  execFileSync('npm', ['install', ...options, ...wanted], { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** The scripts that the package's entry imports, directly or not, with the description of each package. */
async function reachedFiles(packages: string): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: [join(packages, NODE_LLAMA, 'dist/index.js')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    write: false,
    metafile: true,
    logLevel: 'error',
    external: ['@node-llama-cpp/*', '@reflink/*'],
    absWorkingDir: packages,
  });
  const reached = Object.keys(metafile.inputs).filter((file) => !file.startsWith('..'));
  const descriptions = new Set<string>();
  for (const file of reached)
    for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) {
      const description = join(folder, 'package.json');
      if (existsSync(join(packages, description))) descriptions.add(description);
    }
  const settings = readdirSync(join(packages, NODE_LLAMA, 'llama'))
    .filter((name) => name.endsWith('.json'))
    .map((name) => `${NODE_LLAMA}/llama/${name}`);
  return [...reached, ...descriptions, ...settings];
}

function copy(from: string, file: string, to: string): void {
  mkdirSync(dirname(join(to, file)), { recursive: true });
  copyFileSync(join(from, file), join(to, file));
}
