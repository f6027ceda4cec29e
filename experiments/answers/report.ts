import { formatDeviation, formatPercent, formatSeconds } from '../../engine/input/format.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { layersText } from '../../engine/plan/plan-text.ts';
import { excerpt } from '../../engine/trace/excerpt.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import { type Column, type Table, tableBlock } from '../report/columns.ts';
import { errorTone } from '../report/error-tone.ts';
import type { Page } from '../report/page/page.ts';
import { HOW_TO_READ, timelineBlocks } from '../timeline/blocks.ts';
import type { PhaseAnswer, PlanAnswer, SimulatedAnswer } from './answers.ts';
import type { MeasuredAnswer } from './measure-ring.ts';
import { PARTS, type Part } from './parts.ts';

/** The answers for one plan. */
export interface PlanAnswers {
  /** The plan's file. */
  readonly file: string;
  /** The plan as it was carried out, or as it is in the file. */
  readonly plan: Plan;
  readonly predicted: PlanAnswer;
  readonly simulated: SimulatedAnswer;
  /** The measured answer, or why there is none. */
  readonly measured: MeasuredAnswer | string;
}

/** The whole time of a phase, or one of its parts. */
interface AnswerRow {
  readonly phase: 'ttft' | 'tpot';
  readonly part: Part | 'all';
  readonly predicted: number | undefined;
  readonly simulated: number | undefined;
  readonly measured: number | undefined;
  /** Half the range of the middle half of the runs, as a share. */
  readonly spread: number | undefined;
}

const TITLES = { tpot: 'A token (TPOT)', ttft: 'The prompt (TTFT)' } as const;

/** Median errors that are aimed at, by which cells are coloured. */
const AIM = 0.1;

/** How far an answer is from what was measured: a ratio for a phase, seconds for one of its parts. */
function difference(row: AnswerRow, answer: 'predicted' | 'simulated'): string {
  const { [answer]: found, measured, part } = row;
  if (found === undefined || measured === undefined) return '';
  if (part === 'all') return formatDeviation(found / measured);
  const seconds = found - measured;
  return seconds === 0 ? '' : `${seconds > 0 ? '+' : '−'}${formatSeconds(Math.abs(seconds))}`;
}

const answerColumns = (title: string, answer: 'predicted' | 'simulated'): Column<AnswerRow>[] => [
  { title, key: `${answer}_s`, value: (row) => row[answer], unit: 'seconds' },
  {
    ...{ title: 'differs', align: 'right', value: () => undefined, text: (row) => difference(row, answer) },
    tone: ({ [answer]: found, measured, part }) =>
      part === 'all' && found !== undefined && measured !== undefined
        ? errorTone(found / measured - 1, AIM)
        : undefined,
  },
];

const COLUMNS: readonly Column<AnswerRow>[] = [
  { title: 'phase', value: ({ phase, part }) => (part === 'all' ? TITLES[phase] : `  ${part}`), label: true },
  { key: 'phase', value: ({ phase }) => phase },
  { key: 'part', value: ({ part }) => part },
  ...answerColumns('predicted', 'predicted'),
  ...answerColumns('simulated', 'simulated'),
  { title: 'measured', key: 'measured_s', value: ({ measured }) => measured, unit: 'seconds' },
  {
    ...{ title: 'spread', key: 'measured_spread', align: 'right', value: ({ spread }) => spread },
    text: ({ spread }) => (spread === undefined ? '' : `± ${formatPercent(spread)}`),
  },
];

/** Times of both phases, each followed by its parts. */
export function answersTable(answers: PlanAnswers): Table<AnswerRow> {
  const { predicted, simulated } = answers;
  const measured = typeof answers.measured === 'string' ? undefined : answers.measured;
  const rows = (['tpot', 'ttft'] as const).flatMap((phase) => {
    const value = (answer: PlanAnswer | undefined, part: Part | 'all'): number | undefined => {
      const one: PhaseAnswer | undefined = answer?.[phase];
      return part === 'all' ? one?.seconds : one?.parts?.[part];
    };
    return (['all', ...PARTS] as const).map(
      (part): AnswerRow => ({
        ...{ phase, part },
        predicted: value(predicted, part),
        simulated: value(simulated, part),
        measured: value(measured, part),
        spread: part === 'all' ? measured?.samples[phase].spread : undefined,
      }),
    );
  });
  return { columns: COLUMNS, rows, sparse: true };
}

/** The answers in sentences: how far they are apart and which part makes the most of it. */
export function findings({ predicted, simulated, measured }: PlanAnswers): string[] {
  if (typeof measured === 'string')
    return [
      `A token: predicted ${formatSeconds(predicted.tpot.seconds)}, simulated ${formatSeconds(simulated.tpot.seconds)}.`,
      `Not measured: ${measured}.`,
    ];
  return (['predicted', 'simulated'] as const).map((name) => {
    const { tpot } = { predicted, simulated }[name];
    const error = formatDeviation(tpot.seconds / measured.tpot.seconds);
    const whole = `A token: ${name} ${formatSeconds(tpot.seconds)}, measured ${formatSeconds(measured.tpot.seconds)}, ${error}`;
    const [parts, real] = [tpot.parts, measured.tpot.parts];
    if (parts === undefined || real === undefined) return `${whole}.`;
    const [most] = PARTS.map((part) => ({ part, seconds: parts[part] - real[part] })).sort(
      (a, b) => Math.abs(b.seconds) - Math.abs(a.seconds),
    );
    if (most === undefined || most.seconds === 0) return `${whole}.`;
    const sign = most.seconds > 0 ? 'more' : 'less';
    return `${whole}; most of the difference is ${most.part}: ${formatSeconds(Math.abs(most.seconds))} ${sign} than measured.`;
  });
}

/** The simulated and the measured timeline, one above the other. */
export function tracesOf({ simulated, measured }: PlanAnswers): Readonly<Record<string, Trace>> {
  const own = typeof measured === 'string' ? undefined : measured.trace;
  return { simulated: simulated.trace, ...(own && { measured: own }) };
}

/** Tokens that a page's timelines show, from the second decoded on. */
const SHOWN_TOKENS = 3;

export function answersPage(answers: PlanAnswers): Pick<Page, 'title' | 'sections'> {
  const timelines = Object.entries(tracesOf(answers)).flatMap(([title, trace]) => {
    const decoded = trace.tokens.filter(({ phase }) => phase === 'decode');
    const [first, last] = [decoded[1], decoded.slice(1, 1 + SHOWN_TOKENS).at(-1)];
    if (first === undefined || last === undefined) return [];
    return [{ title: `Some tokens, ${title}`, note: HOW_TO_READ, trace: excerpt(trace, first.start, last.end) }];
  });
  return {
    title: `One plan, three answers: ${layersText(answers.plan)}`,
    sections: [
      { title: 'Timelines', blocks: timelineBlocks(timelines) },
      { title: 'By part', blocks: [tableBlock(answersTable(answers))] },
    ],
  };
}
