import type { Statement } from '../../datasets/statements.ts';
import { formatSeconds } from './format.ts';
import { curveChart, latencyChart } from './helm-charts.ts';
import { type Configuration, impliedCpuRate, impliedOverhead, type PublishedLatency } from './helm-configurations.ts';
import type { ExampleRow } from './helm-example.ts';
import { helmFindings, reserveText } from './helm-findings.ts';
import { commonReserve, type VramInterval } from './helm-reserve.ts';
import { CONFIGURATION_COLUMNS, configurationCells, EXAMPLE_COLUMNS, exampleCells } from './helm-terminal.ts';
import { provenanceSentence, statementsTable } from './provenance.ts';
import type { Block, Report, Section, TableBlock } from './report.ts';

export interface HelmResults {
  readonly configurations: readonly Configuration[];
  readonly intervals: readonly VramInterval[];
  /** Empty where the running example is not among what was asked for. */
  readonly example: readonly ExampleRow[];
  readonly machines: readonly { readonly name: string; readonly statements: readonly Statement[] }[];
  readonly context: number;
}

/** The configuration whose search is drawn: the running example if it is there, else the first that has a curve. */
export function shownConfiguration({ configurations }: Pick<HelmResults, 'configurations'>): Configuration | undefined {
  const withCurve = configurations.filter(({ curve }) => curve.length > 0);
  return withCurve.find(({ machine, label }) => machine === 'helm-4060' && label === 'Qwen3-8B') ?? withCurve[0];
}

/** The report of helm-split. */
export function helmReport(results: HelmResults): Report {
  const { configurations, intervals, context, machines } = results;
  return {
    title: 'HELM: the split between CPU and GPU',
    subtitle: `${machines.map(({ name }) => name).join(', ')}; ${context} tokens in the KV cache, which is offloaded to RAM`,
    summary: helmFindings(configurations, intervals).join(' '),
    sections: [
      searchSection(results),
      latencySection(configurations),
      implicationsSection(results),
      ...exampleSection(results),
      basisSection(results),
    ],
  };
}

function searchSection(results: HelmResults): Section {
  const shown = shownConfiguration(results);
  if (shown === undefined) return { title: 'The search', blocks: [{ kind: 'text', text: 'No machine has a GPU.' }] };
  const others = results.configurations.filter((one) => one !== shown && one.curve.length > 0);
  return {
    title: 'The search',
    blocks: [
      {
        kind: 'chart',
        title: 'Time per token at every split (HELM Fig. 4.4)',
        note: 'A unit more on the CPU always costs time where the GPU is faster, so the best split is the first that fits: hatched ones lack VRAM (left) or RAM (right). The copy over PCIe takes microseconds.',
        choose: 'Configuration',
        variants: [shown, ...others].map((one) => ({
          label: `${one.label} on ${one.machine}`,
          figure: curveChart(one),
        })),
      },
    ],
  };
}

function latencySection(configurations: readonly Configuration[]): Section {
  const noted = configurations.flatMap(({ machine, label, published }) =>
    published.notes.map((note) => [machine, label, note]),
  );
  return {
    title: 'Splits and latencies, beside the published ones',
    blocks: [
      {
        kind: 'chart',
        title: 'Predicted and published time per token',
        variants: [{ label: '', figure: latencyChart(configurations) }],
      },
      {
        kind: 'text',
        text: 'Splits count partition units, CPU→GPU: the blocks, the embedding (the first) and the output projection (the last). Errors are of T_plan + N δ̄. Noise is half the spread between the places where the thesis prints the same quantity, or the rounding. Fit: δ̄ was calibrated there.',
      },
      { kind: 'table', columns: CONFIGURATION_COLUMNS, rows: configurations.map(configurationCells), groups: true },
      ...(noted.length === 0
        ? []
        : [
            {
              kind: 'table',
              fold: 'Remarks on the published cells',
              columns: [{ title: 'machine' }, { title: 'model' }, { title: 'remark' }],
              rows: noted,
            } as const,
          ]),
    ],
  };
}

/** What the published numbers mean for quantities that the thesis doesn't state, or states otherwise. */
function implicationsSection({ configurations, intervals }: HelmResults): Section {
  const blocks = [vramTable(intervals), cpuRateTable(configurations), overheadTable(configurations)];
  const filled = blocks.filter(({ rows }) => rows.length > 0);
  const nothing: Block = { kind: 'text', text: 'Nothing is published about these configurations.' };
  return { title: 'What the published numbers imply', blocks: filled.length === 0 ? [nothing] : filled };
}

