import type { SweepRow } from './sweep.ts';

/** Times within this ratio count as the same. */
export const SAME = 1.0005;

/** A row whose plan runs, by closed form and by simulation. */
export type Planned = SweepRow & {
  readonly outcome: Extract<SweepRow['outcome'], { status: 'planned' }> & { readonly simulatedSeconds: number };
};

/** The rows whose plans run, by closed form and by simulation. */
export function plannedRows(rows: readonly SweepRow[]): Planned[] {
  return rows.filter(
    (row): row is Planned => row.outcome.status === 'planned' && row.outcome.simulatedSeconds !== undefined,
  );
}

/** The time that ranks a plan, seconds: the simulated one, since simulation knows more than the closed form. */
export function rankedSeconds({ outcome }: Planned): number {
  return outcome.simulatedSeconds;
}

/** The fastest row; `optimal` is preferred among equals, then the order of the schedulers. @throws if there is none */
export function fastest(rows: readonly Planned[]): Planned {
  const best = rows.reduce((one, other) => (rankedSeconds(other) * SAME < rankedSeconds(one) ? other : one));
  return rows.find((row) => row.scheduler === 'optimal' && rankedSeconds(row) < SAME * rankedSeconds(best)) ?? best;
}

/** Labels of the models in a sweep, in its order. */
export function modelsOf(rows: readonly SweepRow[]): string[] {
  return [...new Set(rows.map(({ model }) => model.label))];
}
