import type { Statement } from '../../datasets/statements.ts';
import type { RingCosts } from '../../engine/cost/ring-costs.ts';
import { formatSeconds, threeDigits } from '../../engine/terminal/format.ts';
import { provenanceSentence, statementsTable } from '../lib/provenance.ts';
import type { Block, ChartBlock, Report } from '../lib/report.ts';
import { agreementChart, stride } from './agreement-chart.ts';
import type { Landscape } from './landscape.ts';
import { landscapeChart } from './landscape-chart.ts';
import { type Mark, marksOf } from './marks.ts';
import { shareMap } from './share-map.ts';
import type { Space } from './space.ts';
import type { Summary } from './summary.ts';
import type { SweepSetting } from './sweeper.ts';
import {
  BEST_COLUMNS,
  bestCells,
  CHOICE_COLUMNS,
  choiceCells,
  extentText,
  failuresText,
  findingsText,
  thousands,
} from './text.ts';

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

/** The page: the landscape with the schedulers' choices, maps of shares, the best plans, and what closed forms say. */
export function partitionReport(parts: PartitionReportParts): Report {
  const { setting, summary } = parts;
  const { settings } = summary;
  const marks = marksOf(summary.choices);
  return {
    title: `Where the schedulers' plans lie: ${setting.model.name} on ${setting.cluster.name}`,
    subtitle: `${extentText(summary)} · k = ${list(settings.rounds)} · shares in steps of ${settings.step} layers · ${gpuText(settings['gpu-levels'])} · output on ${list(settings.outputs)} · ${list(settings.policies)} · context of ${settings.context} tokens · reclaim ${settings.reclaim}`,
    summary: findingsText(summary),
    sections: [
      { title: 'The landscape', blocks: landscapeBlocks(parts, marks) },
      { title: 'Which device gets how much', blocks: [maps(parts, marks), bestTable(parts)] },
      { title: 'What closed forms see of it', blocks: agreementBlocks(parts, marks) },
      { title: 'What this rests on', blocks: assumptions(parts) },
    ],
  };
}

function gpuText(levels: string | number | undefined): string {
  if (levels === 1) return 'GPUs filled';
  return levels === 'all' ? 'every number of GPU layers' : `${levels} levels of GPU layers`;
}

/** With spaces, where a line may break. */
function list(setting: string | number | undefined): string {
  return String(setting).replaceAll(',', ', ');
}

function landscapeBlocks({ summary }: PartitionReportParts, marks: readonly Mark[]): Block[] {
  const failed = failuresText(summary);
  return [
    {
      kind: 'chart',
      title: 'Simulated TPOT of all plans by rounds and weights policy, and the plans that schedulers chose',
      note: 'Box: the middle half of the plans, with the median; whiskers reach to the fastest and the slowest. A mark stands beside the box of its own rounds and policy: the lower, the better. Marks below a whisker are between the grid’s points.',
      variants: [{ label: 'all', figure: landscapeChart(summary.groups, marks) }],
    },
    {
      kind: 'table',
      title: 'What each scheduler chose',
      columns: CHOICE_COLUMNS,
      rows: summary.choices.map((choice) => choiceCells(choice, summary)),
    },
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

function bestTable({ summary }: PartitionReportParts): Block {
  return {
    kind: 'table',
    title: `The ${summary.best.length} fastest plans`,
    columns: BEST_COLUMNS,
    rows: bestCells(summary.best),
  };
}

function agreementBlocks({ landscape, space, summary }: PartitionReportParts, marks: readonly Mark[]): Block[] {
  const every = stride(landscape.ranking.length);
  const drawn = every === 1 ? '' : ` One of ${every} plans is drawn, evenly by rank.`;
  return [
    {
      kind: 'chart',
      title: 'Predicted against simulated time per output token',
      note: `Below the line the simulation is faster than the closed forms: prefetching overlaps with other devices' turns. Above it, it is slower: what was dropped is read again.${drawn}`,
      variants: [{ label: 'all', figure: agreementChart(landscape, space, marks) }],
    },
    {
      kind: 'table',
      fold: `By rounds and policy (over all plans the rank correlation is ${threeDigits(summary.agreement)})`,
      columns: [
        { title: 'rounds', label: true },
        { title: 'policy', label: true },
        { title: 'plans', align: 'right' },
        { title: 'that run', align: 'right' },
        { title: 'fastest', align: 'right' },
        { title: 'slowest', align: 'right' },
        { title: 'rank correlation with the closed forms', align: 'right' },
      ],
      rows: summary.groups.map(({ rounds, policy, plans, seconds, agreement }) => [
        `k = ${rounds}`,
        policy,
        thousands(plans),
        thousands(seconds.length),
        seconds[0] === undefined ? '–' : formatSeconds(seconds[0]),
        seconds.length === 0 ? '–' : formatSeconds(seconds.at(-1) as number),
        Number.isNaN(agreement) ? '–' : threeDigits(agreement),
      ]),
      groups: true,
    },
  ];
}

function assumptions({ setting, statements }: PartitionReportParts): Block[] {
  const cluster = setting.cluster.name;
  return [
    { kind: 'text', text: provenanceSentence(cluster, statements) },
    {
      kind: 'text',
      text: 'Times are those of the steady state, with the KV cache held at the context’s size: the second token after a prompt of one; the fifth, where the second differs from the first by over 5 %; and the mean of tokens 9 to 24, where the fifth still differs from the one before by over 0.1 %. The space holds plans that give every device one window per round, in ring order; the last device that holds layers takes what the grid leaves over. `pinned` keeps as much for good as leaves room for the rest of one window, by the arithmetic of ring-aware. Predictions are prima.cpp’s Eqs. 11–19 with reclaim overflow. Schedulers see the true cluster; their plans may lie between the grid’s points.',
    },
    statementsTable(cluster, statements),
  ];
}
