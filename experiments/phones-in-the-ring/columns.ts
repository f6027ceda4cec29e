import { formatSeconds } from '../../engine/input/format.ts';
import type { Model } from '../../engine/model/model.ts';
import { LAYER_OPERATORS, OPERATORS, type OperatorName, operatorShapes } from '../../engine/model/operators.ts';
import { chipPartitions } from '../../engine/plan/plan.ts';
import { layersText } from '../../engine/plan/plan-text.ts';
import { cutKind, type OperatorCut } from '../../engine/plan/tensor-partition.ts';
import type { Column, Table } from '../report/columns.ts';
import { rateColumn } from '../report/model-text.ts';
import type { Judged, PhonesRow } from './plans.ts';
import type { SweepPoint } from './sweeps.ts';

interface JudgedRow {
  readonly judged: Judged | undefined;
}

/** TPOT and TTFT, predicted and simulated. */
function timeColumns<Row extends JudgedRow>(): Column<Row>[] {
  return (['tpot', 'ttft'] as const).flatMap((time) =>
    (['predicted', 'simulated'] as const).map(
      (answer): Column<Row> => ({
        title: `${time.toUpperCase()}\n${answer}`,
        key: `${time}_${answer}_s`,
        value: ({ judged }) => judged?.[answer][time],
        text: ({ judged }) => (judged === undefined ? '–' : formatSeconds(judged[answer][time])),
        align: 'right',
      }),
    ),
  );
}

/** A plan and its times: the table for readers, and plans.csv. */
export const PLAN_COLUMNS: readonly Column<PhonesRow>[] = [
  { title: 'model', key: 'model', value: ({ model }) => model, label: true },
  { title: 'GiB', value: ({ bytes }) => bytes, unit: 'gibibytes' },
  { title: 'planner', key: 'planner', value: ({ planner }) => planner, label: true },
  { title: 'with', key: 'with', value: ({ variant }) => variant, label: true },
  ...timeColumns<PhonesRow>(),
  rateColumn(({ judged }) => judged?.simulated.tpot),
  {
    title: 'layers on CPU + GPU (and NPU)',
    key: 'plan',
    value: ({ plan }) => plan && layersText(plan),
    text: ({ plan, reason = '' }) =>
      plan === undefined ? reason : `${layersText(plan)}${plan.rounds > 1 ? `, k = ${plan.rounds}` : ''}`,
    wraps: true,
  },
];

/** A point of a sweep: a row of sweeps.csv. */
export const SWEEP_COLUMNS: readonly Column<SweepPoint>[] = [
  { key: 'sweep', value: ({ sweep }) => sweep },
  { key: 'factor', value: ({ factor }) => factor },
  { key: 'with', value: ({ variant }) => variant },
  { key: 'phone_layers', value: ({ phoneLayers }) => phoneLayers },
  ...timeColumns<SweepPoint>(),
];

interface CutRow {
  readonly phone: string;
  readonly operator: OperatorName;
  /** Rows of the operator's weights. */
  readonly rows: number;
  readonly promptTokens: number;
  /** `undefined` for operators that run only for the prompt's last token. */
  readonly prompt: OperatorCut | undefined;
  readonly token: OperatorCut;
}

/** How each phone of a plan cuts its operators, according to the plan. */
export function cutTable({ plan }: PhonesRow, model: Model): Table<CutRow> {
  const shapes = operatorShapes(model);
  const partitions = plan === undefined ? [] : [...chipPartitions(plan)];
  return {
    columns: CUT_COLUMNS,
    rows: partitions.flatMap(([phone, { prefill, decode, promptTokens }]) =>
      OPERATORS.map((operator): CutRow => {
        const inPrompt = LAYER_OPERATORS.find((one) => one === operator);
        const prompt = inPrompt && prefill[inPrompt];
        return { phone, operator, rows: shapes[operator].rows, promptTokens, prompt, token: decode[operator] };
      }),
    ),
    groups: true,
  };
}

const CUT_COLUMNS: readonly Column<CutRow>[] = [
  { title: 'phone', value: ({ phone }) => phone, label: true },
  { title: 'operator', value: ({ operator }) => operator, label: true },
  {
    title: 'prompt',
    value: ({ prompt, rows, promptTokens }) => prompt && cutKind(prompt, rows, promptTokens),
    label: true,
  },
  { title: 'NPU: rows', value: ({ prompt, rows }) => prompt && `${prompt.npuRows} of ${rows}`, align: 'right' },
  { title: 'graphs', value: ({ prompt }) => prompt?.npuLengths.join(' + ') },
  { title: 'token', value: ({ token, rows }) => cutKind(token, rows, 1), label: true },
  { title: 'NPU: rows', value: ({ token, rows }) => `${token.npuRows} of ${rows}`, align: 'right' },
];
