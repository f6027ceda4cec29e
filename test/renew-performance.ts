import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { performanceTable, RECORDED } from './bench/engine/performance-table.ts';
import { renewTable } from './support/tables-of-docs.ts';

/**
 * Renews a table of docs/measurements/performance.md from its recorded run, which a test holds. With options it first runs
 * `npm run bench:engine` with them and records that. Run by `npm run renew:performance -- NAME [options]`.
 */
const FILE = 'docs/measurements/performance.md';
const [name, ...options] = process.argv.slice(2);
if (name === undefined || name.startsWith('-')) {
  process.stderr.write(`renew:performance: give the name of a table of ${FILE} (two-threads, for example) first\n`);
  process.exit(2);
}
const recorded = join(RECORDED, `${name}.json`);
if (options.length > 0) {
  const run = ['--import', 'tsx', 'test/bench/engine/run.ts', ...options, '--json', '--out', recorded];
  execFileSync(process.execPath, run, { stdio: 'inherit' });
}
renewTable(FILE, name, performanceTable(JSON.parse(readFileSync(recorded, 'utf8'))));
execFileSync('npx', ['biome', 'format', '--write', FILE, recorded], { stdio: 'ignore' });
