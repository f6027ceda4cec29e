import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TABLES } from './support/tables-of-docs.ts';

/** Renews the tables of README.md and docs/ that a program prints; tests hold them. Run by `npm run renew:figures`. */
const folder = mkdtempSync(join(tmpdir(), 'hearth-figures-'));
execFileSync(process.execPath, ['--import', 'tsx', 'experiments/reproduce.ts', 'all', '--out', folder], {
  stdio: ['ignore', 'ignore', 'inherit'],
});
for (const { file, from, marker } of TABLES) {
  const text = readFileSync(file, 'utf8');
  const [begin, end] = [`<!-- ${marker} -->\n`, `\n<!-- end of ${marker} -->`];
  const [start, stop] = [text.indexOf(begin), text.indexOf(end)];
  if (start < 0 || stop < start) throw new Error(`${file} has no ${begin.trim()} … ${end.trim()}`);
  const table = readFileSync(join(folder, from), 'utf8');
  writeFileSync(file, `${text.slice(0, start + begin.length)}\n${table}${text.slice(stop)}`);
}
rmSync(folder, { recursive: true });
execFileSync('npx', ['biome', 'format', '--write', ...TABLES.map(({ file }) => file)], { stdio: 'ignore' });
