import { createProgress } from '../../engine/terminal/progress.ts';
import { formatTable, wrapText } from '../../engine/terminal/table.ts';
import { renderReport } from '../lib/report.ts';
import { checkOutput, writeFiles } from '../lib/write.ts';
import { cellsCsv } from './cells-csv.ts';
import { computeAll, type Reproduction } from './compute.ts';
import { summaryMarkdown } from './markdown.ts';
import { PAPER_TITLES } from './paper-titles.ts';
import { errorRecord } from './record.ts';
import { allReport } from './report.ts';
import { SUMMARY_COLUMNS, summaryCells } from './summary.ts';

/** Comparisons of all papers, about: progress counts them. */
const STEPS = 440;
const WIDTH = 150;

/** `reproduce all`: one report, one table of cells, the summary as Markdown, and the record that the drift gate holds. */
export async function reproduceAll({ out, json }: { readonly out: string; readonly json: boolean }): Promise<void> {
  checkOutput(out);
  const progress = createProgress(STEPS);
  let result: Reproduction;
  try {
    result = await computeAll(progress.step);
  } finally {
    progress.stop();
  }
  const { summary, cells } = result;
  const text = `${JSON.stringify({ experiment: 'reproduce', paper: 'all', summary, cells }, null, 2)}\n`;
  const report = allReport(result);
  writeFiles(
    out,
    new Map([
      ['report.html', renderReport(report)],
      ['cells.csv', cellsCsv(cells)],
      ['cells.json', text],
      ['summary.md', summaryMarkdown(summary)],
      ['errors.csv', errorRecord(cells)],
    ]),
  );
  if (json) {
    process.stdout.write(text);
    return;
  }
  const columns = SUMMARY_COLUMNS.map(({ title, align }, index) => ({
    title,
    ...(align && { align }),
    wraps: index < 2 || index === SUMMARY_COLUMNS.length - 1,
  }));
  for (const [paper, title] of Object.entries(PAPER_TITLES)) {
    const rows = summary.filter((row) => row.paper === paper).map(summaryCells);
    process.stdout.write(`${title}\n${formatTable(columns, rows, WIDTH)}\n`);
  }
  const files = `Report: ${out}/report.html (beside it cells.csv, cells.json, summary.md, errors.csv)`;
  process.stdout.write(`${wrapText(report.summary, 118).join('\n')}\n${files}\n`);
}
