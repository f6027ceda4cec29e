import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { testIf } from '../../support/needs.ts';
import { NATIVE_SETS } from '../native-sets.ts';
import { RELEASE, releaseObject } from '../release-object.ts';

const KERNELS = join(import.meta.dirname, '../../../native/kernels');
const AVX512 = [
  '-mavx2',
  '-mfma',
  '-mf16c',
  '-mbmi2',
  ...['f', 'bw', 'dq', 'vl', 'vnni', 'bf16'].map((x) => `-mavx512${x}`),
];
/** GCC's own headers for AVX-512 trigger a warning (GCC bug 105593). */
const COMMON = [
  '-std=c++20',
  '-ffp-contract=off',
  '-Wall',
  '-Wextra',
  '-Wno-uninitialized',
  '-Wno-maybe-uninitialized',
];
const EMULATED = ['-include', join(import.meta.dirname, 'emulated-tiles.hpp')];
const hasCompiler = spawnSync('g++', ['--version']).status === 0;

const here = (name: string): string => join(import.meta.dirname, name);

async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'hearth-amx-'));
  try {
    await body(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function compile(...args: readonly string[]): Promise<string> {
  await promisify(execFile)('g++', [...COMMON, ...AVX512, ...args]);
  return args.at(-1) as string;
}

testIf(
  NATIVE_SETS.includes('avx512bf16') && hasCompiler,
  'needs AVX-512 with BF16, and g++',
  'AMX: emulated tiles give what vectors give, those of bytes the same bits, for every format and parts of tiles',
  () =>
    inFolder(async (folder) => {
      const object = (source: string, name: string, ...flags: readonly string[]): Promise<string> =>
        compile(...flags, '-I', RELEASE, '-c', source, '-o', join(folder, name));
      const compare = (expected: string, found: string, ...flags: readonly string[]) => {
        const names = [`-DEXPECTED=${expected}`, `-DFOUND=${found}`, '-DROUNDING=byte'];
        return object(here('../compare.cpp'), `${found}.o`, '-O1', ...names, ...flags);
      };
      const [halves, bytes, ...objects] = await Promise.all([
        compare('bf16VectorsTable', 'amxTable'),
        compare('avx512Bf16Table', 'amxInt8Table', '-DSAME_BITS'),
        object(here('bf16-vectors.cpp'), 'vectors.o', '-O1'),
        object(join(KERNELS, 'amx.cpp'), 'amx.o', '-O1', ...EMULATED),
      ]);
      objects.push(releaseObject('avx512bf16.cpp'), releaseObject('avx512.cpp'));
      for (const compared of [halves, bytes] as readonly string[]) {
        const program = await compile(compared, ...objects, '-o', compared.replace('.o', ''));
        const { status, stdout, stderr } = spawnSync(program, { encoding: 'utf8' });
        assert.is(status, 0, `${stdout}${stderr}`);
      }
    }),
);

testIf(
  NATIVE_SETS.includes('avx512') && hasCompiler,
  'needs AVX-512 and g++',
  'emulated tiles round as AMX does, and refuse what a processor refuses',
  () =>
    inFolder(async (folder) => {
      const program = await compile('-O1', here('tiles.cpp'), '-o', join(folder, 'tiles'));
      const run = (...args: readonly string[]) => spawnSync(program, args, { encoding: 'utf8' });
      const { status, stdout, stderr } = run();
      assert.is(status, 0, `${stdout}${stderr}`);
      const refused = Array.from({ length: 18 }, (_, misuse) => run(`${misuse}`));
      assert.equal(
        refused.map((result) => [result.status, result.stderr.trim().replace('emulated tiles: ', '')]),
        [
          'used without a configuration',
          'unknown palette',
          'reserved bytes of a configuration are not zero',
          'more than 16 rows',
          'rows of more than 64 bytes',
          'rows of more than 64 bytes',
          'a tile of rows without bytes, or of bytes without rows',
          'a tile of rows without bytes, or of bytes without rows',
          'more than eight tiles',
          'a tile is used that is not configured',
          'a product of tiles that are not three',
          'a product of tiles that are not three',
          "the factors' depths differ",
          'sums and first factor have different rows',
          'sums and second factor have different row lengths',
          'rows of a product are no whole fours',
          'used without a configuration',
          'tiles are still configured at the end of a thread',
        ].map((sentence) => [3, sentence]),
      );
    }),
);

test.run();
