import { createNamedModel, loadCatalogue, loadCluster } from '../datasets/load.ts';
import { createWorkload } from '../engine/model/workload.ts';
import { colour, lineChart } from './lib/chart.ts';
import { runExperiment } from './lib/cli.ts';
import { toCsv } from './lib/csv.ts';
import { formatBytes, formatPercent, formatSeconds } from './lib/format.ts';
import { readChoice, readCount, readList } from './lib/options.ts';
import { createProgress } from './lib/progress.ts';
import { type Report, renderReport } from './lib/report.ts';
import { bestGain, evenRounds, POLICIES, RECLAIMS, type RoundsRow, simulateRounds } from './lib/rounds/rounds.ts';
import { formatTable } from './lib/table.ts';
import { checkOutput, writeFiles } from './lib/write.ts';

interface Options {
  readonly cluster: string;
  readonly models: string;
  readonly reclaim: string;
  readonly mostRounds: string;
  readonly prompt: string;
  readonly tokens: string;
  readonly seed: string;
  readonly json?: true;
  readonly out: string;
}

const MODELS = 'Llama-3-8B,Llama-1-30B,Llama-1-65B,Llama-3-70B,Qwen2.5-72B';

await runExperiment<Options>({
  name: 'rounds',
  description:
    'TPOT against the rounds k of a pipelined ring, simulated, by what devices do with their weights (prima.cpp Fig. 2).',
  configure: (command) =>
    command
      .option(
        '--cluster <key>',
        'a cluster of datasets/clusters, or a file; all devices get equal windows',
        'prima-fig2',
      )
      .option('--models <list>', 'models by name, with :mix if wanted', MODELS)
      .option('--reclaim <policy>', `how the OS reclaims: ${RECLAIMS.join(', ')}`, 'os')
      .option('--most-rounds <k>', 'largest k', '10')
      .option('--prompt <n>', 'tokens of the prompt', '128')
      .option('--tokens <n>', 'tokens to decode, at least 2; the first is not counted', '4')
      .option('--seed <n>', 'recorded: nothing here is random', '1')
      .option('--json', 'print the rows as JSON')
      .option('--out <dir>', 'where report.html, rounds.csv and rounds.json go', 'results/rounds'),
  run,
});

function run(options: Options): void {
  checkOutput(options.out);
  const cluster = loadCluster(options.cluster);
  const catalogue = loadCatalogue();
  const models = readList('--models', options.models).map((name) => createNamedModel(catalogue, name));
  const reclaim = readChoice('--reclaim', options.reclaim, RECLAIMS);
  const most = readCount('--most-rounds', options.mostRounds, 1, 1000);
  const workload = createWorkload({
    promptTokens: readCount('--prompt', options.prompt, 1),
    outputTokens: readCount('--tokens', options.tokens, 2, 10_000),
  });
  const seed = readCount('--seed', options.seed, 0, 1e9);
  const jobs = models.flatMap((model) =>
    POLICIES.flatMap((policy) =>
      evenRounds(model, cluster.devices.length, most).map((rounds) => ({ model, policy, rounds })),
    ),
  );
  const progress = createProgress(jobs.length);
  const rows = jobs.map(({ model, policy, rounds }) => {
    const row = simulateRounds(model, policy, rounds, { cluster, workload, reclaim });
    progress.step(`${model.name}, ${policy.name}, k = ${rounds}`);
    return row;
  });
  progress.stop();
  const settings = {
    cluster: cluster.name,
    reclaim,
    models: models.map(({ name, mix }) => `${name}:${mix}`),
    workload,
    seed,
  };
  const findings = findingsOf(rows);
  const subtitle = `${cluster.name}: ${cluster.devices.length} devices, equal windows · reclaim ${reclaim} · prompt of ${workload.promptTokens}, ${workload.outputTokens} tokens`;
  writeFiles(
    options.out,
    new Map([
      ['report.html', renderReport(reportOf(rows, subtitle, findings))],
      ['rounds.csv', csvOf(rows)],
      ['rounds.json', `${JSON.stringify({ settings, rows }, undefined, 2)}\n`],
    ]),
  );
  if (options.json) process.stdout.write(`${JSON.stringify({ settings, rows }, undefined, 2)}\n`);
  else process.stdout.write(`${subtitle}\n\n${tableOf(rows)}\n${findings}\n\nReport: ${options.out}/report.html\n`);
}

