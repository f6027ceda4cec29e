import { createNamedModel, loadCatalogue } from '../datasets/load.ts';
import { MEMORY_REGIMES, type MemoryRegime } from '../datasets/random-cluster.ts';
import { RECLAIM_POLICIES } from '../engine/cost/reclaim.ts';
import { InputError } from '../engine/input/input-error.ts';
import { createWorkload } from '../engine/model/workload.ts';
import { loadIntegerSolver } from '../engine/schedule/integer-solver.ts';
import { SCHEDULER_NAMES, type SchedulerName } from '../engine/schedule/registry.ts';
import { formatPercent } from '../engine/terminal/format.ts';
import { readChoice, readChoices, readCount, readList } from '../engine/terminal/options.ts';
import { createProgress } from '../engine/terminal/progress.ts';
import { formatTable } from '../engine/terminal/table.ts';
import { type GapRow, type GapSettings, type GapSummary, gapOf, summariseGap } from './halda-gap/gap.ts';
import { gapReport } from './halda-gap/report.ts';
import { runExperiment } from './lib/cli.ts';
import { toCsv } from './lib/csv.ts';
import { renderReport } from './lib/report.ts';
import { checkOutput, writeFiles } from './lib/write.ts';

interface Options {
  readonly clusters: string;
  readonly seed: string;
  readonly devices: string;
  readonly models: string;
  readonly schedulers: string;
  readonly context: string;
  readonly reclaim: string;
  readonly json?: true;
  readonly out: string;
}

/** The exact schedulers only confirm themselves, HELM's judges by another model: both stay out unless asked for. */
const DEFAULT_SCHEDULERS: readonly SchedulerName[] = [
  'optimal',
  'halda-repaired',
  'halda',
  'compute-ratio',
  'memory-ratio',
  'single-device',
];

await runExperiment<Options>({
  name: 'halda-gap',
  description:
    'How often, and by how much, each scheduler misses the optimum on random clusters of all kinds of devices.',
  configure: (command) =>
    command
      .option('--clusters <n>', 'random clusters', '300')
      .option('--seed <n>', 'seed of the first cluster; the others count on from it', '1')
      .option('--devices <from-to>', 'devices in a cluster', '2-8')
      .option('--models <list>', 'models to draw from', 'Llama-3-8B,Llama-1-30B,Llama-3-70B')
      .option('--schedulers <list>', `of ${SCHEDULER_NAMES.join(', ')}`, DEFAULT_SCHEDULERS.join(','))
      .option('--context <n>', 'tokens in the KV cache', '1024')
      .option('--reclaim <policy>', `how the OS reclaims: ${RECLAIM_POLICIES.join(', ')}`, 'overflow')
      .option('--json', 'print the summary as JSON')
      .option('--out <dir>', 'where report.html, gaps.csv and summary.json go', 'results/halda-gap'),
  run,
});

async function run(options: Options): Promise<void> {
  const settings = readSettings(options);
  checkOutput(options.out);
  const solver = await loadIntegerSolver(10);
  const progress = createProgress(settings.clusters);
  const rows: GapRow[] = [];
  for (let index = 0; index < settings.clusters; index++) {
    rows.push(...gapOf(index, settings, solver));
    progress.step(`cluster ${index + 1}`);
  }
  progress.stop();
  solver.dispose();
  const summaries = settings.schedulers.map((scheduler) => summariseGap(scheduler, rows));
  const planned = new Set(rows.map((row) => row.seed)).size;
  if (planned === 0) {
    throw new InputError(
      '--context',
      `with ${settings.workload.context} tokens nothing fits on any of the clusters; use fewer`,
    );
  }
  const description = `${planned} random clusters (seeds ${settings.seed} to ${settings.seed + settings.clusters - 1}) of ${settings.least} to ${settings.most} devices, ${settings.models.map(({ name }) => name).join(', ')}, context ${settings.workload.context}, reclaim ${settings.reclaim}`;
  const result = {
    settings: { ...settings, models: settings.models.map(({ name, mix }) => `${name}:${mix}`) },
    planned,
    summaries,
  };
  const report = gapReport({ description, summaries, rows, schedulers: settings.schedulers });
  writeFiles(
    options.out,
    new Map([
      ['report.html', renderReport(report)],
      ['gaps.csv', gapsCsv(rows)],
      ['summary.json', `${JSON.stringify(result, undefined, 2)}\n`],
    ]),
  );
  if (options.json) process.stdout.write(`${JSON.stringify(result, undefined, 2)}\n`);
  else
    process.stdout.write(
      terminal(description, summaries, rows, settings.clusters - planned, `${options.out}/report.html`),
    );
}

