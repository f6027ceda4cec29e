import { createProgress } from '../../../engine/terminal/progress.ts';
import { formatTable, wrapText } from '../../../engine/terminal/table.ts';
import { renderReport } from '../../lib/report.ts';
import { checkOutput, writeFiles } from '../../lib/write.ts';
import { cellsCsv } from '../cells-csv.ts';
import { SUMMARY_COLUMNS, summaryCells } from '../summary.ts';
import { computeHelm, type HelmReproduction } from './compute.ts';
import { helmReport } from './report.ts';
import { helmCells } from './reproduced.ts';
import { helmJson } from './results.ts';

/** Cells of the thesis, about: progress counts them. */
const CELLS = 150;
const WIDTH = 150;

/** `reproduce helm`: every cell of the thesis, predicted, simulated and published; writes report, CSV and JSON. */
export function reproduceHelm({ out, json }: { readonly out: string; readonly json: boolean }): void {
  checkOutput(out);
  const progress = createProgress(CELLS);
  let result: HelmReproduction;
  try {
    result = computeHelm(progress.step);
  } finally {
    progress.stop();
  }
  const text = helmJson(result);
  const report = helmReport(result);
  writeFiles(
    out,
    new Map([
      ['report.html', renderReport(report)],
      ['cells.csv', cellsCsv(helmCells(result))],
      ['cells.json', text],
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
  process.stdout.write(`${formatTable(columns, result.summary.map(summaryCells), WIDTH)}\n`);
  process.stdout.write(
    `${wrapText(report.summary, 118).join('\n')}\nReport: ${out}/report.html (beside it cells.csv, cells.json)\n`,
  );
}
