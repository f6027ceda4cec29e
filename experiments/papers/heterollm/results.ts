import { toCsv } from '../../lib/csv.ts';
import type { SocComparison } from './comparisons.ts';
import type { HeterollmReproduction } from './compute.ts';

/** cells.json: every figure, where the paper contradicts itself, and where inputs come from. */
export function heterollmJson({ comparisons, conflicts, loaded }: HeterollmReproduction): string {
  const all = {
    experiment: 'reproduce',
    paper: 'heterollm',
    cells: comparisons.map(rowOf),
    contradictions: conflicts,
    provenance: loaded.statements,
  };
  return `${JSON.stringify(all, null, 2)}\n`;
}

/** cells.csv: a row per figure. */
export function heterollmCsv({ comparisons }: HeterollmReproduction): string {
  const rows = comparisons.map(rowOf);
  return toCsv(
    Object.keys(rows[0] ?? {}),
    rows.map((row) => Object.values(row)),
  );
}

function rowOf({ rule, cell, group: _, ...found }: SocComparison) {
  return {
    table: cell.table,
    row: cell.row,
    column: cell.column,
    model: cell.model,
    system: cell.system,
    unit: rule.unit,
    ...found,
    target: rule.target,
  };
}
