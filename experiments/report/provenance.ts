import type { LoadedCluster } from '../../datasets/load.ts';
import { STATEMENT_KINDS, type Statement, type StatementKind } from '../../datasets/statements.ts';
import { enumerate } from '../../engine/input/format.ts';
import { type Column, tableBlock } from './columns.ts';
import type { Section, TableBlock } from './page/page.ts';

const VERBS: Readonly<Record<StatementKind, string>> = {
  published: 'published by the paper',
  specification: 'from specifications',
  derived: 'derived by a stated rule',
  measured: 'measured here',
  calibrated: 'calibrated',
  assumed: 'assumed',
  unstated: 'without a stated source',
};

/** Number of quantities that describe a cluster, by the kind of their source. */
export function provenanceSentence(cluster: string, statements: readonly Statement[]): string {
  const counts = STATEMENT_KINDS.map((kind) => ({ kind, count: statements.filter((one) => one.kind === kind).length }));
  const parts = counts.filter(({ count }) => count > 0).map(({ kind, count }) => `${count} ${VERBS[kind]}`);
  return `${cluster} is described by ${statements.length} quantities: ${enumerate(parts)}.`;
}

const COLUMNS: readonly Column<Statement>[] = [
  { title: 'quantity', value: ({ place }) => place, label: true },
  { title: 'as stated', value: ({ value }) => value, align: 'right' },
  { title: 'taken', value: ({ efficiency }) => (efficiency === 1 ? undefined : efficiency), unit: 'share' },
  { title: 'source', value: ({ kind }) => kind },
  { title: 'where from', value: ({ source }) => source },
];

/** All quantities in a folded table: as the file states them, the share that is used, and their sources. */
export function statementsTable(cluster: string, statements: readonly Statement[]): TableBlock {
  const fold = `The ${statements.length} quantities of ${cluster}, and where each comes from`;
  return tableBlock({ columns: COLUMNS, rows: statements }, { fold });
}

/** The last section of a page: the quantities of the clusters and their sources. */
export function provenanceSection(clusters: readonly LoadedCluster[]): Section {
  return {
    title: 'What this rests on',
    blocks: clusters.flatMap(({ cluster: { name }, statements }) => [
      { kind: 'text', text: provenanceSentence(name, statements) },
      statementsTable(name, statements),
    ]),
  };
}
