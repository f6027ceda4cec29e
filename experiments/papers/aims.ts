import type { Answer, PaperName } from './comparison.ts';
import { PAPER_TITLES } from './summary.ts';

/** Aim of the models as a whole for some cells of a paper, and what they reach; stated before it was known. */
export interface Aim {
  readonly paper: PaperName;
  /** The cells that the aim is about. */
  readonly subject: string;
  /** `median ≤ 12 %` */
  readonly target: string;
  readonly answer: Answer | 'both';
  readonly found: string;
  readonly isKept: boolean;
}

/** aims.md: a line for every aim, kept or missed, as Markdown. */
export function aimsMarkdown(aims: readonly Aim[]): string {
  const header = ['paper', 'cells', 'aim', 'answer', 'reached', 'kept'];
  const lines = aims.map(({ paper, subject, target, answer, found, isKept }) => [
    ...[PAPER_TITLES[paper], subject, target, answer, found],
    isKept ? 'yes' : 'no',
  ]);
  return [header, header.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}
