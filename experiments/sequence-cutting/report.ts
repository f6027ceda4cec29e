import type { LoadedCluster } from '../../datasets/load.ts';
import type { Model } from '../../engine/model/model.ts';
import { SOC_SYSTEMS } from '../../engine/schedule/tensor-partition/systems.ts';
import { formatSeconds } from '../../engine/terminal/format.ts';
import { barChart, colour, lineChart } from '../lib/chart.ts';
import { provenanceSentence, statementsTable } from '../lib/provenance.ts';
import type { Block, Report, ReportColumn } from '../lib/report.ts';
import { type CutPrompt, cutText, reasonText, rowsOf, type SystemResult } from './cuts.ts';
import { SWEPT_SYSTEMS, type SweepPoint } from './sweep.ts';

export const SYSTEM_COLUMNS: readonly ReportColumn[] = [
  { title: 'system', label: true },
  { title: 'predicted', align: 'right' },
  { title: 'simulated', align: 'right' },
  { title: 'tok/s', align: 'right' },
  { title: 'over Hetero-tensor', align: 'right' },
  { title: 'how it cuts' },
];

export function systemCells({ systems, tokens }: CutPrompt): string[][] {
  const own = systems.find(({ system }) => system === 'hetero-tensor') as SystemResult;
  return systems.map(({ system, predictedSeconds, simulatedSeconds }) => [
    system,
    formatSeconds(predictedSeconds),
    formatSeconds(simulatedSeconds),
    (tokens / predictedSeconds).toFixed(1),
    `${(predictedSeconds / own.predictedSeconds).toFixed(2)} ×`,
    SOC_SYSTEMS[system].description,
  ]);
}

export const DECISION_COLUMNS: readonly ReportColumn[] = [
  { title: 'operator', label: true },
  { title: 'cut', label: true },
  { title: 'who has what' },
  { title: 'why' },
];

/** The operators of the prompt as a system cuts them, with the reason. */
export function decisionCells(model: Model, { decisions }: SystemResult): string[][] {
  return decisions
    .filter(({ phase }) => phase === 'prefill')
    .map((decision) => [
      decision.operator,
      decision.best.kind,
      cutText(decision.best.cut, rowsOf(model, decision), decision.tokens),
      reasonText(decision),
    ]);
}

export function cuttingSummary({ tokens, published, systems }: CutPrompt): string {
  const seconds = (name: SystemResult['system']): number =>
    (systems.find(({ system }) => system === name) as SystemResult).predictedSeconds;
  const own = seconds('hetero-tensor');
  return `${tokens} = ${published} by the rule of the text (graphs on the NPU, the margin on the GPU): ${formatSeconds(seconds('sequence-cutting'))}. Cutting rows as well, each operator for itself, takes ${formatSeconds(own)}; padding ${formatSeconds(seconds('padding'))}, several graphs in turn ${formatSeconds(seconds('pipe'))}, a graph generated on the spot ${formatSeconds(seconds('online-prepare'))}.`;
}

export function cuttingReport(
  prompt: CutPrompt,
  sweep: readonly SweepPoint[],
  model: Model,
  { cluster, statements }: LoadedCluster,
): Report {
  const { systems, tokens } = prompt;
  const tables = (['hetero-tensor', 'sequence-cutting'] as const).map((name): Block => {
    const result = systems.find(({ system }) => system === name) as SystemResult;
    return {
      kind: 'table',
      title: `${name}: ${SOC_SYSTEMS[name].description}`,
      columns: DECISION_COLUMNS,
      rows: decisionCells(model, result),
    };
  });
  return {
    title: `A prompt of ${tokens} tokens on GPU and NPU`,
    subtitle: `${model.name} in W4A16 on ${cluster.name} · HeteroLLM §4.1, §5.2.2`,
    summary: cuttingSummary(prompt),
    sections: [
      {
        title: 'Who is how fast',
        blocks: [
          {
            kind: 'chart',
            title: `Seconds of a prompt of ${tokens} tokens`,
            note: 'The NPU’s graphs are static: a prompt that fits none is padded, run in pieces, shared with the GPU, or has a graph of its own generated.',
            variants: [
              {
                label: 'predicted and simulated',
                figure: barChart({
                  categories: systems.map(({ system }) => system),
                  categoryTitle: 'system',
                  value: { title: 'time to first token (s)' },
                  arrange: 'group',
                  series: [
                    {
                      name: 'predicted',
                      colour: colour(0),
                      values: systems.map(({ predictedSeconds }) => predictedSeconds),
                    },
                    {
                      name: 'simulated',
                      colour: colour(5),
                      values: systems.map(({ simulatedSeconds }) => simulatedSeconds),
                    },
                  ],
                }),
              },
            ],
          },
          { kind: 'table', columns: SYSTEM_COLUMNS, rows: systemCells(prompt) },
        ],
      },
      { title: 'Which operator is cut how, and why', blocks: tables },
      {
        title: 'Against the length of the prompt',
        blocks: [
          {
            kind: 'chart',
            title: 'Time to first token by length (HeteroLLM Fig. 14)',
            note: 'Padding climbs in steps, Pipe in small ones; Hetero-tensor has none to speak of.',
            variants: [
              {
                label: 'predicted',
                figure: lineChart({
                  x: { title: 'tokens of the prompt' },
                  y: { title: 'time to first token (s)' },
                  series: SWEPT_SYSTEMS.map((name, index) => ({
                    name,
                    colour: colour(index),
                    mode: 'lines' as const,
                    x: sweep.map((point) => point.tokens),
                    y: sweep.map(({ seconds }) => seconds[name]),
                  })),
                }),
              },
            ],
          },
        ],
      },
      {
        title: 'Where the inputs come from',
        blocks: [
          { kind: 'text', text: provenanceSentence(cluster.name, statements) },
          statementsTable(cluster.name, statements),
        ],
      },
    ],
  };
}
