import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { frontPageResults } from './support/front-page.ts';
import { renewTable, TABLES } from './support/tables-of-docs.ts';

/** Renews the results and tables of README.md and docs/ that a program prints; tests hold them. Run by `npm run renew:figures`. */
const folder = mkdtempSync(join(tmpdir(), 'hearth-figures-'));
execFileSync(process.execPath, ['--import', 'tsx', 'experiments/reproduce.ts', 'all', '--out', folder], {
  stdio: ['ignore', 'ignore', 'inherit'],
});
for (const { file, from, marker, shown } of TABLES) {
  const printed = readFileSync(join(folder, from), 'utf8');
  renewTable(file, marker, shown?.(printed) ?? printed);
}
// The results on the front page are of records and of the tables above.
renewTable('README.md', 'results', `${frontPageResults().join('\n')}\n`);
rmSync(folder, { recursive: true });
execFileSync('npx', ['biome', 'format', '--write', ...TABLES.map(({ file }) => file)], { stdio: 'ignore' });
