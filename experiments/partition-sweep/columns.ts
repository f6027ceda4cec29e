import { formatPercent, formatSeconds, threeDigits } from '../../engine/input/format.ts';
import { layersText } from '../../engine/plan/plan-text.ts';
import type { Column, Table } from '../report/columns.ts';
import { rateColumn } from '../report/model-text.ts';
import type { Choice, JudgedChoice } from './choices.ts';
import { thousands } from './findings.ts';
import type { Group } from './landscape.ts';
import { MIXED } from './marks.ts';
import { policyOf } from './policies.ts';
import type { RankedPlan, Summary } from './summary.ts';

/** Each scheduler's plan, and its rank among the plans of the sweep. */
export function choiceTable({ choices, runnable }: Summary): Table<Choice> {
  const planOf = (choice: Choice) => (choice.status === 'none' ? undefined : choice.plan);
  return {
    columns: [
      { title: 'scheduler', value: ({ scheduler }) => scheduler, label: true },
      { title: 'TPOT,\nsimulated', value: (choice) => judged(choice)?.seconds ?? '–', unit: 'seconds' },
      rateColumn((choice) => judged(choice)?.seconds),
      { title: 'above\nthe best found', value: (choice) => judged(choice)?.ratio, unit: 'deviation' },
      {
        title: 'faster plans',
        value: (choice) => {
          const faster = judged(choice)?.faster;
          return faster === undefined ? '' : `${thousands(faster)} (${formatPercent(faster / runnable)})`;
        },
        align: 'right',
      },
      { title: 'TPOT,\npredicted', value: (choice) => judged(choice)?.predicted, unit: 'seconds' },
      { title: 'k', value: (choice) => planOf(choice)?.rounds, unit: 'count' },
      { title: 'output', value: (choice) => planOf(choice)?.output.processor, label: true },
      {
        title: 'policy',
        value: (choice) => {
          const plan = planOf(choice);
          return plan && (policyOf(plan) ?? MIXED);
        },
        label: true,
      },
      { title: 'under\nthe best policy', value: (choice) => bestPolicyText(judged(choice)), align: 'right' },
      // Reasons break at spaces, lists of devices after commas.
      { title: 'layers: CPU+GPU', value: choiceText, wraps: choices.every(judged) ? 'items' : true },
    ],
    rows: choices,
  };
}

function judged(choice: Choice): JudgedChoice | undefined {
  return choice.status === 'judged' ? choice : undefined;
}

function bestPolicyText(choice: JudgedChoice | undefined): string {
  if (choice === undefined) return '';
  const { bestPolicy, seconds } = choice;
  if (bestPolicy === undefined || bestPolicy.seconds >= seconds) return 'its own';
  return `${formatSeconds(bestPolicy.seconds)} ${bestPolicy.policy}`;
}

/** The layers of a plan, or the reason why it can't be run or why there is none. */
function choiceText(choice: Choice): string {
  switch (choice.status) {
    case 'none':
      return choice.message;
    case 'unrunnable':
      return `${layersText(choice.plan)}: ${choice.message}`;
    case 'judged':
      return layersText(choice.plan);
  }
}

/** The fastest plans, the first `count` of them. */
export function bestTable({ best }: Summary, count: number): Table<RankedPlan> {
  return {
    columns: [
      { title: 'rank', value: (plan) => best.indexOf(plan) + 1, unit: 'count' },
      { title: 'plan', value: ({ plan }) => plan, unit: 'count' },
      { title: 'TPOT,\nsimulated', value: ({ seconds }) => seconds, unit: 'seconds' },
      rateColumn(({ seconds }) => seconds),
      { title: 'TPOT,\npredicted', value: ({ predicted }) => predicted, unit: 'seconds' },
      { title: 'k', value: ({ rounds }) => rounds, unit: 'count' },
      { title: 'output', value: ({ output }) => output, label: true },
      { title: 'policy', value: ({ policy }) => policy, label: true },
      { title: 'layers: CPU+GPU', value: ({ layers }) => layers, wraps: 'items' },
    ],
    rows: best.slice(0, count),
  };
}

/** Times by rounds and policy, and how far closed forms and simulation agree on the order of the plans. */
export const GROUP_COLUMNS: readonly Column<Group>[] = [
  { title: 'rounds', value: ({ rounds }) => `k = ${rounds}`, label: true },
  { title: 'policy', value: ({ policy }) => policy, label: true },
  { title: 'plans', value: ({ plans }) => thousands(plans), align: 'right' },
  { title: 'that run', value: ({ seconds }) => thousands(seconds.length), align: 'right' },
  { title: 'fastest', value: ({ seconds }) => seconds[0] ?? '–', unit: 'seconds' },
  { title: 'slowest', value: ({ seconds }) => seconds.at(-1) ?? '–', unit: 'seconds' },
  {
    title: 'rank correlation with the closed forms',
    value: ({ agreement }) => (Number.isNaN(agreement) ? '–' : threeDigits(agreement)),
    align: 'right',
  },
];
