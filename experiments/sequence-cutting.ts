import { loadCatalogue, loadClusterFile, namedW4a16Model } from '../datasets/load.ts';
import { tableCsv, terminalTable } from './report/columns.ts';
import { fileJson, runExperiment } from './report/experiment.ts';
import { modelText } from './report/model-text.ts';
import { count, text } from './report/options.ts';
import { cutPrompt } from './sequence-cutting/cuts.ts';
import { cuttingPage, cuttingSummary, decisionsTable, SWEEP, systemsTable } from './sequence-cutting/report.ts';
import { sweepLengths } from './sequence-cutting/sweep.ts';

const WIDTH = 150;
/** The longest prompt: the sweep and the simulation stay within a minute. */
const MOST_TOKENS = 8192;
/** Lengths of the sweep, Fig. 14's range. */
const LENGTHS = Array.from({ length: 64 }, (_, index) => 16 * (index + 1) + 3);

await runExperiment({
  name: 'sequence-cutting',
  description:
    'How a prompt is cut between a chip’s GPU and NPU, operator by operator, and why (HeteroLLM §4.1, Figs. 10 and 14).',
  options: {
    length: count('--length <tokens>', 'tokens of the prompt', { default: 300, most: MOST_TOKENS }),
    model: text('--model <name>', 'a model of the catalogue, run in W4A16', 'Llama-3-8B'),
    cluster: text(
      '--cluster <key>',
      'a cluster of datasets/clusters, or a file, whose head is a chip with an NPU',
      'hetero-8gen3',
    ),
  },
  json: 'cuts.json',
  files: ['lengths.csv', 'plans/'],
  run({ length, model: name, cluster, seed }, { progress }) {
    const loaded = loadClusterFile(cluster);
    const model = namedW4a16Model(loadCatalogue(), name);
    const prompt = cutPrompt(loaded.cluster, model, length);
    const sweep = sweepLengths(loaded.cluster, model, LENGTHS, progress(LENGTHS.length).step);
    const settings = { length, model: model.name, cluster, seed };
    const plans = prompt.systems.map(({ system, plan }) => [`plans/${system}.json`, fileJson(plan)]);
    return {
      subtitle: `${modelText(model)}, on ${loaded.cluster.name} · HeteroLLM §4.1, §5.2.2`,
      findings: [cuttingSummary(prompt)],
      data: { experiment: 'sequence-cutting', settings, ...prompt, provenance: loaded.statements },
      text: [
        terminalTable(systemsTable(prompt), WIDTH),
        `hetero-tensor, operator by operator:\n${terminalTable(decisionsTable(model, prompt, 'hetero-tensor'), WIDTH)}`,
      ],
      page: cuttingPage(prompt, sweep, model),
      files: { 'lengths.csv': tableCsv({ columns: SWEEP, rows: sweep }), ...Object.fromEntries(plans) },
      clusters: [loaded],
    };
  },
});
