import type { Statement } from '../../datasets/statements.ts';
import { provenanceSentence, statementsTable } from '../lib/provenance.ts';
import type { Report, Section } from '../lib/report.ts';
import { curveChart, latencyChart } from './charts.ts';
import type { Configuration } from './configurations.ts';
import type { ExampleRow } from './example.ts';
import { type HelmEvidence, helmFindings } from './findings.ts';
import { implicationsSection } from './implications.ts';
import type { Remark } from './published.ts';
import { CONFIGURATION_COLUMNS, configurationCells, EXAMPLE_COLUMNS, exampleCells } from './terminal.ts';

export interface HelmResults extends HelmEvidence {
  readonly remarks: readonly Remark[];
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
  const { context, machines } = results;
  return {
    title: 'HELM: the split between CPU and GPU',
    subtitle: `${machines.map(({ name }) => name).join(', ')}; ${context} tokens in the KV cache, which is offloaded to RAM`,
    summary: helmFindings(results).join(' '),
    sections: [
      searchSection(results),
      latencySection(results),
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

function latencySection({ configurations, remarks }: HelmResults): Section {
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
      ...(remarks.length === 0
        ? []
        : [
            {
              kind: 'table',
              fold: `${remarks.length} remarks on the published cells`,
              columns: [{ title: 'machine' }, { title: 'model' }, { title: 'cell' }, { title: 'remark' }],
              rows: remarks.map(({ machine, label, place, note }) => [...[machine, label, place].map(unbroken), note]),
              groups: true,
            } as const,
          ]),
    ],
  };
}

/** Keeps a short name on one line beside a long text. */
function unbroken(name: string): string {
  return name.replaceAll(' ', '\u00a0').replaceAll('-', '\u2011');
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
        {
          kind: 'table',
          columns: EXAMPLE_COLUMNS,
          rows: example.map((row) => exampleCells({ ...row, where: unbroken(row.where) })),
        },
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
