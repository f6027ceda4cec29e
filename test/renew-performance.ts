import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { performanceTable, RECORDED } from './bench/engine/performance-table.ts';
import { renewTable } from './support/tables-of-docs.ts';

/**
 * Renews the table of docs/performance.md from the recorded run, which a test holds. With options it first runs
 * `npm run bench:engine` with them and records that. Run by `npm run renew:performance -- [options]`.
 */
const FILE = 'docs/performance.md';
const options = process.argv.slice(2);
if (options.length > 0) {
  const run = ['--import', 'tsx', 'test/bench/engine/run.ts', ...options, '--json', '--out', RECORDED];
  execFileSync(process.execPath, run, { stdio: 'inherit' });
}
renewTable(FILE, 'measured', performanceTable(JSON.parse(readFileSync(RECORDED, 'utf8'))));
execFileSync('npx', ['biome', 'format', '--write', FILE], { stdio: 'ignore' });
