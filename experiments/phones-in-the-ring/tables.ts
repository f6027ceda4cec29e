import type { Model } from '../../engine/model/model.ts';
import { LAYER_OPERATORS, OPERATORS, operatorShapes } from '../../engine/model/operators.ts';
import { chipPartitions } from '../../engine/plan/chip-partitions.ts';
import { cutKind, type OperatorCut } from '../../engine/plan/tensor-partition.ts';
import { formatSeconds, gibibytes } from '../../engine/terminal/format.ts';
import { toCsv } from '../lib/csv.ts';
import type { ReportColumn } from '../lib/report.ts';
import { layersText } from '../report/plan-text.ts';
import type { PhonesRow } from './plans.ts';
import type { SweepPoint } from './sweeps.ts';

export const PLAN_COLUMNS: readonly ReportColumn[] = [
  { title: 'model', label: true },
  { title: 'GiB', align: 'right' },
  { title: 'planner', label: true },
  { title: 'with', label: true },
  { title: 'TPOT\npredicted', align: 'right' },
  { title: 'TPOT\nsimulated', align: 'right' },
  { title: 'TTFT\npredicted', align: 'right' },
  { title: 'TTFT\nsimulated', align: 'right' },
  { title: 'layers on CPU + GPU (and NPU)' },
];

export function planCells(rows: readonly PhonesRow[]): string[][] {
  return rows.map(({ model, bytes, planner, variant, plan, judged, reason = '' }) => {
    const times = judged && [
      judged.predicted.tpot,
      judged.simulated.tpot,
      judged.predicted.ttft,
      judged.simulated.ttft,
    ];
    return [
      model,
      gibibytes(bytes),
      planner,
      variant,
      ...(times?.map(formatSeconds) ?? ['–', '–', '–', '–']),
      plan === undefined ? reason : `${layersText(plan)}${plan.rounds > 1 ? `, k = ${plan.rounds}` : ''}`,
    ];
  });
}

export const CUT_COLUMNS: readonly ReportColumn[] = [
  { title: 'phone', label: true },
  { title: 'operator', label: true },
  { title: 'prompt', label: true },
  { title: 'NPU: rows', align: 'right' },
  { title: 'graphs' },
  { title: 'token', label: true },
  { title: 'NPU: rows', align: 'right' },
];

/** How each phone of a plan cuts its operators, as the plan says it. */
export function cutCells({ plan }: PhonesRow, model: Model): string[][] {
  if (plan === undefined) return [];
  const shapes = operatorShapes(model);
  return [...chipPartitions(plan)].flatMap(([phone, { prefill, decode, promptTokens }]) =>
    OPERATORS.map((name) => {
      const { rows } = shapes[name];
      const prompt = LAYER_OPERATORS.find((one) => one === name);
      const cells = (cut: OperatorCut, tokens: number): [string, string] => [
        cutKind(cut, rows, tokens),
        `${cut.npuRows} of ${rows}`,
      ];
      const ofPrompt = prompt === undefined ? ['', ''] : cells(prefill[prompt], promptTokens);
      const graphs = prompt === undefined ? '' : prefill[prompt].npuLengths.join(' + ');
      return [phone, name, ...ofPrompt, graphs, ...cells(decode[name], 1)];
    }),
  );
}

export function plansCsv(rows: readonly PhonesRow[]): string {
  return toCsv(
    [
      'model',
      'planner',
      'with',
      'tpot_predicted_s',
      'tpot_simulated_s',
      'ttft_predicted_s',
      'ttft_simulated_s',
      'plan',
    ],
    rows.map(({ model, planner, variant, plan, judged }) => [
      model,
      planner,
      variant,
      judged?.predicted.tpot,
      judged?.simulated.tpot,
      judged?.predicted.ttft,
      judged?.simulated.ttft,
      plan && layersText(plan),
    ]),
  );
}

export function sweepsCsv(points: readonly SweepPoint[]): string {
  return toCsv(
    [
      'sweep',
      'factor',
      'with',
      'phone_layers',
      'tpot_predicted_s',
      'tpot_simulated_s',
      'ttft_predicted_s',
      'ttft_simulated_s',
    ],
    points.map(({ sweep, factor, variant, phoneLayers, judged }) => [
      sweep,
      factor,
      variant,
      phoneLayers,
      judged?.predicted.tpot,
      judged?.simulated.tpot,
      judged?.predicted.ttft,
      judged?.simulated.ttft,
    ]),
  );
}
