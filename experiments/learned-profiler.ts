import { loadCatalogue, loadClusterFile, namedW4a16Model } from '../datasets/load.ts';
import { InputError } from '../engine/input/input-error.ts';
import { FEWEST_SAMPLES } from '../engine/profile/predicted/learn-latency.ts';
import { readChoice, readCount, readList } from '../engine/terminal/options.ts';
import { BACKENDS, type BackendStudy, studyBackend } from './learned-profiler/backend.ts';
import { LESSONS, learnedPage, lessonRows, STAIRCASE, staircaseRows } from './learned-profiler/report.ts';
import { study, studyFinding, studySteps } from './learned-profiler/study.ts';
import { tableCsv, terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { count, option, text } from './report/options.ts';

const WIDTH = 150;
/** Learning a tree from more samples takes minutes, since ml-cart tries every split of every sample. */
const MOST_SAMPLES = 2000;

await runExperiment({
  name: 'learned-profiler',
  description:
    'Prediction mode of HeteroLLM’s profiler: a tree and a small network learn what operators take, and what their errors cost the solver (§4.3).',
  options: {
    cluster: text(
      '--cluster <key>',
      'a cluster of datasets/clusters, or a file, whose head is a chip with an NPU',
      'hetero-8gen3',
    ),
    model: text('--model <name>', 'a model of the catalogue, in W4A16', 'Llama-3-8B'),
    samples: option('--samples <list>', 'numbers of shapes that are run on each processor', readSamples, {
      default: '100,200,400',
    }),
    lengths: option('--lengths <list>', 'tokens of the prompts that are planned for', readLengths, {
      default: '64,135,256,300,525,1000',
    }),
    noise: count('--noise <percent>', 'relative deviation of the times of a run', { default: 2, least: 0, most: 100 }),
    epochs: count('--epochs <n>', 'passes of the network over its samples', { default: 200, most: 10_000 }),
    backend: option(
      '--backend <name>',
      `profile this machine’s own kernels as well: ${BACKENDS.join(', ')}`,
      (flag, given) => readChoice(flag, given, BACKENDS),
    ),
  },
  json: 'results.json',
  files: ['stages.csv'],
  seed: { help: 'of shapes, noise, held-out samples and first weights' },
  async run(options, { progress }) {
    const { samples, lengths, epochs, backend, seed } = options;
    const loaded = loadClusterFile(options.cluster);
    const { cluster } = loaded;
    const model = namedW4a16Model(loadCatalogue(), options.model);
    const noise = options.noise / 100;
    const bar = progress(studySteps({ samples }) + (backend === undefined ? 0 : 1));
    let own: BackendStudy | undefined;
    if (backend !== undefined) {
      bar.step(`this machine’s ${backend} kernels`);
      own = await studyBackend(backend, Math.max(...samples), seed, epochs);
    }
    const found = await study({ cluster, model, samples, lengths, noise, seed, epochs, step: bar.step });
    const finding = studyFinding(found);
    const settings = { cluster: options.cluster, model: model.name, samples, lengths, noise, epochs, seed };
    const machine = own && {
      backend: own.backend,
      instructionSet: own.instructionSet,
      errors: own.learned.errors,
      stages: own.stages,
    };
    return {
      subtitle: `${model.name} in W4A16 on the simulated chip of ${cluster.name} · HeteroLLM §4.3 · noise of ${options.noise} %, ${epochs} epochs, seed ${seed}`,
      findings: [finding],
      data: {
        experiment: 'learned-profiler',
        settings,
        finding,
        ...found,
        machine,
        provenance: loaded.statements,
      },
      text: [
        terminalTable({ columns: LESSONS, rows: lessonRows(found.lessons) }, WIDTH),
        ...(own === undefined ? [] : [machineLine(own)]),
      ],
      page: learnedPage(found, own),
      files: { 'stages.csv': tableCsv({ columns: STAIRCASE, rows: staircaseRows(found.stages) }) },
      clusters: [loaded],
    };
  },
});

function machineLine({ backend, instructionSet, learned }: BackendStudy): string {
  const errors = Object.entries(learned.errors).map(([kind, { median }]) => `${kind} ${(100 * median).toFixed(1)} %`);
  return `This machine’s ${backend} kernels (${instructionSet}): held-out median error ${errors.join(', ')}; kept: ${learned.better.kind}`;
}

function readSamples(flag: string, given: string): number[] {
  return readCounts(flag, given, FEWEST_SAMPLES, MOST_SAMPLES).sort((a, b) => a - b);
}

function readLengths(flag: string, given: string): number[] {
  return readCounts(flag, given, 1, 8192);
}

/** @throws InputError for an empty list, or an item that is not a number in range */
function readCounts(flag: string, given: string, least: number, most: number): number[] {
  const list = readList(flag, given).map((item) => readCount(flag, item, least, most));
  if (list.length === 0) throw new InputError(flag, 'is empty; give at least one number');
  return list;
}
