import { loadCatalogue, loadClusterFile, loadPublished } from '../../../datasets/load.ts';
import type { Model } from '../../../engine/model/model.ts';
import { createProgress } from '../../../engine/terminal/progress.ts';
import { formatTable, wrapText } from '../../../engine/terminal/table.ts';
import { namedW4a16Model } from '../catalogue-w4a16.ts';
import { toCsv } from '../csv.ts';
import { renderReport } from '../report.ts';
import { checkOutput, writeFiles } from '../write.ts';
import { HETEROLLM_CELLS } from './cells.ts';
import { compareHeterollm, type SocComparison } from './comparisons.ts';
import { contradictions } from './contradictions.ts';
import { engineGains } from './engine-gains.ts';
import { COMPARISON_COLUMNS, comparisonCells, heterollmReport } from './report.ts';
import { createRuns } from './runs.ts';
import { summaryOf } from './summary.ts';

const WIDTH = 150;

/** `reproduce heterollm`: every figure of the paper, predicted, simulated and published; writes report, CSV and JSON. */
export function reproduceHeterollm({ out, json }: { readonly out: string; readonly json: boolean }): void {
  checkOutput(out);
  const loaded = loadClusterFile('hetero-8gen3');
  const catalogue = loadCatalogue();
  const models = new Map<string, Model>();
  const modelOf = (name: string): Model => {
    const model = models.get(name) ?? namedW4a16Model(catalogue, name, 'datasets/models.csv');
    models.set(name, model);
    return model;
  };
  const runs = createRuns(loaded.cluster, modelOf);
  const progress = createProgress(HETEROLLM_CELLS.reduce((sum, { rules }) => sum + rules.length, 0));
  const published = loadPublished().filter(({ paper }) => paper === 'heterollm');
  let comparisons: SocComparison[];
  try {
    comparisons = compareHeterollm(runs, published, progress.step);
  } finally {
    progress.stop();
  }
  const conflicts = contradictions(runs, engineGains(published), loaded.cluster, modelOf);
  const rows = comparisons.map(({ rule, cell, group: _, ...found }) => ({
    table: cell.table,
    row: cell.row,
    column: cell.column,
    model: cell.model,
    system: cell.system,
    unit: rule.unit,
    ...found,
    target: rule.target,
  }));
  const text = `${JSON.stringify({ experiment: 'reproduce', paper: 'heterollm', cells: rows, contradictions: conflicts, provenance: loaded.statements }, null, 2)}\n`;
  const [first] = rows;
  const files = new Map([
    ['report.html', renderReport(heterollmReport(comparisons, conflicts, loaded))],
    [
      'cells.csv',
      toCsv(
        Object.keys(first ?? {}),
        rows.map((row) => Object.values(row)),
      ),
    ],
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
