import { publishedSystem } from '../../datasets/published-systems.ts';
import { CAUSES, type Cause } from '../../engine/cost/breakdown.ts';
import { formatBytes, formatSeconds } from '../../engine/input/format.ts';
import { planShares } from '../../engine/plan/plan.ts';
import { layersText } from '../../engine/plan/plan-text.ts';
import { SCHEDULER_NAMES } from '../../engine/schedule/registry.ts';
import { barChart, type Figure, type LineSeries, lineChart, type MarkSymbol } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { markOf } from '../report/charts/scheduler-marks.ts';
import { CAUSE_NAMES } from './findings.ts';
import { SUBSET_SCHEDULERS, type SubsetRow } from './subsets.ts';
import { INFORMED, type SweepRow } from './sweep.ts';

const CAUSE_COLOURS: Readonly<Record<Cause, string>> = {
  compute: colour(0),
  memory: colour(5),
  kvCopy: colour(3),
  deviceCopy: colour(4),
  disk: colour(1),
  link: colour(2),
  overhead: colour(7),
};

/** The schedulers that represent each published system; the first one present gives it its colour. */
const SYSTEM_SCHEDULERS = [
  'halda',
  'optimal',
  'memory-ratio',
  'single-device',
  'cpu-gpu-split',
  'exo',
  'dllama',
  'zero-inference',
  'accelerate',
] as const;

/** The answer that a chart shows. */
export type Answer = 'simulated' | 'predicted';

/** TPOT by model size on a log axis: an answer solid, published values dashed and hollow (prima.cpp Fig. 7). */
export function tpotChart(rows: readonly SweepRow[], models: readonly string[], answer: Answer): Figure {
  const ours = schedulersOf(rows).map((scheduler): LineSeries => {
    const own = models.map((model) => rows.find((row) => row.scheduler === scheduler && row.model.label === model));
    const mark = markOf(scheduler);
    return {
      name: scheduler,
      x: models,
      y: own.map((row) => milliseconds(tpotOf(row, answer))),
      colour: mark.colour,
      symbol: mark.symbol,
      width: scheduler === 'optimal' ? 4 : 2,
      symbolSize: scheduler === 'optimal' ? 11 : 8,
      hover: own.map((row) => planHover(row)),
    };
  });
  const series = [...ours, ...publishedSeries(rows, models)];
  return lineChart({
    x: { title: 'model, by bytes of weights', categories: models },
    y: { title: 'TPOT (ms per token, log scale)', scale: 'log' },
    series,
    height: Math.max(520, 110 + 20 * series.length), // so high as its legend
  });
}

function publishedSeries(rows: readonly SweepRow[], models: readonly string[]): LineSeries[] {
  const drawn = new Set<string>();
  return SYSTEM_SCHEDULERS.flatMap((scheduler) => {
    const system = publishedSystem(scheduler) ?? '';
    const cells = models.map(
      (model) => rows.find((row) => row.scheduler === scheduler && row.model.label === model)?.published,
    );
    if (drawn.has(system) || cells.every((cell) => cell?.seconds === undefined)) return [];
    drawn.add(system);
    const mark = markOf(scheduler);
    return [
      {
        name: `${system} (published)`,
        x: models,
        y: cells.map((cell) => milliseconds(cell?.seconds)),
        colour: mark.colour,
        symbol: `${mark.symbol}-open` as MarkSymbol,
        dash: 'dash' as const,
        width: 1.5,
        symbolSize: 10,
        hover: cells.map((cell) =>
          cell?.seconds === undefined ? '' : `${formatSeconds(cell.seconds)}, ${cell.cell.table}`,
        ),
      },
    ];
  });
}

/** Bytes of layers by device and processor, one bar per model (as prima.cpp Fig. 9d shows memory). */
export function layerBytesChart(
  rows: readonly SweepRow[],
  models: readonly string[],
  devices: readonly string[],
): Figure {
  const shares = models.map((label) => {
    const { outcome, model } = rows.find((row) => row.model.label === label) ?? {};
    if (model === undefined || (outcome?.status !== 'planned' && outcome?.status !== 'unrunnable')) return undefined;
    return { byDevice: planShares(outcome.plan), layerBytes: model.model.layer.bytes };
  });
  const parts = devices.flatMap((device, index) =>
    (['gpu', 'cpu'] as const).map((processor) => {
      const layers = shares.map((share) => {
        const own = share?.byDevice.find((candidate) => candidate.device === device);
        return own === undefined ? 0 : processor === 'gpu' ? own.gpuLayers : own.cpuLayers;
      });
      const bytes = layers.map((count, at) => count * (shares[at]?.layerBytes ?? 0));
      const hatched = processor === 'cpu';
      const values = bytes.map((own) => own / 2 ** 30);
      const hover = bytes.map((own, at) => `${layers[at]} layers, ${formatBytes(own)}`);
      return { name: `${device} ${processor.toUpperCase()}`, values, colour: colour(index), hatched, hover };
    }),
  );
  return barChart({
    categories: models,
    categoryTitle: 'model, by bytes of weights',
    value: { title: 'weights of layers (GiB)' },
    series: parts.filter(({ values }) => values.some((value) => value > 0)),
    arrange: 'stack',
    totals: shares.map((share) => (share === undefined ? 'no plan' : '')),
    height: 420,
  });
}

