import type { ReproducedCell, SummaryRow } from './comparison.ts';
import type { PrimaReproduction } from './prima/compute.ts';
import { metricOf } from './prima/quantities.ts';
import type { Comparison } from './prima/rules.ts';
import { isMet, type Summary } from './prima/summaries.ts';
import { METRIC_NAMES, systemName } from './text.ts';

/** prima.cpp's columns about which something is claimed, one line per policy. */
export function primaRows({ summaries, comparisons }: PrimaReproduction): SummaryRow[] {
  const isClaimed = ({ system, policy }: Summary): boolean =>
    comparisons.some(
      (one) => one.cell.system === system && one.policy?.name === policy && one.policy?.claimed === true,
    );
  const hasErrors = ({ heldOut }: Summary): boolean =>
    heldOut.predicted !== undefined || heldOut.simulated !== undefined;
  return summaries.filter((one) => isClaimed(one) && hasErrors(one)).map(primaRow);
}

function primaRow(summary: Summary): SummaryRow {
  const { table, system, metric, policy, answer = 'predicted', target, heldOut, fit, outcomes, models } = summary;
  // What has no closed form is simulated alone.
  const shown = heldOut[answer] === undefined ? (answer === 'predicted' ? 'simulated' : 'predicted') : answer;
  const accuracy = heldOut[shown];
  const scope = models.length === 1 ? `, ${models[0]}` : '';
  return {
    paper: 'prima',
    table,
    what: `${systemName(system)}, ${METRIC_NAMES[metric]}${scope}, under "${policy}"`,
    heldOut: accuracy?.cells ?? 0,
    fit: (fit.predicted ?? fit.simulated)?.cells ?? 0,
    median: accuracy?.median,
    worst: accuracy?.worst,
    answer: shown,
    agreeing: undefined,
    target: target?.limit,
    met: isMet(summary),
    note: outcomes.cells === 0 ? '' : `OOM: ${outcomes.agree} of ${outcomes.cells} agree`,
    points: metric === 'memory-pressure',
  };
}

/** Every cell under every policy that is modelled; what isn't is left out. */
export function primaCells({ comparisons }: PrimaReproduction): ReproducedCell[] {
  return comparisons.flatMap((one) => (one.policy === undefined ? [] : [primaCell(one)]));
}

function primaCell(one: Comparison): ReproducedCell {
  const { cell, policy, published, predicted, simulated, predictedError, simulatedError, target } = one;
  const isShare = metricOf(cell) === 'memory-pressure';
  const printed = typeof cell.value === 'number' ? cell.value : undefined;
  return {
    paper: 'prima',
    table: cell.table,
    row: cell.row,
    column: cell.column,
    policy: policy?.name ?? '',
    unit: isShare ? 'share' : 's',
    published,
    predicted,
    simulated,
    predictedError,
    simulatedError,
    noise: cell.noise === undefined || printed === undefined ? undefined : cell.noise / (isShare ? 100 : printed),
    use: cell.use === 'fit' ? 'fit' : 'held-out',
    target: target?.limit,
  };
}
