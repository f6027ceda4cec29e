import { loadCatalogue, loadClusterFile, namedW4a16Model } from '../datasets/load.ts';
import { INTERFERENCE_COLUMNS, interferencePage } from './interference/report.ts';
import { FRAME_MILLISECONDS, sweepFrames } from './interference/sweep.ts';
import { createRuns } from './papers/heterollm/machine.ts';
import { tableCsv, tableJson, terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { modelText } from './report/model-text.ts';
import { count, text } from './report/options.ts';

await runExperiment({
  name: 'interference',
  description:
    'What a prompt and a game cost each other on one chip, by the time that a frame takes on the GPU (HeteroLLM Fig. 18).',
  options: {
    cluster: text(
      '--cluster <key>',
      'a cluster of datasets/clusters, or a file, whose head is a chip with an NPU',
      'hetero-8gen3',
    ),
    model: text('--model <name>', 'a model of the catalogue, in W4A16', 'Llama-3-8B'),
    tokens: count('--tokens <n>', 'tokens of the prompt', { default: 256, least: 2, most: 1024 }),
  },
  json: 'interference.json',
  files: ['interference.csv'],
  run({ cluster, model, tokens, seed }, { progress }) {
    const loaded = loadClusterFile(cluster);
    const catalogue = loadCatalogue();
    const runs = createRuns(loaded.cluster, (name) => namedW4a16Model(catalogue, name));
    const { step } = progress(FRAME_MILLISECONDS.length * 3);
    const rows = sweepFrames(runs, { model, tokens }, step);
    const columns = { columns: INTERFERENCE_COLUMNS, rows };
    return {
      subtitle: `${loaded.cluster.name} · ${modelText(namedW4a16Model(catalogue, model))} · a prompt of ${tokens} tokens next to frames at 60 Hz, simulated`,
      findings: [
        'The longer a game’s frames occupy the GPU, the more speed a prompt loses. The GPU runs work in the order in which it was submitted. GPU-only submits the whole prompt at once, so no frame is drawn until the prompt ends. The other systems submit one operator at a time: every frame gets its turn, and the prompt loses that time wherever the GPU is its bottleneck.',
      ],
      data: {
        experiment: 'interference',
        settings: { cluster, model, tokens, seed },
        rows: tableJson(columns),
        provenance: loaded.statements,
      },
      text: [terminalTable(columns, 120)],
      page: interferencePage(rows),
      files: { 'interference.csv': tableCsv(columns) },
      clusters: [loaded],
    };
  },
});