/** Rounds in the order of the columns. */
function roundsOf(rows: readonly RoundsRow[]): number[] {
  return [...new Set(rows.map(({ rounds }) => rounds))].sort((a, b) => a - b);
}

function cellsOf(rows: readonly RoundsRow[], columns: readonly number[]): string[][] {
  const lines = new Map<string, RoundsRow[]>();
  for (const row of rows)
    lines.set(`${row.model}\n${row.policy}`, [...(lines.get(`${row.model}\n${row.policy}`) ?? []), row]);
  return [...lines.values()].map((own) => {
    const [first] = own as [RoundsRow, ...RoundsRow[]];
    const cell = (rounds: number): string => {
      const row = own.find((one) => one.rounds === rounds);
      if (row === undefined) return '';
      return row.seconds === undefined ? 'OOM' : formatSeconds(row.seconds);
    };
    const last = own.findLast(({ seconds }) => seconds !== undefined);
    return [first.model, first.policy, ...columns.map(cell), last === undefined ? '' : formatBytes(last.readBytes)];
  });
}

function tableOf(rows: readonly RoundsRow[]): string {
  const columns = roundsOf(rows);
  return formatTable(
    [
      { title: 'model' },
      { title: 'policy' },
      ...columns.map((k) => ({ title: `k = ${k}`, align: 'right' as const })),
      { title: 'read per token\nat the largest k', align: 'right' },
    ],
    cellsOf(rows, columns),
  );
}

/** What more rounds change, by policy. */
function findingsOf(rows: readonly RoundsRow[]): string {
  const models = [...new Set(rows.map(({ model }) => model))];
  const parts = POLICIES.flatMap(({ name }) => {
    const gains = models.flatMap((model) => {
      const gain = bestGain(rows, model, name);
      return gain === undefined ? [] : [{ model, ...gain }];
    });
    const helped = gains.filter(({ ratio }) => ratio < 0.95);
    if (gains.length === 0) return [];
    if (helped.length === 0) return [`${name}: more rounds help no model`];
    const list = helped.map(({ model, rounds, ratio }) => `${model} −${formatPercent(1 - ratio)} at k = ${rounds}`);
    return [`${name}: ${list.join(', ')}`];
  });
  return `Against one round, ${parts.join('; ')}. The paper reports about −50 % for models above 60B from k = 2 on.`;
}

function reportOf(rows: readonly RoundsRow[], subtitle: string, findings: string): Report {
  const models = [...new Set(rows.map(({ model }) => model))];
  const columns = roundsOf(rows);
  const variants = POLICIES.map(({ name }) => ({
    label: name,
    figure: lineChart({
      x: { title: 'rounds k', categories: columns.map(String) },
      y: { title: 'TPOT (s per token, log scale)', scale: 'log' },
      series: models.map((model, index) => {
        const own = rows.filter((row) => row.model === model && row.policy === name && row.seconds !== undefined);
        return {
          name: model,
          colour: colour(index),
          x: own.map(({ rounds }) => String(rounds)),
          y: own.map(({ seconds }) => seconds ?? null),
        };
      }),
    }),
  }));
  const preferred = [...variants.slice(1, 2), ...variants.slice(0, 1), ...variants.slice(2)];
  return {
    title: 'What rounds do for a ring that does not fit',
    subtitle,
    summary: findings,
    sections: [
      {
        title: 'TPOT against rounds',
        blocks: [
          {
            kind: 'chart',
            title: 'Simulated time per output token',
            note: 'Models that fit in memory stay flat but for the hops; for the others the fall shows what prefetching hides once a window fits.',
            variants: preferred,
            choose: 'Weights policy',
          },
          {
            kind: 'table',
            columns: [
              { title: 'model' },
              { title: 'policy' },
              ...columns.map((k) => ({ title: `k = ${k}`, align: 'right' as const })),
              { title: 'read per token at the largest k', align: 'right' },
            ],
            rows: cellsOf(rows, columns),
            groups: true,
          },
        ],
      },
    ],
  };
}

function csvOf(rows: readonly RoundsRow[]): string {
  return toCsv(
    ['model', 'policy', 'rounds', 'tpot_s', 'read_bytes_per_token', 'reason'],
    rows.map(({ model, policy, rounds, seconds, readBytes, reason }) => [
      model,
      policy,
      rounds,
      seconds,
      readBytes,
      reason,
    ]),
  );
}
