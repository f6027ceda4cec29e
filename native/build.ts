import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { temporaryPath } from '../engine/files/temporary-file.ts';
import { latticeHeader, writeLatticeHeader } from './lattice-header.ts';

/**
 * Compiles native/ to an addon: `tsx native/build.ts`. Kernels are compiled once per instruction set, each file with
 * its own flags, which is why this is a script. Node's C headers come from npm (node-api-headers), so that only a
 * compiler is needed.
 *
 * --sanitize  builds with AddressSanitizer and UndefinedBehaviorSanitizer, in a separate folder
 * --optional  reports a missing compiler or a failed compilation without failing: the engine runs without the addon
 */
const root = import.meta.dirname;
const run = promisify(execFile);

const WARNINGS = ['-Wall', '-Wextra', '-Werror'];
/** Products and sums must not be fused where ggml rounds each; kernels ask for fused operations where they help. */
const COMMON = ['-std=c++20', '-fPIC', '-fvisibility=hidden', '-ffp-contract=off', '-fno-math-errno', '-pthread'];
/** Accesses by null pointers and beyond objects are AddressSanitizer's as well; checking them twice takes GCC a third of the time. */
const SANITIZE = [
  '-fsanitize=address,undefined',
  '-fno-sanitize=null,object-size',
  '-fno-sanitize-recover=all',
  '-fno-omit-frame-pointer',
  '-g1',
];
/** AddressSanitizer calls functions in place of checks of its own, which take GCC minutes to compile where kernels unroll. */
const CALLED_CHECKS = '--param=asan-instrumentation-with-call-threshold=0';

const AVX2 = ['-mavx2', '-mfma', '-mf16c', '-mbmi2'];
const AVX512 = [...AVX2, '-mavx512f', '-mavx512bw', '-mavx512dq', '-mavx512vl', '-mavx512vnni'];
const INSTRUCTION_SETS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  x64: {
    'kernels/avx2.cpp': AVX2,
    'kernels/avxvnni.cpp': [...AVX2, '-mavxvnni'],
    'kernels/avx512.cpp': AVX512,
    'kernels/avx512bf16.cpp': [...AVX512, '-mavx512bf16'],
    'kernels/amx.cpp': [...AVX512, '-mavx512bf16', '-mamx-tile', '-mamx-bf16', '-mamx-int8'],
  },
  arm64: {
    // Apple's compiler targets Apple's processors, which have these instructions, by default.
    'kernels/neon.cpp': process.platform === 'darwin' ? [] : ['-march=armv8.2-a+dotprod+fp16'],
  },
};

interface Compiler {
  readonly command: string;
  readonly version: string;
}

async function findCompiler(): Promise<Compiler> {
  const candidates = process.env.CXX === undefined ? ['c++', 'g++', 'clang++'] : [process.env.CXX];
  for (const command of candidates) {
    try {
      const { stdout } = await run(command, ['--version']);
      return { command, version: stdout };
    } catch {}
  }
  throw new Error(`no C++ compiler (looked for ${candidates.join(', ')}); install g++ 11 or clang 14, or set CXX`);
}

function flagsFor(source: string, compiler: Compiler, sanitize: boolean): string[] {
  const isGcc = !/clang/i.test(compiler.version);
  // GCC's own header for these instructions triggers its warning about uninitialized variables (GCC bug 105593).
  const quiet = /^kernels\/(avx512|avx512bf16|amx)\.cpp$/.test(source) && isGcc;
  const tuned = source.startsWith('kernels/') ? '-O3' : '-O2';
  return [
    ...COMMON,
    ...WARNINGS,
    ...(quiet ? ['-Wno-uninitialized', '-Wno-maybe-uninitialized'] : []),
    ...(INSTRUCTION_SETS[process.arch]?.[source] ?? []),
    ...(sanitize ? ['-O1', ...SANITIZE, ...(isGcc ? [CALLED_CHECKS] : [])] : [tuned]),
    ...(source === 'addon.cpp' || source.endsWith('_object.cpp') ? includeFlags() : []),
  ];
}

