import type { Conflict, PaperName } from './comparison.ts';
import type { Reproduced } from './paper.ts';
import { PAPER_TITLES } from './summary.ts';

const cells = (texts: readonly string[]): string =>
  `| ${texts.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |\n`;

function conflictTable(conflicts: readonly Conflict[]): string {
  const rows = conflicts.map(({ subject, printed, against, here }) => [subject, printed, against, here]);
  return [['what', 'printed', 'against it', 'here'], ['---', '---', '---', '---'], ...rows].map(cells).join('');
}

/**
 * contradictions.md: what remains contradicted, paper by paper, with the arithmetic. Conflicts of a paper with itself
 * stand in a table, remarks on a table of the paper in a list.
 */
export function contradictionsMarkdown(papers: Readonly<Record<PaperName, Reproduced>>): string {
  return (Object.keys(papers) as PaperName[])
    .map((name) => {
      const { conflicts, remarks } = papers[name];
      const lists = remarks.map(({ title, texts }) => `**${title}**\n\n${texts.map((text) => `- ${text}\n`).join('')}`);
      const tables = conflicts.length === 0 ? [] : [conflictTable(conflicts)];
      return [`### ${PAPER_TITLES[name]}\n`, ...tables, ...lists].join('\n');
    })
    .join('\n');
}
