import { formatSeconds } from '../../engine/input/format.ts';
import type { Model } from '../../engine/model/model.ts';
import { CHIP_SYSTEMS, type ChipSystemName } from '../../engine/schedule/tensor-partition/systems.ts';
import type { OperatorDecision } from '../../engine/schedule/tensor-partition/tensor-partition.ts';
import { barChart, lineChart } from '../report/charts/chart.ts';
import { colour } from '../report/charts/colours.ts';
import { type Column, type Table, tableBlock } from '../report/columns.ts';
import type { Results } from '../report/experiment.ts';
import { type CutPrompt, cutText, reasonText, rowsOf, type SystemResult } from './cuts.ts';
import { SWEPT_SYSTEMS, type SweepPoint } from './sweep.ts';

/** Every system's time for the prompt. */
export function systemsTable({ systems, tokens }: CutPrompt): Table<SystemResult> {
  const own = systems.find(({ system }) => system === 'hetero-tensor') as SystemResult;
  return {
    columns: [
      { title: 'system', value: ({ system }) => system, label: true },
      { title: 'predicted', value: ({ predictedSeconds }) => predictedSeconds, unit: 'seconds' },
      { title: 'simulated', value: ({ simulatedSeconds }) => simulatedSeconds, unit: 'seconds' },
      { title: 'tok/s', value: ({ predictedSeconds }) => (tokens / predictedSeconds).toFixed(1), align: 'right' },
      {
        title: 'over Hetero-tensor',
        value: ({ predictedSeconds }) => `${(predictedSeconds / own.predictedSeconds).toFixed(2)} ×`,
        align: 'right',
      },
      { title: 'how it cuts', value: ({ system }) => CHIP_SYSTEMS[system].description, wraps: true },
    ],
    rows: systems,
  };
}

/** The operators of the prompt as a system cuts them, with the reason. */
export function decisionsTable(model: Model, prompt: CutPrompt, system: ChipSystemName): Table<OperatorDecision> {
  const { decisions } = prompt.systems.find((one) => one.system === system) as SystemResult;
  return {
    columns: [
      { title: 'operator', value: ({ operator }) => operator, label: true },
      { title: 'cut', value: ({ best }) => best.kind, label: true },
      {
        title: 'who has what',
        value: (decision) => cutText(decision.best.cut, rowsOf(model, decision), decision.tokens),
      },
      { title: 'why', value: reasonText, wraps: true },
    ],
    rows: decisions.filter(({ phase }) => phase === 'prefill'),
  };
}

/** Predicted seconds by length of the prompt. */
export const SWEEP: readonly Column<SweepPoint>[] = [
  { key: 'tokens', value: ({ tokens }) => tokens },
  ...SWEPT_SYSTEMS.map((name): Column<SweepPoint> => ({ key: name, value: ({ seconds }) => seconds[name] })),
];

export function cuttingSummary({ tokens, published, systems }: CutPrompt): string {
  const seconds = (name: SystemResult['system']): number =>
    (systems.find(({ system }) => system === name) as SystemResult).predictedSeconds;
  const own = seconds('hetero-tensor');
  return `Cutting each operator by rows and tokens takes ${formatSeconds(own)}; padding the prompt takes ${formatSeconds(seconds('padding'))}. The rule of the paper’s text cuts tokens only, ${tokens} = ${published} (graphs on the NPU, the remainder on the GPU), and takes ${formatSeconds(seconds('sequence-cutting'))}. Several graphs in turn take ${formatSeconds(seconds('pipe'))}, a graph generated on the spot ${formatSeconds(seconds('online-prepare'))}.`;
}

export function cuttingPage(
  prompt: CutPrompt,
  sweep: readonly SweepPoint[],
  model: Model,
): NonNullable<Results['page']> {
  const { systems, tokens } = prompt;
  const tables = (['hetero-tensor', 'sequence-cutting'] as const).map((name) =>
    tableBlock(decisionsTable(model, prompt, name), { title: `${name}: ${CHIP_SYSTEMS[name].description}` }),
  );
  return {
    title: `A prompt of ${tokens} tokens on GPU and NPU`,
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
          tableBlock(systemsTable(prompt)),
        ],
      },
      { title: 'Which operator is cut how, and why', blocks: tables },
      {
        title: 'Against the length of the prompt',
        blocks: [
          {
            kind: 'chart',
            title: 'Time to first token by length (HeteroLLM Fig. 14)',
            note: 'Padding rises in steps, Pipe in small ones; Hetero-tensor has hardly any.',
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
    ],
  };
}
