import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testIf } from '../support/needs.ts';

const COMPILER = process.env.CXX ?? 'c++';
/**
 * Node.js itself isn't instrumented, so that ThreadSanitizer can only judge programs of their own. Undefined behaviour
 * is looked for without the check of virtual tables: it opens pipes to see whether an address can be read, and
 * ThreadSanitizer takes two threads' pipes that get the same number one after the other for a race.
 */
const FLAGS = [
  ...['-std=c++20', '-O1', '-g', '-pthread', '-fsanitize=thread,undefined', '-fno-sanitize=vptr'],
  '-fno-sanitize-recover=all',
];

export interface StressTest {
  readonly name: string;
  /** The program, in test/native, and the sources of native/ that it exercises. */
  readonly program: string;
  readonly sources: readonly string[];
  readonly options?: readonly string[];
  /** Its output on the way to exit code 0. */
  readonly check: (run: { readonly status: number | null; readonly printed: string }) => void;
}

const MOST_MILLISECONDS = 240_000;

/** Compiles a program with sources of the addon under ThreadSanitizer and UndefinedBehaviorSanitizer, and runs it. */
export function stressTest({ name, program, sources, options = [], check }: StressTest): void {
  testIf(spawnSync(COMPILER, ['--version']).status === 0, `no ${COMPILER}`, name, () => {
    const folder = mkdtempSync(join(tmpdir(), 'hearth-stress-'));
    try {
      const built = join(folder, 'stress');
      const files = [join(import.meta.dirname, program), ...sources.map((file) => join('native', file))];
      const compiled = spawnSync(COMPILER, [...FLAGS, ...files, '-o', built], { encoding: 'utf8' });
      if (compiled.status !== 0) throw new Error(compiled.stderr);
      const environment = { ...process.env, TSAN_OPTIONS: 'halt_on_error=1', HEARTH_STRESS_FOLDER: folder };
      const run = spawnSync(built, options, { encoding: 'utf8', timeout: MOST_MILLISECONDS, env: environment });
      check({ status: run.status, printed: `${run.stdout}${run.stderr}` });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
