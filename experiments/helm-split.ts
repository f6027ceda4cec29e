import { createHelmModel, HELM_MIX, loadCatalogue, loadClusterFile, loadPublished } from '../datasets/load.ts';
import { createWorkload } from '../engine/model/workload.ts';
import {
  CONFIGURATION_COLUMNS,
  CURVE_COLUMNS,
  configurationText,
  EXAMPLE_COLUMNS,
  eachLatency,
  eachSplit,
  LATENCY_COLUMNS,
} from './helm-split/columns.ts';
import { configuration } from './helm-split/configurations.ts';
import { curveText } from './helm-split/curve.ts';
import { EXAMPLE, runningExample } from './helm-split/example.ts';
import { helmFindings } from './helm-split/findings.ts';
import { claimedError, publishedRemarks } from './helm-split/published.ts';
import { type HelmResults, helmPage, planFiles, resultsData, shownConfiguration } from './helm-split/report.ts';
import { vramIntervals } from './helm-split/reserve.ts';
import { tableCsv, terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { count, list } from './report/options.ts';

/** HELM's cost model and split search (chapter 4) on every machine and model of Table 6.1, next to what it publishes. */
await runExperiment({
  name: 'helm-split',
  description: 'HELM: the best split of a model between one machine’s CPU and GPU, next to the published one',
  options: {
    machines: list(
      '--machines <list>',
      'clusters whose head is split: keys of datasets/clusters, or files',
      'helm-4060,helm-3090,helm-l40s',
    ),
    models: list(
      '--models <list>',
      `models by name, with :mix if not ${HELM_MIX}`,
      'Qwen3-4B,Qwen3-8B,Qwen3-14B,Qwen3-32B',
    ),
    context: count(
      '--context <tokens>',
      'tokens in the KV cache; 192 is the middle of 128 tokens after a prompt of 128',
      { default: 192, least: 0 },
    ),
  },
  seed: { help: 'recorded only: this experiment draws no random numbers', default: 0 },
  json: 'results.json',
  files: ['results.csv', 'curve.csv', 'plans/'],
  examples: 'Example:\n  tsx experiments/helm-split.ts --machines helm-4060 --models Qwen3-8B',
  run({ machines, models, context, seed }) {
    const results = search(machines, models, context);
    const { configurations, example } = results;
    const shown = shownConfiguration(configurations);
    const columns = CONFIGURATION_COLUMNS;
    return {
      subtitle: `${results.machines.map(({ cluster }) => cluster.name).join(', ')}; ${context} tokens in the KV cache, which is offloaded to RAM`,
      findings: helmFindings(results),
      data: resultsData({ machines, models, context, seed }, results),
      text: [
        configurationText(terminalTable({ columns, rows: configurations, groups: true }), configurations),
        ...(example.length === 0
          ? []
          : [
              `The running example (HELM 4.1): Qwen3-8B on the RTX 4060\n${terminalTable({ columns: EXAMPLE_COLUMNS, rows: example })}`,
            ]),
        ...(shown === undefined ? [] : [curveText(shown)]),
      ],
      page: helmPage(results),
      files: {
        'results.csv': tableCsv({ columns: LATENCY_COLUMNS, rows: eachLatency(configurations) }),
        'curve.csv': tableCsv({ columns: CURVE_COLUMNS, rows: eachSplit(configurations) }),
        ...planFiles(configurations),
      },
    };
  },
});

function search(machines: readonly string[], models: readonly string[], context: number): HelmResults {
  const catalogue = loadCatalogue();
  const published = loadPublished();
  const workload = createWorkload({ context });
  const loaded = machines.map((machine) => loadClusterFile(machine, '--machines'));
  const asked = models.map((label) => {
    const model = createHelmModel(catalogue, label);
    return { label, model, cells: model.mix === HELM_MIX ? published : [] };
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
    machines: loaded,
  };
}
