import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { reportError } from '../engine/terminal/report-error.ts';
import { parseGpuResults } from './bench/gpu-kit/results.ts';
import { gpuTables, recordedFile, recordedRuns } from './bench/gpu-kit/tables.ts';
import { renewTable } from './support/tables-of-docs.ts';

/**
 * Records a run of the bench in a box, which a test holds docs/measurements/gpu.md to, and renews its tables:
 * `npm run renew:gpu -- results.json`. Without a file it renews the tables from what is recorded.
 */
const PAGE = 'docs/measurements/gpu.md';
try {
  const [file] = process.argv.slice(2);
  const written: string[] = [PAGE];
  if (file !== undefined) {
    const results = parseGpuResults(readFileSync(file, 'utf8'), file);
    const recorded = recordedFile(results);
    writeFileSync(recorded, `${JSON.stringify(results, null, 1)}\n`);
    written.push(recorded);
  }
  renewTable(PAGE, 'gpu', gpuTables(recordedRuns()));
  execFileSync('npx', ['biome', 'format', '--write', ...written], { stdio: 'ignore' });
  process.stdout.write(`${written.join('\n')}\n`);
} catch (error) {
  process.exitCode = reportError(error, 'renew:gpu');
}
