import { findPublished, type PublishedCell } from '../../datasets/published.ts';

/** The thesis's figures for a model on a machine. */
export interface PublishedConfiguration {
  readonly split: { readonly cpuUnits: number; readonly gpuUnits: number } | undefined;
  /** Table 6.5, and 1 / throughput of Table 6.1. */
  readonly latencies: readonly PublishedLatency[];
  /** Table 6.1 prints ×: HELM doesn't run here. */
  readonly failed: boolean;
  /** "Pred." of Table 6.5, seconds. */
  readonly predictedSeconds: number | undefined;
  /** δ̄ was calibrated on this configuration. */
  readonly fit: boolean;
}

export interface PublishedLatency {
  readonly table: string;
  readonly seconds: number;
  /** Half-width below which no model can be asked to agree, seconds. */
  readonly noiseSeconds: number;
}

/** Looks up what HELM reports of a model on a machine. */
export function publishedConfiguration(
  cells: readonly PublishedCell[],
  cluster: string,
  model: string,
): PublishedConfiguration {
  const find = (metric: string, table: string): PublishedCell | undefined =>
    findPublished(cells, { cluster, model, system: 'helm', metric }).find((cell) => cell.table === table);
  const splits = findPublished(cells, { cluster, model, system: 'helm', metric: 'split' });
  const units = (side: string): number | undefined => {
    const value = splits.find((cell) => cell.column === `Plan ${side} units`)?.value;
    return typeof value === 'number' ? value : undefined;
  };
  const gpuUnits = units('GPU');
  const measured = find('tpot', 'Table 6.5');
  const throughput = find('throughput', 'Table 6.1');
  const latencies = [measured, throughput].flatMap((cell) => (cell ? latencyOf(cell) : []));
  const predicted = find('predicted-tpot', 'Table 6.5')?.value;
  return {
    split: gpuUnits === undefined ? undefined : { cpuUnits: units('CPU') ?? 0, gpuUnits },
    latencies,
    failed: throughput?.value === 'failed',
    predictedSeconds: typeof predicted === 'number' ? predicted / 1000 : undefined,
    fit: measured?.use === 'fit',
  };
}

/** Latencies in ms unchanged; tok/s inverted, with half the width of the inverted interval as noise. */
function latencyOf({ table, value, unit, noise = 0 }: PublishedCell): PublishedLatency[] {
  if (typeof value !== 'number') return [];
  if (unit === 'ms') return [{ table, seconds: value / 1000, noiseSeconds: noise / 1000 }];
  return [{ table, seconds: 1 / value, noiseSeconds: (1 / (value - noise) - 1 / (value + noise)) / 2 }];
}

/** A known problem of a published cell. */
export interface Remark {
  readonly machine: string;
  /** '' if it concerns the machine's δ̄. */
  readonly label: string;
  readonly place: string;
  readonly note: string;
}

/** The remarks on what Tables 6.1 and 6.5 print about the configurations, and on the δ̄ of their machines (6.4.4). */
export function publishedRemarks(
  configurations: readonly { readonly machine: string; readonly label: string }[],
  cells: readonly PublishedCell[],
): Remark[] {
  const noted = cells.filter(
    ({ note, system, metric }) => note !== '' && system === 'helm' && metric !== 'ttft' && metric !== 'split',
  );
  const remarks = (machine: string, label: string, tables: readonly string[], model: string): Remark[] =>
    noted
      .filter((cell) => cell.cluster === machine && cell.model === model && tables.includes(cell.table))
      .map(({ table, column, row, note }) => ({
        machine,
        label,
        place: `${table}, ${label === '' ? row : column}`,
        note,
      }));
  const machines = [...new Set(configurations.map(({ machine }) => machine))];
  return machines.flatMap((machine) => [
    ...remarks(machine, '', ['§6.4.4'], ''),
    ...configurations
      .filter((one) => one.machine === machine)
      .flatMap(({ label }) => remarks(machine, label, ['Table 6.1', 'Table 6.5'], label))
      .filter(({ label, note }, at, all) => all.findIndex((one) => one.label === label && one.note === note) === at),
  ]);
}

/** The largest error that the thesis states for its predictions (6.4.4), a share. */
export function claimedError(cells: readonly PublishedCell[]): number | undefined {
  const cell = findPublished(cells, { system: 'helm', metric: 'prediction-error' }).find(
    ({ table }) => table === '§6.4.4',
  );
  return typeof cell?.value === 'number' ? cell.value / 100 : undefined;
}
