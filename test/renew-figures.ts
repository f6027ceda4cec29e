import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { renewTable, TABLES } from './support/tables-of-docs.ts';

/** Renews the tables of README.md and docs/ that a program prints; tests hold them. Run by `npm run renew:figures`. */
const folder = mkdtempSync(join(tmpdir(), 'hearth-figures-'));
execFileSync(process.execPath, ['--import', 'tsx', 'experiments/reproduce.ts', 'all', '--out', folder], {
  stdio: ['ignore', 'ignore', 'inherit'],
});
for (const { file, from, marker } of TABLES) {
  renewTable(file, marker, readFileSync(join(folder, from), 'utf8'));
}
rmSync(folder, { recursive: true });
execFileSync('npx', ['biome', 'format', '--write', ...TABLES.map(({ file }) => file)], { stdio: 'ignore' });
