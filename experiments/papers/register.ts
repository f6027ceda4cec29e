import { BLIND, type RegisteredError } from '../../datasets/register.ts';
import { type Column, tableBlock } from '../report/columns.ts';
import { median } from '../report/median.ts';
import type { Section } from '../report/page/page.ts';
import { type Accuracy, accuracyOf } from './accuracy.ts';
import type { PaperName } from './comparison.ts';
import { PAPER_TITLES } from './summary.ts';

/** Effect of a choice on the errors of one table's cells. */
interface Effect {
  readonly choice: string;
  readonly paper: string;
  readonly table: string;
  readonly answer: string;
  readonly cells: readonly RegisteredError[];
}

/** The errors of a choice, table by table and answer by answer. */
export function effectsOf(register: readonly RegisteredError[]): Effect[] {
  const groups = new Map<string, Effect & { readonly cells: RegisteredError[] }>();
  for (const one of register) {
    const { choice, paper, table, answer } = one;
    const key = [choice, paper, table, answer].join('\n');
    const group = groups.get(key) ?? { choice, paper, table, answer, cells: [] };
    group.cells.push(one);
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** The median of absolute errors; `undefined` where none is a number. */
export function medianError(cells: readonly RegisteredError[], when: 'before' | 'after'): number | undefined {
  const errors = cells.flatMap((one) => (one[when] === '' || Number.isNaN(Number(one[when])) ? [] : Number(one[when])));
  return errors.length === 0 ? undefined : median(errors.map(Math.abs));
}

/** First errors of the cells that were computed after the model was fixed. */
export function blindAccuracy(register: readonly RegisteredError[], answer: RegisteredError['answer']) {
  const blind = register.filter((one) => one.choice === BLIND && one.answer === answer);
  return accuracyOf(blind.flatMap(({ after }) => (after === '' || Number.isNaN(Number(after)) ? [] : Number(after))));
}

const titleOf = (paper: string): string => PAPER_TITLES[paper as PaperName] ?? paper;

const COLUMNS: readonly Column<Effect>[] = [
  { title: 'choice', value: ({ choice }) => choice, label: true },
  { title: 'paper', value: ({ paper }) => titleOf(paper), label: true },
  { title: 'table', value: ({ table }) => table, label: true },
  { title: 'answer', value: ({ answer }) => answer, label: true },
  { title: 'cells', value: ({ cells }) => cells.length, unit: 'count' },
  { title: 'median before', value: ({ cells }) => medianError(cells, 'before'), unit: 'share' },
  { title: 'median after', value: ({ cells }) => medianError(cells, 'after'), unit: 'share' },
];

/** The section of the report on choices that were made after cells were seen. */
export function registerSection(register: readonly RegisteredError[]): Section {
  const blind = (['predicted', 'simulated'] as const).map(
    (answer) => [answer, blindAccuracy(register, answer)] as const,
  );
  const count = (accuracy: Accuracy | undefined): number => accuracy?.cells ?? 0;
  const found = blind.map(([answer, accuracy]) => `${count(accuracy)} ${answer}`).join(', ');
  return {
    title: 'Choices made after cells were seen',
    blocks: [
      {
        kind: 'text',
        text: `Each choice has a reason from outside the cells (datasets/published/PROTOCOL.md), and was made by people who had seen their errors. First errors of blind cells on record: ${found}. All cells that nothing was fitted to are otherwise seen.`,
      },
      tableBlock({ columns: COLUMNS, rows: effectsOf(register), groups: true }, { title: 'What the choices did' }),
    ],
  };
}
