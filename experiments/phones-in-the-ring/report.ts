import type { LoadedCluster } from '../../datasets/load.ts';
import type { Model } from '../../engine/model/model.ts';
import { barChart, type Figure, lineChart } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import type { Block } from '../report/page/page.ts';
import { provenanceSentence, statementsTable } from '../report/provenance.ts';
import { cutTable, PLAN_COLUMNS } from './columns.ts';
import { phonesTop } from './finding.ts';
import type { PhonesRow } from './plans.ts';
import { SWEEP_TITLES, SWEEPS, type Sweep, type SweepPoint } from './sweeps.ts';

export interface PhonesReport {
  readonly rows: readonly PhonesRow[];
  readonly points: readonly SweepPoint[];
  readonly swept: Model;
  readonly loaded: LoadedCluster;
}

const VARIANTS = ['no phones', 'phones, GPU alone', 'phones, GPU and NPU'] as const;
const COLOURS = [colour(7), colour(4), colour(0)] as const;

/** The page of phones-in-the-ring. */
export function phonesPage({ rows, points, swept, loaded }: PhonesReport): NonNullable<Results['page']> {
  const { cluster, statements } = loaded;
  const cut = rows.find(
    ({ model, planner, variant }) => model === swept.name && planner === 'optimal' && variant === VARIANTS[2],
  );
  return {
    title: 'Phones in the ring',
    ...phonesTop(rows),
    sections: [
      {
        title: 'What phones and their NPUs gain',
        blocks: [
          {
            kind: 'chart',
            title: 'Simulated seconds by model, planned by optimal',
            note: 'A phone’s layer costs what its own best cut between GPU and NPU makes of it; the same planner then decides who has which layers. Plans are made for the shortest token, not for the shortest prompt.',
            choose: 'Time',
            variants: [
              { label: 'TPOT (s per token)', figure: bars(rows, 'tpot') },
              { label: 'TTFT (s)', figure: bars(rows, 'ttft') },
            ],
          },
          tableBlock({ columns: PLAN_COLUMNS, rows, groups: true }),
        ],
      },
      {
        title: `Where it stops paying: ${swept.name}`,
        blocks: SWEEPS.map(
          (sweep): Block => ({
            kind: 'chart',
            title: `Against ${sweep}`,
            note: NOTES[sweep],
            choose: 'Time',
            variants: [
              { label: 'TPOT (s per token)', figure: lines(points, sweep, 'tpot') },
              { label: 'TTFT (s)', figure: lines(points, sweep, 'ttft') },
            ],
          }),
        ),
      },
      {
        title: `How each phone cuts the operators of ${swept.name}`,
        blocks: cut === undefined ? [] : [tableBlock(cutTable(cut, swept))],
      },
      {
        title: 'What this rests on',
        blocks: [
          {
            kind: 'text',
            text: `${provenanceSentence(cluster.name, statements)} W4A16, HeteroLLM’s 4-bit format, is taken for all devices, and counts as Q4_0 where rates go by format. Prompts find all weights in memory. Phones run layers from memory that Android may reclaim; memory beyond what a phone has available is planned around, not relied on.`,
          },
          statementsTable(cluster.name, statements),
        ],
      },
    ],
  };
}

const NOTES: Readonly<Record<Sweep, string>> = {
  'NPU speed':
    'A token’s weights come from memory, whatever the NPU computes; a prompt gains until something else binds.',
  'memory bandwidth': 'What GPU and NPU reach together is what a second processor brings to a token.',
  'link speed':
    'Each phone costs hops. To the left, where they cost more than they bring, the planner leaves phones out.',
  'phone memory': 'What phones can hold decides how much of the model leaves slower devices, or their disks.',
};

/** Predictions dotted, simulations solid. */
function lines(points: readonly SweepPoint[], sweep: Sweep, time: 'tpot' | 'ttft'): Figure {
  const series = VARIANTS.flatMap((variant, index) =>
    (['simulated', 'predicted'] as const).map((answer) => {
      const own = points.filter((point) => point.sweep === sweep && point.variant === variant);
      return {
        name: `${variant}, ${answer}`,
        colour: COLOURS[index] as string,
        dash: answer === 'simulated' ? ('solid' as const) : ('dot' as const),
        mode: answer === 'simulated' ? ('lines+markers' as const) : ('lines' as const),
        x: own.map(({ factor }) => factor),
        y: own.map(({ judged }) => judged?.[answer][time] ?? null),
        hover: own.map(({ phoneLayers }) => `${phoneLayers} layers on phones`),
      };
    }),
  );
  return lineChart({
    x: { title: SWEEP_TITLES[sweep], scale: 'log' },
    y: { title: time === 'tpot' ? 'TPOT (s per token)' : 'TTFT (s)', scale: 'log' },
    series,
  });
}

function bars(rows: readonly PhonesRow[], time: 'tpot' | 'ttft'): Figure {
  const own = rows.filter(({ planner }) => planner === 'optimal');
  const models = [...new Set(own.map(({ model }) => model))];
  return barChart({
    categories: models,
    categoryTitle: 'model, by bytes of weights',
    value: { title: time === 'tpot' ? 'TPOT (s per token, log scale)' : 'TTFT (s, log scale)', scale: 'log' },
    arrange: 'group',
    series: VARIANTS.map((variant, index) => ({
      name: variant,
      colour: COLOURS[index] as string,
      values: models.map(
        (model) => own.find((row) => row.model === model && row.variant === variant)?.judged?.simulated[time] ?? null,
      ),
    })),
  });
}
