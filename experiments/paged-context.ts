import { createHelmModel, HELM_MIX, loadCatalogue, loadClusterFile, loadPublished } from '../datasets/load.ts';
import { contextRows } from './paged-context/contexts.ts';
import { contextFindings } from './paged-context/findings.ts';
import { CONTEXT_COLUMNS, eachTime, pagedContextPage, TIME_COLUMNS } from './paged-context/report.ts';
import { backendsOf } from './papers/helm/memory/backends.ts';
import { tableCsv, terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { count, list } from './report/options.ts';

await runExperiment({
  name: 'paged-context',
  description:
    'HELM: the longest context by backend, and TPOT against the context with pages of the KV cache in RAM (HELM Fig. 6.1).',
  options: {
    machines: list(
      '--machines <list>',
      'clusters: the ring of HELMs uses all devices, every other backend the head',
      'helm-4060,helm-3090,helm-l40s',
    ),
    models: list(
      '--models <list>',
      `models by name, with :mix if not ${HELM_MIX}`,
      'Qwen3-4B,Qwen3-8B,Qwen3-14B,Qwen3-32B',
    ),
    prompt: count('--prompt <n>', 'tokens of the prompt', { default: 128, most: 1_000_000 }),
    most: count('--most <n>', 'output tokens at the models’ own limit', { default: 32_768, most: 1_000_000 }),
  },
  json: 'results.json',
  files: ['contexts.csv', 'times.csv'],
  run({ machines, models, prompt: promptTokens, most, seed }, { progress }) {
    const catalogue = loadCatalogue();
    const cells = loadPublished();
    const clusters = machines.map((name) => loadClusterFile(name, '--machines'));
    const named = models.map((name) => createHelmModel(catalogue, name));
    const contexts: number[] = [];
    for (let context = 128; context <= most; context *= 2) contexts.push(context);
    const { step } = progress(
      clusters.reduce((sum, { cluster }) => sum + named.length * backendsOf({ cluster }).length, 0),
    );
    const rows = clusters.flatMap(({ cluster }) =>
      named.flatMap((model) =>
        contextRows({ machine: { cluster, model }, promptTokens, most, contexts, cells }, ({ backend }) =>
          step(`${backend}, ${model.name} on ${cluster.name}`),
        ),
      ),
    );
    const findings = contextFindings(rows, most);
    const settings = { machines: machines.join(','), models: models.join(','), promptTokens, most, seed };
    return {
      subtitle: `${clusters.map(({ cluster }) => cluster.name).join(', ')}; a prompt of ${promptTokens} tokens; pages of 512 tokens, watermark 80 %`,
      findings,
      data: { experiment: 'paged-context', settings, findings, rows },
      text: [terminalTable({ columns: CONTEXT_COLUMNS, rows })],
      page: pagedContextPage(rows),
      files: {
        'contexts.csv': tableCsv({ columns: CONTEXT_COLUMNS, rows }),
        'times.csv': tableCsv({ columns: TIME_COLUMNS, rows: eachTime(rows) }),
      },
      clusters,
    };
  },
});
