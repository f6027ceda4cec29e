import type { Report, Section } from '../lib/report.ts';
import type { Paper } from './comparison.ts';
import type { Reproduction } from './compute.ts';
import { helmReport } from './helm/report.ts';
import { heterollmReport } from './heterollm/report.ts';
import { PAPER_TITLES } from './paper-titles.ts';
import { filled } from './prima/filled-table.ts';
import { reproductionReport } from './prima/report.ts';
import { summarySentence } from './sentence.ts';
import { summaryTableBlock } from './summary.ts';

/** One report of everything that the papers report: a summary, then every paper with all its sections. */
export function allReport(reproduction: Reproduction): Report {
  const { prima, helm, heterollm, summary, cells } = reproduction;
  const papers = Object.keys(PAPER_TITLES) as Paper[];
  return {
    title: 'Three papers, cell by cell',
    subtitle: `${cells.length} comparisons with what prima.cpp, HELM and HeteroLLM print`,
    summary: summarySentence(reproduction),
    sections: [
      {
        title: 'Summary',
        blocks: [
          {
            kind: 'text',
            text: 'A line per group of cells. Medians and worst errors are over cells that no constant was fitted to; fitted ones are counted beside them and in no error. Without a target nothing is claimed. Predicted: closed forms; simulated: event by event; "answer" says which of them the errors are of, where the two differ.',
          },
          ...papers.map((paper) =>
            filled(
              summaryTableBlock(
                summary.filter((row) => row.paper === paper),
                PAPER_TITLES[paper],
              ),
            ),
          ),
        ],
      },
      ...sectionsOf('prima', reproductionReport(prima)),
      ...sectionsOf('helm', helmReport(helm)),
      ...sectionsOf('heterollm', heterollmReport(heterollm)),
    ],
  };
}

/** The sections of one paper's report, its name before their titles, its summary before the first. */
function sectionsOf(paper: Paper, { sections, summary, subtitle }: Report): Section[] {
  return sections.map(({ title, blocks }, index) => ({
    title: `${PAPER_TITLES[paper]} · ${title}`,
    blocks: index === 0 ? [{ kind: 'text', text: subtitle }, { kind: 'text', text: summary }, ...blocks] : blocks,
  }));
}
