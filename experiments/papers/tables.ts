import { type Column, tableBlock } from '../report/columns.ts';
import { errorTone, USUAL_LIMIT } from '../report/error-tone.ts';
import type { Section, Tone } from '../report/page/page.ts';
import { ANSWERS, type Answer, type Comparison, type Conflict, isTest, type Quantity, USES } from './comparison.ts';
import { errorText, halfWidthText } from './text.ts';

/** How the values of a paper's cells are written. */
export type ValueText<One extends Comparison> = (quantity: Quantity | undefined, one: One) => string;

/** `fit` or `held out`. */
export const USE_COLUMN: Column<Pick<Comparison, 'use'>> = {
  title: 'use',
  value: ({ use }) => USES[use].name,
  label: true,
};

/** `±15 %`, where a target is set. */
export const TARGET_COLUMN: Column<Pick<Comparison, 'target'>> = {
  title: 'target',
  value: ({ target }) => target,
  text: ({ target }) => (target === undefined ? '' : halfWidthText('', target)),
  align: 'right',
};

/** The printed figure. */
export function publishedColumn<One extends Comparison>(text: ValueText<One>): Column<One> {
  return {
    title: 'published',
    value: ({ published }) => published,
    text: (one) => text(one.published, one),
    align: 'right',
  };
}

/** An answer's value, and its error with a tone. */
export function answerColumns<One extends Comparison>(
  answer: Answer,
  text: ValueText<One>,
  tone: (one: One, answer: Answer) => Tone | undefined = toneOf,
): Column<One>[] {
  const error = (one: One): number | undefined => one[`${answer}Error`];
  return [
    { title: answer, value: (one) => one[answer], text: (one) => text(one[answer], one), align: 'right' },
    {
      title: 'error',
      value: error,
      text: (one) => errorText(one.unit, error(one)),
      align: 'right',
      tone: (one) => tone(one, answer),
    },
  ];
}

/** Both answers with their errors. */
export function bothAnswers<One extends Comparison>(
  text: ValueText<One>,
  tone?: (one: One, answer: Answer) => Tone | undefined,
): Column<One>[] {
  return ANSWERS.flatMap((answer) => answerColumns(answer, text, tone));
}

/**
 * Green within the target (25 % where none is set) or the noise, yellow within twice that. Fitted cells prove nothing.
 */
export function toneOf({ use, target, noise = 0, ...one }: Comparison, answer: Answer): Tone | undefined {
  const error = one[`${answer}Error`];
  if (!isTest({ use }) || error === undefined) return undefined;
  return errorTone(error, Math.max(target ?? USUAL_LIMIT, noise));
}

/** The contradictions of a paper with itself. */
export function conflictsSection(title: string, conflicts: readonly Conflict[]): Section {
  const columns: readonly Column<Conflict>[] = [
    { title: 'what', value: ({ subject }) => subject },
    { title: 'printed', value: ({ printed }) => printed },
    { title: 'against it', value: ({ against }) => against },
    { title: 'here', value: ({ here }) => here },
  ];
  return { title, blocks: [tableBlock({ columns, rows: conflicts })] };
}