function readSettings(options: Options): GapSettings {
  const catalogue = loadCatalogue();
  const [from = '', to = from, ...rest] = options.devices.split('-');
  const least = readCount('--devices', rest.length > 0 ? options.devices : from, 1, 64);
  return {
    clusters: readCount('--clusters', options.clusters, 1, 1e6),
    seed: readCount('--seed', options.seed, 0, 1e9),
    least,
    most: readCount('--devices', to, least, 64),
    models: readList('--models', options.models).map((name) => createNamedModel(catalogue, name)),
    schedulers: readChoices('--schedulers', options.schedulers, SCHEDULER_NAMES),
    workload: createWorkload({ context: readCount('--context', options.context, 0) }),
    reclaim: readChoice('--reclaim', options.reclaim, RECLAIM_POLICIES),
  };
}

function terminal(
  description: string,
  summaries: readonly GapSummary[],
  rows: readonly GapRow[],
  unplannable: number,
  report: string,
): string {
  const regimes = Object.keys(MEMORY_REGIMES) as MemoryRegime[];
  const share = (part: number, whole: number): string => (whole === 0 ? '–' : formatPercent(part / whole));
  const table = formatTable(
    [
      { title: 'scheduler' },
      { title: 'finds\na plan', align: 'right' },
      { title: 'optimum\nof all', align: 'right' },
      { title: 'of the paper’s\nspace', align: 'right' },
      { title: 'gap\nmedian', align: 'right' },
      { title: 'gap\np95', align: 'right' },
      { title: 'gap\nworst', align: 'right' },
      ...regimes.map((regime) => ({ title: `optimum\n${regime}`, align: 'right' as const })),
    ],
    summaries.map((one) => [
      one.scheduler,
      share(one.planned, one.clusters),
      share(one.hits, one.clusters),
      share(one.paperHits, one.clusters),
      ...[one.median, one.p95, one.worst].map((gap) => (Number.isNaN(gap) ? '–' : formatPercent(Math.max(0, gap)))),
      ...regimes.map((regime) => {
        const part = summariseGap(
          one.scheduler,
          rows.filter((row) => row.regime === regime),
        );
        return share(part.hits, part.clusters);
      }),
    ]),
  );
  const beaten = summaries.reduce((sum, one) => sum + one.beats, 0);
  const ranges = regimes.map((regime) => `${regime} ${MEMORY_REGIMES[regime].join('–')}`).join(', ');
  return `${description}

${table}
The gap is TPOT over the least TPOT of all plans, less one; the paper's space keeps a layer and the output layer's work
on the head's CPU. Memory (RAM and VRAM together over the model's bytes): ${ranges}.
${unplannable > 0 ? `${unplannable} clusters were left out: nothing fits there.\n` : ''}${beaten === 0 ? 'No scheduler beat the optimum' : `The optimum was beaten ${beaten} times`}.
Report: ${report}
`;
}

function gapsCsv(rows: readonly GapRow[]): string {
  return toCsv(
    ['seed', 'devices', 'regime', 'model', 'scheduler', 'tpot_s', 'optimum_s', 'paper_optimum_s', 'gap', 'reason'],
    rows.map((row) => [
      row.seed,
      row.devices,
      row.regime,
      row.model,
      row.scheduler,
      row.seconds,
      row.optimum,
      row.paperOptimum,
      row.seconds === undefined ? undefined : row.seconds / row.optimum - 1,
      row.reason,
    ]),
  );
}
