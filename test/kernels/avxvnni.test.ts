import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { testIf } from '../support/needs.ts';
import { NATIVE_SETS } from './native-sets.ts';
import { RELEASE, releaseObject } from './release-object.ts';

const KERNELS = join(import.meta.dirname, '../../native/kernels');
const AVX2 = ['-mavx2', '-mfma', '-mf16c', '-mbmi2'];
/** The instruction of AVX-VNNI as AVX-512 encodes it; GCC's own headers trigger a warning (GCC bug 105593). */
const VNNI = ['-mavx512f', '-mavx512vl', '-mavx512vnni', '-DHEARTH_VNNI_BY_AVX512', '-Wno-maybe-uninitialized'];
const COMMON = ['-std=c++20', '-O1', '-ffp-contract=off', '-Wall', '-Wextra'];
const COMPARED = ['-DEXPECTED=avx2Table', '-DFOUND=avxVnniTable', '-DROUNDING=byte'];

testIf(
  NATIVE_SETS.includes('avx512') && spawnSync('g++', ['--version']).status === 0,
  'needs AVX-512 with VNNI, and g++',
  'AVX-VNNI kernels, compiled for AVX-512, give what those of AVX2 give, for every format',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'hearth-vnni-'));
    try {
      const compile = async (source: string, flags: readonly string[], object: string): Promise<string> => {
        const out = join(folder, object);
        await promisify(execFile)('g++', [...COMMON, ...flags, '-I', RELEASE, '-c', source, '-o', out]);
        return out;
      };
      const objects = await Promise.all([
        compile(join(import.meta.dirname, 'compare.cpp'), COMPARED, 'compare.o'),
        compile(join(KERNELS, 'avxvnni.cpp'), [...AVX2, ...VNNI], 'avxvnni.o'),
      ]);
      const program = join(folder, 'compare');
      await promisify(execFile)('g++', [...objects, releaseObject('avx2.cpp'), '-o', program]);
      const { status, stdout, stderr } = spawnSync(program, { encoding: 'utf8' });
      assert.is(status, 0, `${stdout}${stderr}`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

test.run();
