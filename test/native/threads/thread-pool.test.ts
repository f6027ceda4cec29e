import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { testIf } from '../../support/needs.ts';

const COMPILER = process.env.CXX ?? 'c++';
const SOURCES = [join(import.meta.dirname, 'thread_pool_stress.cpp'), 'native/threads/thread_pool.cpp'];
const FLAGS = ['-std=c++20', '-O1', '-g', '-pthread', '-fsanitize=thread'];

testIf(
  spawnSync(COMPILER, ['--version']).status === 0,
  `no ${COMPILER}`,
  'a run of the thread pool ends when all its threads have left it, by ThreadSanitizer',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'hearth-'));
    const program = join(folder, 'stress');
    const compiled = spawnSync(COMPILER, [...FLAGS, ...SOURCES, '-o', program], { encoding: 'utf8' });
    assert.is(compiled.status, 0, compiled.stderr);
    const run = spawnSync(program, ['20000'], { encoding: 'utf8', timeout: 120_000 });
    assert.is(run.status, 0, run.stdout + run.stderr);
    assert.match(run.stdout, /^8 threads: 20000 runs$/m);
    rmSync(folder, { recursive: true });
  },
);

test.run();
