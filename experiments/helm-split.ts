import { createNamedModel, loadCatalogue, loadClusterFile, loadPublished } from '../datasets/load.ts';
import { findPublished, type PublishedCell } from '../datasets/published.ts';
import { createWorkload } from '../engine/model/workload.ts';
import { wrapText } from '../engine/terminal/table.ts';
import { configuration } from './helm-split/configurations.ts';
import { EXAMPLE, runningExample } from './helm-split/example.ts';
import { helmFindings } from './helm-split/findings.ts';
import { type HelmOptions, helmOptions } from './helm-split/options.ts';
import { publishedRemarks } from './helm-split/published.ts';
import { type HelmResults, helmReport, shownConfiguration } from './helm-split/report.ts';
import { vramIntervals } from './helm-split/reserve.ts';
import { curveCsv, planFiles, resultsCsv, resultsJson } from './helm-split/results.ts';
import { configurationTable, curveText, exampleTable } from './helm-split/terminal.ts';
import { runExperiment } from './lib/cli.ts';
import { renderReport } from './lib/report.ts';
import { checkOutput, writeFiles } from './lib/write.ts';

/** HELM's cost model and split search (chapter 4) on every machine and model of Table 6.1, beside what it publishes. */
await runExperiment<HelmOptions>({
  name: 'helm-split',
  description: "HELM: the best split of a model between one machine's CPU and GPU, beside the published one",
  configure: helmOptions,
  run(options) {
    checkOutput(options.out);
    const results = search(options);
    const { machines, models, context, seed } = options;
    const json = resultsJson({ machines, models, context, seed }, results);
    const files = new Map([
      ['report.html', renderReport(helmReport(results))],
      ['results.json', json],
      ['results.csv', resultsCsv(results.configurations)],
      ['curve.csv', curveCsv(results.configurations)],
      ...planFiles(results.configurations),
    ]);
    writeFiles(options.out, files);
    process.stdout.write(options.json ? json : text(results));
    process.stderr.write(`\nReport: ${options.out}/report.html\n`);
  },
});

function search({ machines, models, context }: HelmOptions): HelmResults {
  const catalogue = loadCatalogue();
  const published = loadPublished();
  const workload = createWorkload({ context });
  const loaded = machines.map((machine) => loadClusterFile(machine, '--machines'));
  const asked = models.map((label) => {
    const model = createNamedModel(catalogue, label);
    const usual = catalogue.find(({ shape }) => shape.name === model.name)?.defaultMix;
    return { label, model, cells: model.mix === usual ? published : [] };
  });
  const configurations = loaded.flatMap(({ cluster }) =>
    asked.map(({ label, model, cells }) => configuration({ cluster, model, label, workload, cells })),
  );
  const machine = loaded.find(({ cluster }) => cluster.name === EXAMPLE.machine)?.cluster;
  const model = asked.find(({ label }) => label === EXAMPLE.model)?.model;
  return {
    configurations,
    intervals: vramIntervals(configurations, published),
    claimedError: claimedError(published),
    remarks: publishedRemarks(configurations, published),
    example: machine && model ? runningExample(machine, model, published) : [],
    machines: loaded.map(({ cluster, statements }) => ({ name: cluster.name, statements })),
    context,
  };
}

/** §6.4.4: predictions match within so much. */
function claimedError(cells: readonly PublishedCell[]): number | undefined {
  const cell = findPublished(cells, { system: 'helm', metric: 'prediction-error' }).find(
    ({ table }) => table === '§6.4.4',
  );
  return typeof cell?.value === 'number' ? cell.value / 100 : undefined;
}

function text(results: HelmResults): string {
  const { configurations, example } = results;
  const shown = shownConfiguration(results);
  const parts = [
    configurationTable(configurations),
    `${helmFindings(results)
      .map((sentence) => wrapText(sentence, 120).join('\n'))
      .join('\n')}\n`,
    ...(example.length === 0
      ? []
      : [`The running example (HELM 4.1): Qwen3-8B on the RTX 4060\n${exampleTable(example)}`]),
    ...(shown === undefined ? [] : [curveText(shown)]),
  ];
  return parts.join('\n');
}