/** Causes of a token's time under each scheduler, as shares of the TPOT, which is written above the bar. */
export function causesChart(rows: readonly SweepRow[]): Figure {
  const planned = rows.flatMap(({ scheduler, outcome }) =>
    outcome.status === 'planned' ? [{ scheduler, ...outcome.breakdown }] : [],
  );
  const series = CAUSES.map((cause) => ({
    name: CAUSE_NAMES[cause],
    colour: CAUSE_COLOURS[cause],
    values: planned.map(({ seconds, tokenSeconds }) => (100 * seconds[cause]) / tokenSeconds),
    hover: planned.map(({ seconds }) => formatSeconds(seconds[cause])),
  }));
  return barChart({
    categories: planned.map(({ scheduler }) => scheduler),
    categoryTitle: 'scheduler',
    value: { title: 'share of TPOT (%)' },
    series: series.filter(({ values }) => values.some((value) => value > 0)),
    arrange: 'stack',
    totals: planned.map(({ tokenSeconds }) => formatSeconds(tokenSeconds)),
    height: 420,
  });
}

/** TPOT by set of devices, best set on top (prima.cpp Fig. 8). */
export function subsetsChart(rows: readonly SubsetRow[]): Figure {
  const best = ({ outcomes }: SubsetRow): number =>
    Math.min(...SUBSET_SCHEDULERS.map((name) => secondsOf(outcomes[name]) ?? Number.POSITIVE_INFINITY));
  const sorted = [...rows].sort((one, other) => (best(one) < best(other) ? 1 : best(one) > best(other) ? -1 : 0));
  const labels = sorted.map(({ devices }) => devices.join(' '));
  const series = SUBSET_SCHEDULERS.map((name): LineSeries => {
    const mark = markOf(name);
    return {
      name,
      x: sorted.map(({ outcomes }) => milliseconds(secondsOf(outcomes[name]))),
      y: labels,
      colour: mark.colour,
      symbol: name === 'halda' ? 'circle-open' : mark.symbol,
      mode: 'markers',
      symbolSize: name === 'halda' ? 14 : 9,
      hover: sorted.map(({ outcomes }) => outcomeHover(outcomes[name])),
    };
  });
  return lineChart({
    x: { title: 'TPOT (ms per token, log scale)', scale: 'log' },
    y: { title: 'devices offered', categories: labels, ruled: true },
    series,
    height: 120 + 24 * rows.length,
  });
}

/** Names besides the registry's schedulers: one from a file, and a plan by hand. */
export function ownSchedulers(rows: readonly SweepRow[]): string[] {
  const known: readonly string[] = [...SCHEDULER_NAMES, INFORMED];
  return schedulersOf(rows).filter((name) => !known.includes(name));
}

export function schedulersOf(rows: readonly SweepRow[]): string[] {
  return [...new Set(rows.map(({ scheduler }) => scheduler))];
}

export function tpotOf(row: SweepRow | undefined, answer: Answer): number | undefined {
  if (row?.outcome.status !== 'planned') return undefined;
  return answer === 'simulated' ? row.outcome.simulatedSeconds : row.outcome.breakdown.tokenSeconds;
}

function secondsOf(outcome: SweepRow['outcome']): number | undefined {
  return outcome.status === 'planned' ? outcome.breakdown.tokenSeconds : undefined;
}

function milliseconds(seconds: number | undefined): number | null {
  return seconds === undefined ? null : seconds * 1000;
}

export function planHover(row: SweepRow | undefined): string {
  return row === undefined ? '' : outcomeHover(row.outcome);
}

function outcomeHover(outcome: SweepRow['outcome']): string {
  if (outcome.status !== 'planned') return outcome.reason;
  const { simulatedSeconds, breakdown } = outcome;
  const simulated = simulatedSeconds === undefined ? '' : `${formatSeconds(simulatedSeconds)} simulated, `;
  return `${simulated}${formatSeconds(breakdown.tokenSeconds)} predicted<br>${layersText(outcome.plan)}`;
}
