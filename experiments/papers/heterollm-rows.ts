import { accuracyOf } from './accuracy.ts';
import type { ReproducedCell, SummaryRow } from './comparison.ts';
import type { SocComparison } from './heterollm/comparisons.ts';
import type { HeterollmReproduction } from './heterollm/compute.ts';

/** HeteroLLM's figures by section: those with a target, those without, and shares of a time, whose errors are points. */
export function heterollmRows({ comparisons }: HeterollmReproduction): SummaryRow[] {
  const groups = [...new Set(comparisons.map(({ group }) => group))];
  return groups.flatMap((group) => {
    const own = comparisons.filter((one) => one.group === group);
    const kinds = new Map<string, SocComparison[]>();
    for (const one of own) {
      const { target, unit } = one.rule;
      const kind = `${target ?? ''} ${unit === 'share'}`;
      kinds.set(kind, [...(kinds.get(kind) ?? []), one]);
    }
    return [...kinds.values()].map((cells) => heterollmRow(group.title, cells));
  });
}

function heterollmRow(title: string, cells: readonly SocComparison[]): SummaryRow {
  const [, what = title, table = ''] = /^(.*) \((.*)\)$/.exec(title) ?? [];
  const held = cells.filter(({ isFitted }) => !isFitted);
  const accuracy = accuracyOf(held.map(({ predictedError }) => predictedError));
  const { target, unit } = cells[0]?.rule ?? {};
  return {
    paper: 'heterollm',
    table,
    what: `${what}${unit === 'share' ? ', shares' : ''}`,
    heldOut: held.length,
    fit: cells.length - held.length,
    median: accuracy?.median,
    worst: accuracy?.worst,
    answer: 'predicted',
    agreeing: undefined,
    target,
    met: target === undefined || accuracy === undefined ? undefined : Math.abs(accuracy.worst) <= target,
    note: '',
    points: unit === 'share',
  };
}

/** HeteroLLM's figures as all papers' cells are. */
export function heterollmCells({ comparisons }: HeterollmReproduction): ReproducedCell[] {
  return comparisons.map(({ rule, cell, published, predicted, simulated, ...one }) => ({
    paper: 'heterollm',
    table: cell.table,
    row: cell.row,
    column: cell.column,
    policy: '',
    unit: rule.unit === '%' ? 'x' : rule.unit,
    published,
    predicted,
    simulated,
    predictedError: one.predictedError,
    simulatedError: one.simulatedError,
    noise: Math.abs(one.noise),
    use: one.isFitted ? 'fit' : 'held-out',
    target: rule.target,
  }));
}
