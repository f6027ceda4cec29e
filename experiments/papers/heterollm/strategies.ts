import type { Answer, Comparison } from '../comparison.ts';
import { isTest } from '../comparison.ts';

/** Two systems of which the paper prints which one is faster, and what comes out here. */
export interface OrderedPair {
  readonly cell: string;
  readonly faster: string;
  readonly slower: string;
  /** Whether both are strategies of the paper's own engine, rather than other programs. */
  readonly isStrategy: boolean;
  /** Speed-up by the answers; undefined where there is none. */
  readonly ratio: Readonly<Record<Answer, number | undefined>>;
}

/** Programs of others: their times follow from one factor each on the roofline of their processor (engines.ts). */
const ENGINES: ReadonlySet<string> = new Set(['MNN', 'MNN-OpenCL', 'MLC', 'llama.cpp']);

const OVER = /speedup over (?!\[|the other)(.*?)(?: \(max\))?$/;
/** The smallest of several reductions orders the pair. */
const AGAINST = /^latency reduction against (\S+) \(min\)$/;
const RELATIVE = /^latency relative to (\S+) \(average\)$/;

/** Ratio of two systems' speeds, with the pair in the order that the paper prints. */
interface Statement {
  readonly one: Comparison;
  readonly faster: string;
  readonly slower: string;
}

/** The paper's statement about two systems; undefined for any other figure. */
function statementOf(one: Comparison): Statement | undefined {
  const { row, column } = one.cell;
  const subject = row.split(',')[0] ?? row;
  const slower = (OVER.exec(column) ?? AGAINST.exec(column))?.[1];
  if (slower !== undefined) return { one, faster: subject, slower };
  const faster = RELATIVE.exec(column)?.[1];
  return faster === undefined ? undefined : { one, faster, slower: subject };
}

/** A gain of 23.4 % is 1.234 ×, and 13.2 % less time 1.15 ×. */
function speedup(value: Comparison['predicted'], unit: string): number | undefined {
  if (typeof value !== 'number') return undefined;
  return unit === 'gain' ? 1 + value : unit === 'share' ? 1 / (1 - value) : value;
}

const times = ({ one }: Statement, answer: Answer | 'published'): number | undefined => speedup(one[answer], one.unit);

/**
 * Every pair of systems that the paper orders: a system and what it is said to be faster than, and two that it is
 * faster than by different factors in one setting. A pair whose figures were all fitted to tests nothing, and is left out.
 */
export function orderedPairs(comparisons: readonly Comparison[]): OrderedPair[] {
  const statements = comparisons.flatMap((one) => statementOf(one) ?? []);
  const pairOf = (
    { one: { cell } }: Statement,
    [faster, slower]: readonly [string, string],
    ratio: (answer: Answer) => number | undefined,
  ): OrderedPair => ({
    cell: `${cell.table}, ${cell.row}`,
    faster,
    slower,
    isStrategy: ![faster, slower].some((name) => ENGINES.has(name)),
    ratio: { predicted: ratio('predicted'), simulated: ratio('simulated') },
  });
  return statements.flatMap((own, index) => {
    const others = statements
      .slice(index + 1)
      .filter(({ one }) => one.cell.row === own.one.cell.row && one.cell.table === own.one.cell.table);
    const direct = isTest(own.one) ? [pairOf(own, [own.faster, own.slower], (answer) => times(own, answer))] : [];
    const between = others.flatMap((other): OrderedPair[] => {
      if (own.slower === other.slower || own.faster !== other.faster || (!isTest(own.one) && !isTest(other.one)))
        return [];
      const isFirst = (times(own, 'published') ?? 0) < (times(other, 'published') ?? 0);
      const [near, far] = isFirst ? [own, other] : [other, own];
      const ratio = (answer: Answer): number | undefined => {
        const [less, more] = [times(near, answer), times(far, answer)];
        return less === undefined || more === undefined ? undefined : more / less;
      };
      return [pairOf(own, [near.slower, far.slower], ratio)];
    });
    return [...direct, ...between];
  });
}

/** Whether a pair comes out in the printed order, by simulation: not all have a prediction. */
export function orderAgrees({ ratio: { simulated } }: OrderedPair): boolean {
  return simulated !== undefined && simulated > 1;
}