function vramTable(intervals: readonly VramInterval[]): TableBlock {
  const reserve = commonReserve(intervals);
  const rows = intervals.map(({ machine, label, cpuUnits, gpuUnits, atLeast, below, nominal }) => [
    machine,
    label,
    `${cpuUnits}→${gpuUnits}`,
    gigabytes(atLeast),
    gigabytes(below),
    reserveText({ above: nominal - below, atMost: nominal - atLeast }),
  ]);
  const all = [['all', '', '', '', '', reserve === undefined ? 'none' : reserveText(reserve)]];
  return {
    kind: 'table',
    title: 'VRAM that the published splits allow, if HELM puts as many units on the GPU as fit',
    columns: [
      { title: 'machine' },
      { title: 'model' },
      { title: 'split', align: 'right' },
      { title: 'VRAM from, GB', align: 'right' },
      { title: 'below, GB', align: 'right' },
      { title: 'reserve below the nominal size', align: 'right' },
    ],
    rows: rows.length === 0 ? [] : [...rows, ...all],
    groups: true,
  };
}

function cpuRateTable(configurations: readonly Configuration[]): TableBlock {
  return {
    kind: 'table',
    title: 'Rate at which the CPU reads its weights, if all else is as predicted',
    columns: [
      { title: 'machine' },
      { title: 'model' },
      { title: 'published', align: 'right' },
      { title: 'in' },
      { title: 'CPU weights, GB', align: 'right' },
      { title: 'T_GPU', align: 'right' },
      { title: 'N δ̄', align: 'right' },
      { title: 'implied, GB/s', align: 'right' },
      { title: 'described, GB/s', align: 'right' },
    ],
    rows: eachLatency(configurations, (one, latency) => {
      const rate = impliedCpuRate(one, latency);
      if (rate === undefined || one.chosen === undefined) return undefined;
      const { cpuReadBytes, cpuBandwidth, split, overheadSeconds } = one.chosen;
      const parts = [gigabytes(cpuReadBytes), formatSeconds(split.gpuSeconds), formatSeconds(overheadSeconds)];
      return [...parts, (rate / 1e9).toFixed(1), (cpuBandwidth / 1e9).toFixed(1)];
    }),
    groups: true,
  };
}

function overheadTable(configurations: readonly Configuration[]): TableBlock {
  return {
    kind: 'table',
    title: 'δ̄ that the all-GPU latencies mean: (published − T_plan) / N',
    columns: [
      { title: 'machine' },
      { title: 'model' },
      { title: 'published', align: 'right' },
      { title: 'in' },
      { title: 'T_plan', align: 'right' },
      { title: 'implied δ̄', align: 'right' },
      { title: 'δ̄ of the thesis', align: 'right' },
    ],
    rows: eachLatency(configurations, (one, latency) => {
      const implied = impliedOverhead(one, latency);
      if (implied === undefined || one.chosen === undefined) return undefined;
      const { split, overheadSeconds } = one.chosen;
      return [split.tokenSeconds, implied, overheadSeconds / one.model.layers].map(formatSeconds);
    }),
    groups: true,
  };
}

/** A row for every published latency: configuration, latency and place, and what `cells` makes of it, if anything. */
function eachLatency(
  configurations: readonly Configuration[],
  cells: (one: Configuration, latency: PublishedLatency) => string[] | undefined,
): string[][] {
  return configurations.flatMap((one) =>
    one.published.latencies.flatMap((latency) => {
      const rest = cells(one, latency);
      return rest === undefined
        ? []
        : [[one.machine, one.label, formatSeconds(latency.seconds), latency.table, ...rest]];
    }),
  );
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(2);
}

function exampleSection({ example }: HelmResults): Section[] {
  if (example.length === 0) return [];
  return [
    {
      title: 'The running example, line by line',
      blocks: [
        {
          kind: 'text',
          text: 'Qwen3-8B on the RTX 4060, as HELM 4.1 follows it. The remarks say where the thesis contradicts its own equations; the equations are followed here.',
        },
        { kind: 'table', columns: EXAMPLE_COLUMNS, rows: example.map(exampleCells) },
      ],
    },
  ];
}

function basisSection({ machines }: HelmResults): Section {
  return {
    title: 'What this rests on',
    blocks: [
      { kind: 'text', text: machines.map(({ name, statements }) => provenanceSentence(name, statements)).join(' ') },
      {
        kind: 'table',
        title: 'The model',
        columns: [{ title: 'part' }, { title: 'assumption' }, { title: 'source' }],
        rows: [
          ['formulas', 'HELM Eqs. 4.7–4.16: the larger of compute and memory, stage after stage', 'published'],
          ['P_dec', 'compute never binds during decode (4.1.2)', 'published'],
          ['η_c, η_m', '1: the thesis fits them and prints none', 'assumed'],
          ['embedding unit', 'takes memory and no time: a lookup', 'assumed'],
          ['KV cache', '2 bytes per value; fetching evicted pages over PCIe is hidden (4.2.3)', 'published'],
          ['N', 'all blocks, wherever they run (6.4.4 leaves it open)', 'assumed'],
          ['RAM', 'the CPU part must fit, which Eq. 4.16 leaves out', 'assumed'],
        ],
      },
      ...machines.map(({ name, statements }) => statementsTable(name, statements)),
    ],
  };
}
