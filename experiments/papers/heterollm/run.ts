import { createProgress } from '../../../engine/terminal/progress.ts';
import { formatTable, wrapText } from '../../../engine/terminal/table.ts';
import { renderReport } from '../../lib/report.ts';
import { checkOutput, writeFiles } from '../../lib/write.ts';
import { computeHeterollm, HETEROLLM_STEPS, type HeterollmReproduction } from './compute.ts';
import { COMPARISON_COLUMNS, comparisonCells, heterollmReport } from './report.ts';
import { heterollmCsv, heterollmJson } from './results.ts';
import { HETEROLLM_CELLS } from './rules.ts';
import { summaryOf } from './summary.ts';

const WIDTH = 150;

/** `reproduce heterollm`: every figure of the paper, predicted, simulated and published; writes report, CSV and JSON. */
export function reproduceHeterollm({ out, json }: { readonly out: string; readonly json: boolean }): void {
  checkOutput(out);
  const progress = createProgress(HETEROLLM_STEPS);
  let result: HeterollmReproduction;
  try {
    result = computeHeterollm(progress.step);
  } finally {
    progress.stop();
  }
  const { comparisons } = result;
  const text = heterollmJson(result);
  const files = new Map([
    ['report.html', renderReport(heterollmReport(result))],
    ['cells.csv', heterollmCsv(result)],
    ['cells.json', text],
  ]);
  writeFiles(out, files);
  if (json) {
    process.stdout.write(text);
    return;
  }
  for (const group of HETEROLLM_CELLS) {
    const own = comparisons.filter((one) => one.group === group);
    const columns = COMPARISON_COLUMNS.map(({ title, align }, index) => ({
      title,
      ...(align && { align }),
      wraps: index === 0,
    }));
    process.stdout.write(`${group.title}\n${formatTable(columns, own.map(comparisonCells), WIDTH)}\n`);
  }
  const report = `Report: ${out}/report.html (beside it cells.csv, cells.json; contradictions of the paper are in it)`;
  process.stdout.write(`${wrapText(summaryOf(comparisons), 118).join('\n')}\n${report}\n`);
}
