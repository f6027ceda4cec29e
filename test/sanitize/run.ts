import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { findingsOf } from './findings.ts';
import { nativeTests } from './native-tests.ts';

/**
 * Runs the tests that use the addon, with the addon built with AddressSanitizer, LeakSanitizer and
 * UndefinedBehaviorSanitizer: `tsx test/sanitize/run.ts [part of a path …]`. Reports of all processes, those of the
 * workers that tests start too, are collected; an error, or a leak of the addon, is printed and fails.
 * Threads are ThreadSanitizer's, which needs programs of its own (test/native).
 */
const TESTS = join(import.meta.dirname, '..');
const ROOT = join(TESTS, '..');
const ADDON = join(ROOT, 'native/build/sanitize/hearth.node');
/** The folders with tests that run native code; commands run the same by way of these. */
const FOLDERS = ['kernels', 'gguf', 'runtime', 'ring', 'profile'];
/**
 * Tests that mostly wait for time limits of connections, which are no native code; those of whole models and of rings that
 * run, for longer, what those of kernels, of the transformer and of the ring's weights do; the processor's probes, which
 * time what kernels' tests run, and whose speeds are another build's here; and those that start Chromium or a compiled
 * program, which don't use the addon.
 */
const LEFT_OUT = [
  ...['ring/faults', 'ring/floods', 'ring/hangs', 'ring/raw-peers', 'ring/refusals', 'ring/sequences'],
  ...['runtime/architectures', 'runtime/golden', 'runtime/random-blocks', 'profile/processor-rounds'],
  ...['kernels/webgpu/page', 'kernels/avxvnni', 'kernels/amx/amx', 'kernels/arm/neon'],
].map((name) => `${name}.test.ts`);

const wanted = process.argv.slice(2);
const found = FOLDERS.flatMap((folder) =>
  readdirSync(join(TESTS, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
)
  .filter((file) => file.endsWith('.test.ts') && wanted.every((part) => file.includes(part)))
  .filter((file) => !LEFT_OUT.includes(file) && !usesGpu(file));
const files = (await nativeTests(found.map((file) => `test/${file}`))).map((file) => file.slice('test/'.length));
if (files.length === 0) {
  console.error(`no test of ${FOLDERS.join(', ')} has ${wanted.join(' and ')} in its path`);
  process.exit(2);
}
const build = spawnSync(process.execPath, ['--import', 'tsx', join(ROOT, 'native/build.ts'), '--sanitize'], {
  stdio: 'inherit',
});
if (build.status !== 0) process.exit(1);
const runtime = execFileSync(process.env.CXX ?? 'c++', ['-print-file-name=libasan.so'], { encoding: 'utf8' }).trim();
const folder = mkdtempSync(join(tmpdir(), 'hearth-sanitize-'));
try {
  // Leaks alone leave the exit code as it is: Node.js itself frees little at its end. Errors abort.
  const options = 'abort_on_error=1:exitcode=0';
  const tests = spawnSync(process.execPath, ['--import', 'tsx', join(TESTS, 'run.ts'), ...files], {
    stdio: 'inherit',
    env: {
      ...process.env,
      HEARTH_ADDON: ADDON,
      LD_PRELOAD: runtime,
      ASAN_OPTIONS: `${options}:detect_leaks=1:symbolize=0:log_path=${join(folder, 'report')}`,
      UBSAN_OPTIONS: `${options}:print_stacktrace=1:symbolize=0`,
    },
  });
  const reports = readdirSync(folder).map((file) =>
    findingsOf(readFileSync(join(folder, file), 'utf8'), basename(ADDON)),
  );
  const errors = reports.flatMap((report) => report.errors);
  const leaks = reports.flatMap((report) => report.leaks);
  for (const found of [...errors, ...leaks]) console.error(`${found}\n`);
  const foreign = reports.reduce((sum, report) => sum + report.foreignLeaks, 0);
  console.log(`sanitizers: ${errors.length} errors, ${leaks.length} leaks of the addon (${foreign} of Node.js)`);
  if (errors.length + leaks.length > 0) console.log(`a frame’s place in the source: addr2line -Cfie ${ADDON} OFFSET`);
  process.exitCode = tests.status === 0 && errors.length + leaks.length === 0 ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Shaders, which a processor takes minutes for, are no native code of the addon. */
function usesGpu(file: string): boolean {
  return readFileSync(join(TESTS, file), 'utf8').includes('support/gpu.ts');
}
