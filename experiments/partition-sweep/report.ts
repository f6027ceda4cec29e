import type { Statement } from '../../datasets/statements.ts';
import type { RingCosts } from '../../engine/cost/ring-costs.ts';
import { threeDigits } from '../../engine/input/format.ts';
import { tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import { modelText } from '../report/model-text.ts';
import type { Block, ChartBlock } from '../report/page/page.ts';
import { provenanceSentence, statementsTable } from '../report/provenance.ts';
import { agreementChart, landscapeChart, shareMap, stride } from './charts.ts';
import { bestTable, choiceTable, GROUP_COLUMNS } from './columns.ts';
import { extentText, failuresText } from './findings.ts';
import type { Landscape } from './landscape.ts';
import { type Mark, marksOf } from './marks.ts';
import type { Space } from './space.ts';
import type { Summary } from './summary.ts';
import type { SweepSetting } from './sweeper.ts';

export interface PartitionReportParts {
  readonly setting: SweepSetting;
  readonly statements: readonly Statement[];
  readonly costs: RingCosts;
  readonly space: Space;
  readonly landscape: Landscape;
  readonly summary: Summary;
}

/** Pairs of devices for which a map is drawn; a report with more of them grows large. */
const MOST_MAPS = 10;

/**
 * The page: the landscape with the schedulers' choices, maps of shares, the best plans, and the closed forms'
 * predictions.
 */
export function partitionPage(parts: PartitionReportParts): NonNullable<Results['page']> {
  const { setting, summary } = parts;
  const marks = marksOf(summary.choices);
  return {
    title: `Where the schedulers’ plans lie: ${modelText(setting.model)}, on ${setting.cluster.name}`,
    subtitle: subtitleOf(parts),
    sections: [
      { title: 'The landscape', blocks: landscapeBlocks(parts, marks) },
      { title: 'Which device gets how much', blocks: [maps(parts, marks), bestBlock(summary)] },
      { title: 'What closed forms see of it', blocks: agreementBlocks(parts, marks) },
      { title: 'What this rests on', blocks: assumptions(parts) },
    ],
  };
}

function subtitleOf({ setting, summary }: PartitionReportParts): string {
  const { settings } = summary;
  return [
    extentText(summary),
    `k = ${list(settings.rounds)}`,
    `shares in steps of ${settings.step} layers`,
    gpuText(settings['gpu-levels']),
    `output on ${list(settings.outputs)}`,
    list(settings.policies),
    `context of ${settings.context} tokens`,
    `reclaim ${setting.reclaim}`,
  ].join(' · ');
}

function gpuText(levels: string | number | undefined): string {
  if (levels === 1) return 'GPUs filled';
  return levels === 'all' ? 'every number of GPU layers' : `${levels} levels of GPU layers`;
}

/** The parts separated by spaces, at which a line may break. */
function list(setting: string | number | undefined): string {
  return String(setting).replaceAll(',', ', ');
}

function landscapeBlocks({ summary }: PartitionReportParts, marks: readonly Mark[]): Block[] {
  const failed = failuresText(summary);
  return [
    {
      kind: 'chart',
      title: 'Simulated TPOT of all plans by rounds and weights policy, and the plans that schedulers chose',
      note: 'Box: the middle half of the plans, with the median; whiskers reach to the fastest and the slowest. A mark stands next to the box of its own rounds and policy: the lower, the better. Marks below a whisker are between the grid’s points.',
      variants: [{ label: 'all', figure: landscapeChart(summary.groups, marks) }],
    },
    tableBlock(choiceTable(summary), { title: 'What each scheduler chose' }),
    ...(failed === '' ? [] : [{ kind: 'text' as const, text: failed }]),
  ];
}

/** The pairs that hold most of the fastest plan come first. */
function maps({ landscape, space, costs, setting, summary }: PartitionReportParts, marks: readonly Mark[]): ChartBlock {
  const devices = costs.devices.map(({ name }) => name);
  const held = summary.best[0]?.windows ?? [];
  const pairs = devices.flatMap((_, a) => devices.slice(a + 1).map((_, at): [number, number] => [a, a + 1 + at]));
  const weight = ([a, b]: readonly [number, number]): number => (held[a] ?? 0) + (held[b] ?? 0);
  const shown = pairs.sort((one, other) => weight(other) - weight(one)).slice(0, MOST_MAPS);
  return {
    kind: 'chart',
    title: 'Least TPOT by the layers of two devices, over all else that a plan may choose',
    note: 'Layers over all rounds. Darker is faster; white cells hold no plan that can be run. The pointer shows the fastest plan of a cell.',
    choose: 'Devices',
    variants: shown.map((axes) => ({
      label: axes.map((device) => devices[device]).join(' × '),
      figure: shareMap({ landscape, space, devices, axes, step: setting.step, layers: costs.layers, marks }),
    })),
  };
}

function bestBlock(summary: Summary): Block {
  const { length } = summary.best;
  return tableBlock(bestTable(summary, length), { title: `The ${length} fastest plans` });
}

function agreementBlocks({ landscape, space, summary }: PartitionReportParts, marks: readonly Mark[]): Block[] {
  const every = stride(landscape.ranking.length);
  const drawn = every === 1 ? '' : ` One of ${every} plans is drawn, evenly by rank.`;
  return [
    {
      kind: 'chart',
      title: 'Predicted against simulated time per output token',
      note: `Below the line the simulation is faster than the closed forms: prefetching overlaps with other devices’ turns. Above it, it is slower: what was dropped is read again.${drawn}`,
      variants: [{ label: 'all', figure: agreementChart(landscape, space, marks) }],
    },
    tableBlock(
      { columns: GROUP_COLUMNS, rows: summary.groups, groups: true },
      {
        fold: `By rounds and policy (over all plans the rank correlation is ${threeDigits(summary.agreement)})`,
      },
    ),
  ];
}

function assumptions({ setting, statements }: PartitionReportParts): Block[] {
  const cluster = setting.cluster.name;
  return [
    { kind: 'text', text: provenanceSentence(cluster, statements) },
    {
      kind: 'text',
      text: 'Times are those of the steady state, with the KV cache held at the context’s size: the second token after a prompt of one; the fifth, where the second differs from the first by over 5 %; and the mean of tokens 9 to 24, where the fifth still differs from the one before by over 0.1 %. The space holds plans that give every device one window per round, in ring order; the last device that holds layers takes what the grid leaves over. The policy “pinned” keeps as much for good as leaves room for the rest of one window, by the arithmetic of ring-aware. Predictions are prima.cpp’s Eqs. 11–19 with reclaim overflow. Schedulers see the true cluster; their plans may lie between the grid’s points.',
    },
    statementsTable(cluster, statements),
  ];
}
