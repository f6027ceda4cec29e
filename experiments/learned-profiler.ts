import { loadCatalogue, loadClusterFile, namedW4a16Model } from '../datasets/load.ts';
import { InputError } from '../engine/input/input-error.ts';
import { FEWEST_SAMPLES } from '../engine/profile/predicted/learn-latency.ts';
import { readChoice, readCount, readList } from '../engine/terminal/options.ts';
import { createProgress } from '../engine/terminal/progress.ts';
import { formatTable, wrapText } from '../engine/terminal/table.ts';
import { BACKENDS, type BackendStudy, studyBackend } from './learned-profiler/backend.ts';
import { LESSON_COLUMNS, learnedReport, lessonCells } from './learned-profiler/report.ts';
import { type Study, study, studyFinding, studySteps } from './learned-profiler/study.ts';
import { runExperiment } from './lib/cli.ts';
import { toCsv } from './lib/csv.ts';
import { renderReport } from './lib/report.ts';
import { checkOutput, writeFiles } from './lib/write.ts';

interface Options {
  readonly cluster: string;
  readonly model: string;
  readonly samples: string;
  readonly lengths: string;
  readonly noise: string;
  readonly epochs: string;
  readonly backend?: string;
  readonly seed: string;
  readonly json?: true;
  readonly out: string;
}

const WIDTH = 150;
/** A tree of more takes minutes, for ml-cart tries every split of every sample. */
const MOST_SAMPLES = 2000;

await runExperiment<Options>({
  name: 'learned-profiler',
  description:
    'Prediction mode of HeteroLLM’s profiler: a tree and a small network learn what operators take, and what their errors cost the solver (§4.3).',
  configure: (command) =>
    command
      .option(
        '--cluster <key>',
        'a cluster of datasets/clusters, or a file, whose head is a chip with an NPU',
        'hetero-8gen3',
      )
      .option('--model <name>', 'a model of the catalogue, in W4A16', 'Llama-3-8B')
      .option('--samples <list>', 'numbers of shapes that are run on each processor', '100,200,400')
      .option('--lengths <list>', 'tokens of the prompts that are planned for', '64,135,256,300,525,1000')
      .option('--noise <percent>', 'relative deviation of the times of a run', '2')
      .option('--epochs <n>', 'passes of the network over its samples', '200')
      .option('--backend <name>', `profile this machine's own kernels as well: ${BACKENDS.join(', ')}`)
      .option('--seed <n>', 'of shapes, noise, held-out samples and first weights', '1')
      .option('--json', 'print results.json')
      .option('--out <dir>', 'where report.html, stages.csv and results.json go', 'results/learned-profiler'),
  run,
});

async function run(options: Options): Promise<void> {
  checkOutput(options.out);
  const loaded = loadClusterFile(options.cluster);
  const { cluster } = loaded;
  const model = namedW4a16Model(loadCatalogue(), options.model);
  const samples = counts('--samples', options.samples, FEWEST_SAMPLES, MOST_SAMPLES).sort((a, b) => a - b);
  const lengths = counts('--lengths', options.lengths, 1, 8192);
  const noise = readCount('--noise', options.noise, 0, 100) / 100;
  const epochs = readCount('--epochs', options.epochs, 1, 10_000);
  const seed = readCount('--seed', options.seed, 0, 1e6);
  const backend = options.backend === undefined ? undefined : readChoice('--backend', options.backend, BACKENDS);
  const progress = createProgress(studySteps({ samples }) + (backend === undefined ? 0 : 1));
  let found: Study;
  let ofBackend: BackendStudy | undefined;
  try {
    if (backend !== undefined) {
      progress.step(`this machine's ${backend} kernels`);
      ofBackend = await studyBackend(backend, Math.max(...samples), seed, epochs);
    }
    found = await study({ cluster, model, samples, lengths, noise, seed, epochs, step: progress.step });
  } finally {
    progress.stop();
  }
  const finding = studyFinding(found);
  const subtitle = `${model.name} in W4A16 on the simulated chip of ${cluster.name} · HeteroLLM §4.3 · noise of ${options.noise} %, ${epochs} epochs, seed ${seed}`;
  const settings = { cluster: options.cluster, model: model.name, samples, lengths, noise, epochs, seed };
  const machine = ofBackend && {
    backend: ofBackend.backend,
    instructionSet: ofBackend.instructionSet,
    errors: ofBackend.learned.errors,
    stages: ofBackend.stages,
  };
  const json = `${JSON.stringify({ experiment: 'learned-profiler', settings, finding, ...found, machine, provenance: loaded.statements }, null, 2)}\n`;
  const { tokens, real, tree, network } = found.stages;
  const stages = toCsv(
    ['tokens', 'run_s', 'tree_s', 'network_s'],
    tokens.map((length, index) => [length, real[index], tree[index], network[index]]),
  );
  const report = learnedReport({ study: found, backend: ofBackend, model, finding, subtitle, loaded });
  writeFiles(
    options.out,
    new Map([
      ['report.html', renderReport(report)],
      ['stages.csv', stages],
      ['results.json', json],
    ]),
  );
  if (options.json) {
    process.stdout.write(json);
    return;
  }
  const columns = LESSON_COLUMNS.map(({ title, align }) => ({
    title: title.replace(/[:,] /, '\n'),
    ...(align && { align }),
  }));
  process.stdout.write(
    `${wrapText(finding, WIDTH).join('\n')}\n\n${formatTable(columns, lessonCells(found.lessons), WIDTH)}`,
  );
  if (ofBackend !== undefined) process.stdout.write(`${machineLine(ofBackend)}\n`);
  process.stdout.write(`Report: ${options.out}/report.html (beside it stages.csv, results.json)\n`);
}

function machineLine({ backend, instructionSet, learned }: BackendStudy): string {
  const errors = Object.entries(learned.errors).map(([kind, { median }]) => `${kind} ${(100 * median).toFixed(1)} %`);
  return `This machine's ${backend} kernels (${instructionSet}): held-out median error ${errors.join(', ')}; kept: ${learned.better.kind}`;
}

/** @throws InputError for an empty list, or a number that is none */
function counts(flag: string, text: string, least: number, most: number): number[] {
  const list = readList(flag, text).map((item) => readCount(flag, item, least, most));
  if (list.length === 0) throw new InputError(flag, 'is empty; give at least one number');
  return list;
}
