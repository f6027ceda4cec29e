import { formatPercent } from '../../engine/input/format.ts';
import { type Figure, lineChart } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { type Column, type Table, tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import { modelText, rateColumn } from '../report/model-text.ts';
import { bestGain, POLICIES, type Reclaim, type RoundsRow } from './rounds.ts';

/** A simulated ring: a row of rounds.csv. */
export const COLUMNS: readonly Column<RoundsRow>[] = [
  { key: 'model', value: ({ model }) => model },
  { key: 'format', value: ({ mix }) => mix },
  { key: 'weights_bytes', value: ({ bytes }) => bytes },
  { key: 'policy', value: ({ policy }) => policy },
  { key: 'reclaim', value: ({ reclaim }) => reclaim },
  { key: 'rounds', value: ({ rounds }) => rounds },
  { key: 'tpot_s', value: ({ seconds }) => seconds },
  { key: 'reread_bytes_per_token', value: ({ readBytes }) => readBytes },
  { key: 'reason', value: ({ reason }) => reason },
];

/** The rows of one model and one weights policy: a line of the plot, a row of the table. */
interface Line {
  readonly model: string;
  /** With its quantization and size. */
  readonly text: string;
  readonly policy: string;
  readonly points: readonly RoundsRow[];
}

/** TPOT by rounds, under one reclaim policy. */
export function roundsTable(rows: readonly RoundsRow[], reclaim: Reclaim): Table<Line> {
  const own = rows.filter((row) => row.reclaim === reclaim);
  const rounds = (k: number): Column<Line> => {
    const point = ({ points }: Line): RoundsRow | undefined => points.find((one) => one.rounds === k);
    return {
      title: `k = ${k}`,
      value: (line) => {
        const found = point(line);
        return found !== undefined && found.seconds === undefined ? 'OOM' : found?.seconds;
      },
      unit: 'seconds',
    };
  };
  return {
    columns: [
      { title: 'model', value: ({ text }) => text, wraps: true, label: true },
      { title: 'policy', value: ({ policy }) => policy, label: true },
      ...roundsOf(own).map(rounds),
      rateColumn(({ points }) => leastSeconds(points), 'tok/s\nat best'),
      {
        title: 'read again per token\nat the largest k',
        value: ({ points }) => points.findLast(({ seconds }) => seconds !== undefined)?.readBytes,
        unit: 'bytes',
      },
    ],
    rows: modelsOf(own).flatMap((model) =>
      POLICIES.map(({ name }): Line => {
        const points = own.filter((row) => row.model === model && row.policy === name);
        const { mix = '', bytes = 0 } = points[0] ?? {};
        return { model, text: modelText({ name: model, mix, bytes }), policy: name, points };
      }),
    ),
    groups: true,
  };
}

function leastSeconds(points: readonly RoundsRow[]): number | undefined {
  const times = points.flatMap(({ seconds }) => seconds ?? []);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** TPOT over that of one round, from which on rounds count as no help. */
const LEAST_GAIN = 0.95;

/** The effect of more rounds under one reclaim policy, by weights policy. */
export function findingsOf(rows: readonly RoundsRow[], reclaim: Reclaim): string[] {
  const parts = POLICIES.flatMap(({ name }) => {
    const gains = modelsOf(rows).flatMap((model) => {
      const gain = bestGain(rows, model, name, reclaim);
      return gain === undefined ? [] : [{ model, ...gain }];
    });
    const helped = gains.filter(({ ratio }) => ratio < LEAST_GAIN);
    if (gains.length === 0) return [];
    if (helped.length === 0) return [`${name}: more rounds help no model`];
    const list = helped.map(({ model, rounds, ratio }) => `${model} −${formatPercent(1 - ratio)} at k = ${rounds}`);
    return [`${name}: ${list.join(', ')}`];
  });
  return [
    `Change in time per token compared with one round, under reclaim ${reclaim}: ${parts.join('; ')}.`,
    'The paper reports about −50 % for models above 60B from k = 2 on.',
  ];
}

/** For each model that gains from rounds, the policy and k with the largest gain; largest first. */
function bestOf(rows: readonly RoundsRow[], reclaim: Reclaim) {
  const bests = modelsOf(rows).flatMap((model) => {
    const gains = POLICIES.flatMap(({ name }) => {
      const gain = bestGain(rows, model, name, reclaim);
      return gain === undefined || gain.ratio >= LEAST_GAIN ? [] : [{ model, policy: name, ...gain }];
    });
    return gains.sort((one, other) => one.ratio - other.ratio).slice(0, 1);
  });
  return bests.sort((one, other) => one.ratio - other.ratio);
}

export function roundsPage(rows: readonly RoundsRow[], reclaims: readonly Reclaim[]): NonNullable<Results['page']> {
  const variants = reclaims.flatMap((reclaim) =>
    POLICIES.map(({ name }) => ({ label: `${name}; reclaim ${reclaim}`, figure: figureOf(rows, name, reclaim) })),
  );
  // prima.cpp's way of prefetching comes first.
  const preferred = [...variants.slice(1, 2), ...variants.slice(0, 1), ...variants.slice(2)];
  const bests = bestOf(rows, reclaims[0] ?? 'os').slice(0, 3);
  const gained = bests.map(
    ({ model, policy, rounds, ratio }) => `−${formatPercent(1 - ratio)}: ${model}, ${policy}, k = ${rounds}.`,
  );
  const [most] = bests;
  return {
    title: 'What rounds do for a ring that does not fit',
    headline:
      most === undefined
        ? 'No model gains from more rounds than one.'
        : `With ${most.rounds} rounds in place of one, a token of ${most.model} takes ${formatPercent(1 - most.ratio)} less time.`,
    findings: gained,
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
      ...reclaims.map((reclaim) => ({
        title: `Reclaim ${reclaim}`,
        blocks: [tableBlock(roundsTable(rows, reclaim))],
      })),
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

/** Rounds in the order of the columns. */
function roundsOf(rows: readonly RoundsRow[]): number[] {
  return [...new Set(rows.map(({ rounds }) => rounds))].sort((a, b) => a - b);
}

function modelsOf(rows: readonly RoundsRow[]): string[] {
  return [...new Set(rows.map(({ model }) => model))];
}
