import { createProgress } from '../../../engine/terminal/progress.ts';
import { wrapText } from '../../../engine/terminal/table.ts';
import { renderReport } from '../../lib/report.ts';
import { checkOutput, writeFiles } from '../../lib/write.ts';
import { PAPERS, primaOptions, type ReproduceOptions } from '../options.ts';
import { computePrima, type PrimaReproduction } from './compute.ts';
import { cellsCsv } from './csv.ts';
import { reproductionReport } from './report.ts';
import { cellsJson } from './results.ts';
import { summaryTable } from './terminal.ts';

/** `reproduce prima`: tables of prima.cpp, predicted, simulated and published; writes report, CSV and JSON to `out`. */
export async function reproducePrima(out: string, given: ReproduceOptions): Promise<void> {
  checkOutput(out);
  let progress: ReturnType<typeof createProgress> | undefined;
  let result: PrimaReproduction;
  try {
    result = await computePrima(primaOptions(given), (steps) => {
      progress = createProgress(steps);
      return progress.step;
    });
  } finally {
    progress?.stop();
  }
  const { tables, options, summaries, comparisons } = result;
  const settings = { paper: PAPERS.prima, ...options, tables: tables.map(({ number }) => number), seed: given.seed };
  const json = cellsJson({ settings, ...result });
  const report = reproductionReport(result);
  writeFiles(
    out,
    new Map([
      ['report.html', renderReport(report)],
      ['cells.csv', cellsCsv(comparisons)],
      ['cells.json', json],
    ]),
  );
  if (given.json) {
    process.stdout.write(json);
    return;
  }
  process.stdout.write(`${report.subtitle}\n\n${summaryTable(summaries)}\n`);
  process.stdout.write(
    `${wrapText(report.summary, 118).join('\n')}\nReport: ${out}/report.html (beside it cells.csv, cells.json)\n`,
  );
}
