import { loadCatalogue, loadClusterFile, namedW4a16Model } from '../datasets/load.ts';
import type { Model } from '../engine/model/model.ts';
import { createWorkload } from '../engine/model/workload.ts';
import { loadIntegerSolver } from '../engine/schedule/integer-solver.ts';
import { PLAN_COLUMNS, SWEEP_COLUMNS } from './phones-in-the-ring/columns.ts';
import { phonesFinding } from './phones-in-the-ring/finding.ts';
import { type PhonesRow, PLANNERS, planAndJudge } from './phones-in-the-ring/plans.ts';
import { phonesPage } from './phones-in-the-ring/report.ts';
import { SWEEP_POINTS, sweepPhones } from './phones-in-the-ring/sweeps.ts';
import { variantsOf } from './phones-in-the-ring/variants.ts';
import { tableCsv, terminalTable } from './report/columns.ts';
import { fileJson, runExperiment } from './report/experiment.ts';
import { choices, count, list, text } from './report/options.ts';

/** Width of the table of plans on a terminal, in columns. */
const WIDTH = 150;

await runExperiment({
  name: 'phones-in-the-ring',
  description:
    'What phones whose GPU and NPU share every operator gain a ring of home devices: planned, predicted, simulated.',
  options: {
    cluster: text(
      '--cluster <key>',
      'a cluster of datasets/clusters, or a file, some of whose devices have NPUs',
      'home-phones',
    ),
    models: list(
      '--models <list>',
      'models of the catalogue, in W4A16',
      'Llama-3-8B,Qwen2.5-14B,Qwen2.5-32B,Llama-3-45B,Llama-3-70B',
    ),
    sweep: text('--sweep <model>', 'the model that speeds of NPU and links are swept for', 'Llama-3-45B'),
    planners: choices('--planners <list>', `of ${PLANNERS.join(', ')}; optimal is always among them`, PLANNERS),
    prompt: count('--prompt <n>', 'tokens of the prompt', { default: 256, most: 8192 }),
    context: count('--context <n>', 'tokens in the KV cache while a token is decoded', {
      default: 512,
      least: 0,
      most: 1e6,
    }),
  },
  json: 'results.json',
  files: ['plans.csv', 'sweeps.csv', 'plans/'],
  async run({ planners, seed, ...options }, { progress }) {
    const loaded = loadClusterFile(options.cluster);
    const { cluster } = loaded;
    const catalogue = loadCatalogue();
    const models = options.models.map((name) => namedW4a16Model(catalogue, name, '--models'));
    const swept = namedW4a16Model(catalogue, options.sweep, '--sweep');
    const workload = createWorkload({ promptTokens: options.prompt, context: options.context });
    const variants = variantsOf(cluster);
    const used = PLANNERS.filter((planner) => planner === 'optimal' || planners.includes(planner));
    const jobs = byBytes([...models, swept]).flatMap((model) =>
      used.flatMap((planner) => variants.map((variant) => ({ model, planner, variant }))),
    );
    const solver = await loadIntegerSolver();
    const { step } = progress(jobs.length + SWEEP_POINTS);
    const rows = jobs.map((job) => {
      const row = planAndJudge({ ...job, workload, solver });
      step(`${job.model.name}, ${job.planner}, ${job.variant.name}`);
      return row;
    });
    const points = sweepPhones({ cluster, model: swept, workload, solver, step });
    solver.dispose();
    const finding = phonesFinding(rows, points, swept.name);
    const settings = {
      cluster: options.cluster,
      models: models.map(({ name }) => name),
      sweep: swept.name,
      planners,
      workload,
      seed,
    };
    return {
      subtitle: `${cluster.name}: ${cluster.devices.map(({ name }) => name).join(', ')} · W4A16 · prompt of ${workload.promptTokens}, context of ${workload.context}`,
      findings: [finding],
      data: { experiment: 'phones-in-the-ring', settings, finding, rows, points, provenance: loaded.statements },
      text: [terminalTable({ columns: PLAN_COLUMNS, rows }, WIDTH)],
      page: phonesPage({ rows, points, swept, loaded }),
      files: {
        'plans.csv': tableCsv({ columns: PLAN_COLUMNS, rows }),
        'sweeps.csv': tableCsv({ columns: SWEEP_COLUMNS, rows: points }),
        ...planFiles(rows),
      },
    };
  },
});

/** Each model once, smallest first. */
function byBytes(models: readonly Model[]): Model[] {
  return [...new Map(models.map((model) => [model.name, model])).values()].sort(
    (one, other) => one.bytes - other.bytes,
  );
}

function planFiles(rows: readonly PhonesRow[]): Record<string, string> {
  return Object.fromEntries(
    rows.flatMap(({ model, planner, variant, plan }): [string, string][] => {
      const name = `${model} ${planner} ${variant}`.replaceAll(/[^\w.]+/g, '-');
      return plan === undefined ? [] : [[`plans/${name}.json`, fileJson(plan)]];
    }),
  );
}
