import { STATEMENT_KINDS, type Statement, type StatementKind } from '../../datasets/statements.ts';
import { enumerate, formatPercent } from '../../engine/terminal/format.ts';
import type { TableBlock } from './report.ts';

const VERBS: Readonly<Record<StatementKind, string>> = {
  published: 'published by the paper',
  specification: 'from specifications',
  measured: 'measured here',
  calibrated: 'calibrated',
  assumed: 'assumed',
  unstated: 'without a stated source',
};

/** Counts the quantities that describe a cluster by the kind of their source. */
export function provenanceSentence(cluster: string, statements: readonly Statement[]): string {
  const counts = STATEMENT_KINDS.map((kind) => ({ kind, count: statements.filter((one) => one.kind === kind).length }));
  const parts = counts.filter(({ count }) => count > 0).map(({ kind, count }) => `${count} ${VERBS[kind]}`);
  return `${cluster} is described by ${statements.length} quantities: ${enumerate(parts)}.`;
}

/** All of them, folded: as the file states them, what is taken, and where each comes from. */
export function statementsTable(cluster: string, statements: readonly Statement[]): TableBlock {
  return {
    kind: 'table',
    fold: `The ${statements.length} quantities of ${cluster}, and where each comes from`,
    columns: [
      { title: 'quantity', label: true },
      { title: 'as stated', align: 'right' },
      { title: 'taken', align: 'right' },
      { title: 'source' },
      { title: 'where from' },
    ],
    rows: statements.map(({ place, value, efficiency, kind, source }) => [
      place,
      value,
      efficiency === 1 ? '' : formatPercent(efficiency),
      kind,
      source,
    ]),
  };
}
