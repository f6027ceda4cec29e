import { loadCatalogue, loadClusterFile, namedW4a16Model } from '../datasets/load.ts';
import { createWorkload } from '../engine/model/workload.ts';
import { loadIntegerSolver } from '../engine/schedule/integer-solver.ts';
import { readChoices, readCount, readList } from '../engine/terminal/options.ts';
import { createProgress } from '../engine/terminal/progress.ts';
import { formatTable, wrapText } from '../engine/terminal/table.ts';
import { runExperiment } from './lib/cli.ts';
import { renderReport } from './lib/report.ts';
import { checkOutput, writeFiles } from './lib/write.ts';
import { phonesFinding } from './phones-in-the-ring/finding.ts';
import { PLANNERS, planAndJudge } from './phones-in-the-ring/plans.ts';
import { phonesReport } from './phones-in-the-ring/report.ts';
import { SWEEP_POINTS, sweepPhones } from './phones-in-the-ring/sweeps.ts';
import { PLAN_COLUMNS, planCells, plansCsv, sweepsCsv } from './phones-in-the-ring/tables.ts';
import { variantsOf } from './phones-in-the-ring/variants.ts';

interface Options {
  readonly cluster: string;
  readonly models: string;
  readonly sweep: string;
  readonly planners: string;
  readonly prompt: string;
  readonly context: string;
  readonly seed: string;
  readonly json?: true;
  readonly out: string;
}

const WIDTH = 150;

await runExperiment<Options>({
  name: 'phones-in-the-ring',
  description:
    'What phones whose GPU and NPU share every operator gain a ring of home devices: planned, predicted, simulated.',
  configure: (command) =>
    command
      .option(
        '--cluster <key>',
        'a cluster of datasets/clusters, or a file, some of whose devices have NPUs',
        'home-phones',
      )
      .option(
        '--models <list>',
        'models of the catalogue, in W4A16',
        'Llama-3-8B,Qwen2.5-14B,Qwen2.5-32B,Llama-3-45B,Llama-3-70B',
      )
      .option('--sweep <model>', 'the model that speeds of NPU and links are swept for', 'Llama-3-45B')
      .option('--planners <list>', `of ${PLANNERS.join(', ')}; optimal is always among them`, PLANNERS.join(','))
      .option('--prompt <n>', 'tokens of the prompt', '256')
      .option('--context <n>', 'tokens in the KV cache while a token is decoded', '512')
      .option('--seed <n>', 'recorded: nothing here is random', '1')
      .option('--json', 'print the rows and points as JSON')
      .option(
        '--out <dir>',
        'where report.html, plans.csv, sweeps.csv, results.json and plans/ go',
        'results/phones-in-the-ring',
      ),
  run,
});

async function run(options: Options): Promise<void> {
  checkOutput(options.out);
  const loaded = loadClusterFile(options.cluster);
  const { cluster } = loaded;
  const catalogue = loadCatalogue();
  const models = readList('--models', options.models).map((name) => namedW4a16Model(catalogue, name, '--models'));
  const swept = namedW4a16Model(catalogue, options.sweep, '--sweep');
  const planners = readChoices('--planners', options.planners, PLANNERS);
  const workload = createWorkload({
    promptTokens: readCount('--prompt', options.prompt, 1, 8192),
    context: readCount('--context', options.context, 0, 1e6),
  });
  const seed = readCount('--seed', options.seed, 0, 1e9);
  const variants = variantsOf(cluster);
  const solver = await loadIntegerSolver();
  const all = PLANNERS.filter((planner) => planner === 'optimal' || planners.includes(planner));
  const jobs = [...new Set([...models, swept])]
    .sort((one, other) => one.bytes - other.bytes)
    .filter((model, index, sorted) => sorted.findIndex(({ name }) => name === model.name) === index)
    .flatMap((model) => all.flatMap((planner) => variants.map((variant) => ({ model, planner, variant }))));
  const progress = createProgress(jobs.length + SWEEP_POINTS);
  let rows: ReturnType<typeof planAndJudge>[];
  let points: ReturnType<typeof sweepPhones>;
  try {
    rows = jobs.map((job) => {
      progress.step(`${job.model.name}, ${job.planner}, ${job.variant.name}`);
      return planAndJudge({ ...job, workload, solver });
    });
    points = sweepPhones({ cluster, model: swept, workload, solver, step: progress.step });
  } finally {
    progress.stop();
  }
  const finding = phonesFinding(rows, points, swept.name);
  const subtitle = `${cluster.name}: ${cluster.devices.map(({ name }) => name).join(', ')} · W4A16 · prompt of ${workload.promptTokens}, context of ${workload.context}`;
  const settings = {
    cluster: options.cluster,
    models: models.map(({ name }) => name),
    sweep: swept.name,
    planners,
    workload,
    seed,
  };
  const json = `${JSON.stringify({ experiment: 'phones-in-the-ring', settings, finding, rows, points, provenance: loaded.statements }, null, 2)}\n`;
  const plans = rows.flatMap(({ model, planner, variant, plan }): [string, string][] =>
    plan === undefined
      ? []
      : [[`plans/${fileName(`${model} ${planner} ${variant}`)}.json`, `${JSON.stringify(plan, null, 2)}\n`]],
  );
  const report = renderReport(phonesReport({ rows, points, swept, finding, subtitle, loaded }));
  const tables: [string, string][] = [
    ['report.html', report],
    ['plans.csv', plansCsv(rows)],
    ['sweeps.csv', sweepsCsv(points)],
    ['results.json', json],
  ];
  writeFiles(options.out, new Map([...tables, ...plans]));
  if (options.json) {
    process.stdout.write(json);
    return;
  }
  const columns = PLAN_COLUMNS.map(({ title, align }, index) => ({
    title,
    ...(align && { align }),
    wraps: index === PLAN_COLUMNS.length - 1,
  }));
  process.stdout.write(
    `${subtitle}\n\n${formatTable(columns, planCells(rows), WIDTH)}\n${wrapText(finding, WIDTH).join('\n')}\n\n`,
  );
  process.stdout.write(
    `Report: ${options.out}/report.html (beside it plans.csv, sweeps.csv, results.json and every plan)\n`,
  );
}

function fileName(text: string): string {
  return text.replaceAll(/[^\w.]+/g, '-');
}
