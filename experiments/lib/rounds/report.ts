import type { Statement } from '../../../datasets/statements.ts';
import { formatBytes, formatPercent, formatSeconds } from '../../../engine/terminal/format.ts';
import { formatTable } from '../../../engine/terminal/table.ts';
import { colour, type Figure, lineChart } from '../chart.ts';
import { toCsv } from '../csv.ts';
import { provenanceSentence, statementsTable } from '../provenance.ts';
import type { Report, Section } from '../report.ts';
import { bestGain, POLICIES, type Reclaim, type RoundsRow } from './rounds.ts';

/** Rounds in the order of the columns. */
function roundsOf(rows: readonly RoundsRow[]): number[] {
  return [...new Set(rows.map(({ rounds }) => rounds))].sort((a, b) => a - b);
}

function modelsOf(rows: readonly RoundsRow[]): string[] {
  return [...new Set(rows.map(({ model }) => model))];
}

/** A line per model and policy, a cell per k. */
function cellsOf(rows: readonly RoundsRow[], columns: readonly number[]): string[][] {
  return modelsOf(rows).flatMap((model) =>
    POLICIES.map(({ name }) => {
      const own = rows.filter((row) => row.model === model && row.policy === name);
      const cell = (rounds: number): string => {
        const row = own.find((one) => one.rounds === rounds);
        if (row === undefined) return '';
        return row.seconds === undefined ? 'OOM' : formatSeconds(row.seconds);
      };
      const last = own.findLast(({ seconds }) => seconds !== undefined);
      return [model, name, ...columns.map(cell), last === undefined ? '' : formatBytes(last.readBytes)];
    }),
  );
}

/** For the terminal: the rows of one reclaim policy. */
export function roundsTable(rows: readonly RoundsRow[]): string {
  const columns = roundsOf(rows);
  return formatTable(
    [
      { title: 'model' },
      { title: 'policy' },
      ...columns.map((k) => ({ title: `k = ${k}`, align: 'right' as const })),
      { title: 'read again per token\nat the largest k', align: 'right' },
    ],
    cellsOf(rows, columns),
  );
}

/** What more rounds change under one reclaim policy, by weights policy. */
export function findingsOf(rows: readonly RoundsRow[], reclaim: Reclaim): string {
  const parts = POLICIES.flatMap(({ name }) => {
    const gains = modelsOf(rows).flatMap((model) => {
      const gain = bestGain(rows, model, name, reclaim);
      return gain === undefined ? [] : [{ model, ...gain }];
    });
    const helped = gains.filter(({ ratio }) => ratio < 0.95);
    if (gains.length === 0) return [];
    if (helped.length === 0) return [`${name}: more rounds help no model`];
    const list = helped.map(({ model, rounds, ratio }) => `${model} −${formatPercent(1 - ratio)} at k = ${rounds}`);
    return [`${name}: ${list.join(', ')}`];
  });
  return `Under reclaim ${reclaim}, against one round, ${parts.join('; ')}. The paper reports about −50 % for models above 60B from k = 2 on.`;
}

export interface RoundsReport {
  readonly rows: readonly RoundsRow[];
  readonly reclaims: readonly Reclaim[];
  readonly subtitle: string;
  readonly findings: string;
  readonly cluster: string;
  readonly statements: readonly Statement[];
}

export function roundsReport({ rows, reclaims, subtitle, findings, cluster, statements }: RoundsReport): Report {
  const variants = reclaims.flatMap((reclaim) =>
    POLICIES.map(({ name }) => ({ label: `${name}; reclaim ${reclaim}`, figure: figureOf(rows, name, reclaim) })),
  );
  // Prefetching as prima.cpp does it comes first.
  const preferred = [...variants.slice(1, 2), ...variants.slice(0, 1), ...variants.slice(2)];
  return {
    title: 'What rounds do for a ring that does not fit',
    subtitle,
    summary: findings,
    sections: [
      {
        title: 'TPOT against rounds',
        blocks: [
          {
            kind: 'chart',
            title: 'Simulated time per output token',
            note: 'Models that fit in memory stay flat but for the hops; for the others the fall shows what prefetching hides once a window fits.',
            variants: preferred,
            choose: 'Weights policy, and how the OS reclaims',
          },
        ],
      },
      ...reclaims.map((reclaim) => tableSection(rows, reclaim)),
      {
        title: 'What this rests on',
        blocks: [{ kind: 'text', text: provenanceSentence(cluster, statements) }, statementsTable(cluster, statements)],
      },
    ],
  };
}

function figureOf(rows: readonly RoundsRow[], policy: string, reclaim: Reclaim): Figure {
  return lineChart({
    x: { title: 'rounds k', categories: roundsOf(rows).map(String) },
    y: { title: 'TPOT (s per token, log scale)', scale: 'log' },
    series: modelsOf(rows).map((model, index) => {
      const own = rows.filter(
        (row) => row.model === model && row.policy === policy && row.reclaim === reclaim && row.seconds !== undefined,
      );
      return {
        name: model,
        colour: colour(index),
        x: own.map(({ rounds }) => String(rounds)),
        y: own.map(({ seconds }) => seconds ?? null),
      };
    }),
  });
}

function tableSection(rows: readonly RoundsRow[], reclaim: Reclaim): Section {
  const own = rows.filter((row) => row.reclaim === reclaim);
  const columns = roundsOf(own);
  return {
    title: `Reclaim ${reclaim}`,
    blocks: [
      {
        kind: 'table',
        columns: [
          { title: 'model' },
          { title: 'policy' },
          ...columns.map((k) => ({ title: `k = ${k}`, align: 'right' as const })),
          { title: 'read again per token at the largest k', align: 'right' },
        ],
        rows: cellsOf(own, columns),
        groups: true,
      },
    ],
  };
}

export function roundsCsv(rows: readonly RoundsRow[]): string {
  return toCsv(
    ['model', 'policy', 'reclaim', 'rounds', 'tpot_s', 'reread_bytes_per_token', 'reason'],
    rows.map(({ model, policy, reclaim, rounds, seconds, readBytes, reason }) => [
      model,
      policy,
      reclaim,
      rounds,
      seconds,
      readBytes,
      reason,
    ]),
  );
}
