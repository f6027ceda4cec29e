/**
 * The three groups of cells (datasets/published/PROTOCOL.md). Errors of one group say nothing about another: fitted cells
 * show what the form of a model can reach, seen ones were known to whoever made the models, blind ones are a test.
 */

import { BLIND, type RegisteredError } from '../../datasets/register.ts';
import { accuracyOf } from './accuracy.ts';
import {
  ANSWERS,
  type Answer,
  type Comparison,
  configurationCount,
  inPoints,
  OCTAVES,
  type PaperName,
} from './comparison.ts';
import { PAPER_TITLES } from './summary.ts';
import { errorText, medianText } from './text.ts';

export const GROUPS = ['fitted', 'seen', 'blind'] as const;
export type Group = (typeof GROUPS)[number];

type Place = Pick<RegisteredError, 'paper' | 'table' | 'row' | 'column'>;
const keyOf = ({ paper, table, row, column }: Place): string => [paper, table, row, column].join('\n');
const placeOf = ({ paper, cell }: Pick<Comparison, 'paper' | 'cell'>): string => keyOf({ ...cell, paper });

/** Places of the cells whose first error is on record. */
export type BlindCells = ReadonlySet<string>;

/**
 * The blind cells of a register: those with a first error, unless a choice was made after one of their errors was seen.
 */
export function blindCells(register: readonly RegisteredError[]): BlindCells {
  const steered = new Set(register.filter(({ choice }) => choice !== BLIND).map(keyOf));
  return new Set(
    register.filter(({ choice }) => choice === BLIND).flatMap((one) => (steered.has(keyOf(one)) ? [] : keyOf(one))),
  );
}

/** The group of a cell. Seen is the rule: a cell is blind only if the register has its first error. */
export function groupOf(one: Pick<Comparison, 'paper' | 'use' | 'cell'>, blind: BlindCells): Group {
  if (one.use === 'fit') return 'fitted';
  return blind.has(placeOf(one)) ? 'blind' : 'seen';
}

/** Comparisons by the main reading of each system: one for every printed cell. */
export function mainReadings(comparisons: readonly Comparison[]): Comparison[] {
  const main = new Map<string, Comparison>();
  for (const one of comparisons) {
    const key = [one.cell.paper, placeOf(one)].join('\n');
    if (!main.has(key)) main.set(key, one);
  }
  return [...main.values()];
}

/** `12 % (+212 %), 2.4 pp (−5.4 pp)`: relative errors, those of shares and gains, and octaves stand apart. */
export function errorsText(comparisons: readonly Comparison[], answer: Answer): string {
  const kindOf = (unit: string): string => (inPoints(unit) ? 'share' : unit === OCTAVES ? OCTAVES : '');
  const parts = ['', 'share', OCTAVES].flatMap((kind): string[] => {
    const own = comparisons.filter(({ unit }) => kindOf(unit) === kind);
    const accuracy = accuracyOf(own.flatMap((one) => one[`${answer}Error`] ?? []));
    if (accuracy === undefined) return [];
    const worst = own.find((one) => one[`${answer}Error`] === accuracy.worst);
    return [`${medianText(kind, accuracy.median)} (${errorText(kind, accuracy.worst)}${digitRange(worst, answer)})`];
  });
  return parts.join(', ') || '–';
}

/** Half-width from which a print's last digit is worth telling with an error. */
const COARSE = 0.1;

/** `; −41 % to +76 % within its digit`: the error over all values that a coarse print may stand for. */
function digitRange(one: Comparison | undefined, answer: Answer): string {
  const error = one?.[`${answer}Error`];
  const { noise = 0, unit = '', cell } = one ?? {};
  if (error === undefined || cell?.noiseFrom !== 'rounding' || noise < COARSE || inPoints(unit)) return '';
  const [low, high] = [1 + noise, 1 - noise].map((share) => errorText(unit, (1 + error) / share - 1));
  return `; ${low} to ${high} within its digit`;
}

/** groups.md: a line for every paper and group as Markdown. */
export function groupsMarkdown(comparisons: readonly Comparison[], blind: BlindCells): string {
  const header = [
    'paper',
    'group',
    'prints',
    'configurations',
    'predicted: median (worst)',
    'simulated: median (worst)',
  ];
  const numbers = mainReadings(comparisons).filter((one) => (one.predictedError ?? one.simulatedError) !== undefined);
  const lines = (Object.keys(PAPER_TITLES) as PaperName[]).flatMap((paper) =>
    GROUPS.map((group) => {
      const own = numbers.filter((one) => one.paper === paper && groupOf(one, blind) === group);
      const errors = ANSWERS.map((answer) => errorsText(own, answer));
      return [PAPER_TITLES[paper], group, String(own.length), String(configurationCount(own)), ...errors];
    }),
  );
  return [header, header.map((_, index) => (index < 2 ? '---' : '--:')), ...lines]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('');
}
