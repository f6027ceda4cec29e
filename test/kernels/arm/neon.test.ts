import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { writeLatticeHeader } from '../../../native/lattice-header.ts';
import { testIf } from '../../support/needs.ts';

const COMPILER = 'aarch64-linux-gnu-g++';
const EMULATOR = 'qemu-aarch64';
const KERNELS = join(import.meta.dirname, '../../../native/kernels');
const FLAGS = [
  '-std=c++20',
  '-O2',
  '-static',
  '-march=armv8.2-a+dotprod+fp16',
  '-ffp-contract=off',
  '-Wall',
  '-Wextra',
  '-DEXPECTED=scalarTable',
  '-DFOUND=neonTable',
  '-DROUNDING=word',
];

const runs = (command: string): boolean => spawnSync(command, ['--version']).status === 0;

testIf(
  runs(COMPILER) && runs(EMULATOR),
  `needs ${COMPILER} and ${EMULATOR} (Debian: g++-aarch64-linux-gnu, qemu-user)`,
  'NEON kernels, emulated, give what scalar ones give, for every format, one token and many at once',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'hearth-neon-'));
    try {
      const program = join(folder, 'compare');
      const sources = [
        join(import.meta.dirname, '../compare.cpp'),
        join(KERNELS, 'neon.cpp'),
        join(KERNELS, 'scalar.cpp'),
      ];
      writeLatticeHeader(folder);
      execFileSync(COMPILER, [...FLAGS, '-I', folder, ...sources, '-o', program]);
      const { status, stdout, stderr } = spawnSync(EMULATOR, ['-cpu', 'max', program], { encoding: 'utf8' });
      assert.is(status, 0, `${stdout}${stderr}`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

test.run();
