import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { testIf } from '../../support/needs.ts';

const COMPILER = process.env.CXX ?? 'c++';
const FLAGS = ['-std=c++20', '-O1', '-pthread', '-Wall', '-Wextra'];

testIf(
  spawnSync(COMPILER, ['--version']).status === 0,
  `needs a C++ compiler (${COMPILER})`,
  'the job thread keeps its order, reports errors and cancellation, and calls back',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'hearth-job-thread-'));
    try {
      const program = join(folder, 'job-thread');
      const sources = [
        join(import.meta.dirname, 'job-thread.cpp'),
        join(import.meta.dirname, '../../../native/threads/job_thread.cpp'),
      ];
      execFileSync(COMPILER, [...FLAGS, ...sources, '-o', program]);
      const { status, stdout, stderr } = spawnSync(program, { encoding: 'utf8', timeout: 60_000 });
      assert.is(status, 0, `${stdout}${stderr}`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

test.run();
