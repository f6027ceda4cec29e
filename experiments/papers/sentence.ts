import { enumerate } from '../../engine/terminal/format.ts';
import type { Paper } from './comparison.ts';
import type { Reproduction } from './compute.ts';
import { PAPER_TITLES } from './paper-titles.ts';

/** How many targets are kept, paper by paper, and how many cells were fitted to; every number is counted. */
export function summarySentence({ summary, cells }: Pick<Reproduction, 'summary' | 'cells'>): string {
  const kept = (Object.keys(PAPER_TITLES) as Paper[]).map((paper) => {
    const aimed = summary.filter((row) => row.paper === paper && row.met !== undefined);
    return `${PAPER_TITLES[paper]} ${aimed.filter(({ met }) => met).length} of ${aimed.length}`;
  });
  const missed = summary.filter(({ met }) => met === false);
  const fitted = cells.filter(({ use }) => use === 'fit').length;
  const names = missed.map(({ paper, table, what }) => {
    const place = /^\d/.test(table) ? `Table ${table}` : table;
    return `${PAPER_TITLES[paper]}, ${place}: ${what}`;
  });
  return [
    `Targets that are kept: ${enumerate(kept)}.`,
    ...(missed.length === 0 ? [] : [`Missed: ${names.join('; ')}.`]),
    `Of ${cells.length} comparisons, ${fitted} are with cells that constants were fitted to or may be, or with other prints of the same quantity; no error above has them.`,
  ].join(' ');
}