/** As system headers, to which warnings don't apply. */
function includeFlags(): string[] {
  const resolve = createRequire(import.meta.url).resolve;
  const folders = [
    dirname(resolve('node-addon-api/package.json')),
    join(dirname(resolve('node-api-headers/package.json')), 'include'),
  ];
  return [
    ...folders.flatMap((folder) => ['-isystem', folder]),
    '-DNODE_ADDON_API_CPP_EXCEPTIONS_ALL',
    '-DNAPI_VERSION=8',
  ];
}

function filesWithEnd(end: string): string[] {
  return readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(end) && !file.startsWith('build'))
    .sort();
}

/** Changes with every source, flag and compiler version; an addon with the current fingerprint isn't rebuilt. */
function fingerprint(compiler: Compiler, sanitize: boolean): string {
  const hash = createHash('sha256').update(compiler.version).update(process.arch).update(latticeHeader());
  for (const file of [...filesWithEnd('.cpp'), ...filesWithEnd('.hpp')]) {
    hash.update(file).update(readFileSync(join(root, file)));
    // Without the clone's own folder, so that a copy of the clone has the same.
    hash.update(flagsFor(file, compiler, sanitize).join(' ').replaceAll(dirname(root), ''));
  }
  return hash.digest('hex');
}

function addonOf(sanitize: boolean): string {
  return join(root, 'build', sanitize ? 'sanitize' : 'release', 'hearth.node');
}

async function build(sanitize: boolean): Promise<string> {
  if (process.platform !== 'linux' && process.platform !== 'darwin') {
    throw new Error(`the native kernels support Linux and macOS, not ${process.platform}`);
  }
  const compiler = await findCompiler();
  const addon = addonOf(sanitize);
  const folder = dirname(addon);
  const mark = join(folder, 'fingerprint');
  const current = fingerprint(compiler, sanitize);
  if (existsSync(addon) && existsSync(mark) && readFileSync(mark, 'utf8') === current) return `${addon} is current`;

  mkdirSync(folder, { recursive: true });
  writeLatticeHeader(folder);
  // An interrupted build leaves none, rather than one of other sources, whose commands may mean something else.
  for (const path of [mark, addon]) rmSync(path, { force: true });
  const sources = filesWithEnd('.cpp');
  const objectOf = (source: string): string => join(folder, `${source.replaceAll(/[\\/]/g, '-')}.o`);
  const waiting = [...sources];
  const compileNext = async (): Promise<void> => {
    for (let source = waiting.shift(); source !== undefined; source = waiting.shift()) {
      await run(compiler.command, [
        ...flagsFor(source, compiler, sanitize),
        '-I',
        folder,
        '-c',
        join(root, source),
        '-o',
        objectOf(source),
      ]);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, compileNext));

  const link =
    process.platform === 'darwin'
      ? ['-bundle', '-undefined', 'dynamic_lookup']
      : ['-shared', '-Wl,--no-undefined-version'];
  // Replaced by a rename, since a running process may have mapped the old file.
  const fresh = temporaryPath(addon);
  await run(compiler.command, [
    ...link,
    '-pthread',
    ...(sanitize ? SANITIZE : []),
    ...sources.map(objectOf),
    '-o',
    fresh,
  ]);
  renameSync(fresh, addon);
  writeFileSync(mark, current);
  return `built ${addon}`;
}

const { values } = parseArgs({ options: { sanitize: { type: 'boolean' }, optional: { type: 'boolean' } } });
try {
  console.log(`native kernels: ${await build(values.sanitize === true)}`);
} catch (error) {
  const { stderr, message } = error as { stderr?: string; message: string };
  console.error(
    `native kernels: ${stderr === undefined || stderr === '' ? message : stderr.trim().split('\n').slice(0, 20).join('\n')}`,
  );
  // An addon built from other sources may exist; its commands could mean something else.
  rmSync(addonOf(values.sanitize === true), { force: true });
  console.error('native kernels: not built; the engine runs on its plain TypeScript kernels, which are slow');
  process.exitCode = values.optional === true ? 0 : 1;
}
