import { createNamedModel, loadCatalogue, loadCluster } from '../../../datasets/load.ts';
import { parsePublished } from '../../../datasets/published.ts';
import { readText } from '../../../datasets/read-text.ts';
import { parseRegister } from '../../../datasets/register.ts';
import { predict } from '../../../engine/cost/predict.ts';
import { parseModels } from '../../../engine/gguf/parse-models.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import { parseCluster } from '../../../engine/hardware/parse-cluster.ts';
import type { RandomStream } from '../../../engine/input/random-stream.ts';
import { createModel } from '../../../engine/model/model.ts';
import { DEFAULT_WORKLOAD } from '../../../engine/model/workload.ts';
import { parsePlan } from '../../../engine/plan/parse-plan.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import { parseRing } from '../../../engine/ring/head/ring-file.ts';
import { layerStreaming } from '../../../engine/schedule/baselines/layer-streaming.ts';
import { memoryRatio } from '../../../engine/schedule/baselines/memory-ratio.ts';
import { tensorParallel } from '../../../engine/schedule/baselines/tensor-parallel.ts';
import { optimal } from '../../../engine/schedule/exact/optimal.ts';
import type { SchedulingProblem } from '../../../engine/schedule/scheduler.ts';
import { tensorPartition } from '../../../engine/schedule/tensor-partition/tensor-partition.ts';
import { mutateBytes } from '../mutate-bytes.ts';
import { type Json, jsonText, mutateJson } from '../mutate-json.ts';
import type { FuzzTarget } from '../target.ts';

const MODEL = createNamedModel(loadCatalogue(), 'Llama-3-8B');

/** Clusters with every kind of device and link. */
const CLUSTERS = ['home-example', 'prima-home', 'prima-home-metal', 'helm-3090', 'hetero-8gen3', 'four-small'];

/** Rows of a CSV file from which mutated ones are made. */
const ROWS = 12;

/** A seed of a JSON file, or the text of a CSV file. */
interface Seed {
  readonly format: string;
  readonly json?: Json;
  readonly text?: string;
}

/**
 * Cluster, ring, plan and CSV files. An input is the name of its format, a line break and the text. A cluster that is
 * accepted is planned for and predicted, a plan is predicted on the clusters it may be for, a catalogue's models are
 * made.
 */
export function open(): FuzzTarget {
  const clusters = CLUSTERS.map((key) => loadCluster(key));
  const formats = readers(clusters);
  const seeds = [...clusterSeeds(), ...planSeeds(clusters), ...tableSeeds()];
  return {
    input: (random) => mutated(seeds, random),
    read(input) {
      const [format = '', ...lines] = new TextDecoder().decode(input).split('\n');
      const read = formats[format];
      return read === undefined ? 'no format' : read(lines.join('\n'));
    },
  };
}

function readers(clusters: readonly Cluster[]): Readonly<Record<string, (text: string) => string>> {
  return {
    cluster(text) {
      const belief = parseCluster(text, 'cluster.json');
      const problem = { belief, model: MODEL, workload: DEFAULT_WORKLOAD };
      const { plan } = memoryRatio(problem);
      if (plan === undefined) return 'cluster without a plan';
      predict({ plan, truth: belief, model: MODEL, workload: DEFAULT_WORKLOAD });
      return 'cluster with a plan';
    },
    ring: (text) => (parseRing(text, 'ring.json', true).cluster === undefined ? 'ring' : 'ring with a cluster'),
    plan(text) {
      const plan = parsePlan(text, 'plan.json');
      const devices = plan.stages.map(({ device }) => device);
      const truth = clusters.find((one) => devices.every((name) => one.devices.some((device) => device.name === name)));
      if (truth === undefined) return 'plan for no cluster';
      predict({ plan, truth, model: MODEL, workload: DEFAULT_WORKLOAD });
      return 'plan, predicted';
    },
    models(text) {
      const models = parseModels(text, 'models.csv').map(({ shape, defaultMix }) => createModel(shape, defaultMix));
      return models.length > 0 ? 'models' : 'no models';
    },
    published: (text) => `${parsePublished(text, 'published.csv').length > 0 ? '' : 'no '}published results`,
    register: (text) => `${parseRegister(text, 'register.csv').length > 0 ? '' : 'no '}registered errors`,
  };
}

const fileOf = (name: string): string => readText(`datasets/${name}`, 'run this in the project’s folder');

function clusterSeeds(): Seed[] {
  return CLUSTERS.flatMap((key) => {
    const json = JSON.parse(fileOf(`clusters/${key}.json`)) as { readonly devices: readonly object[] };
    const devices = json.devices.map((device, index) => ({ ...device, address: `tcp://10.0.0.${index}:7400` }));
    return [
      { format: 'cluster', json: json as unknown as Json },
      { format: 'ring', json: { ...json, devices } as unknown as Json },
    ];
  });
}

/** One plan of every kind that a cluster has a scheduler for. */
function planSeeds(clusters: readonly Cluster[]): Seed[] {
  return clusters.flatMap((belief) => {
    const problem: SchedulingProblem = { belief, model: MODEL, workload: DEFAULT_WORKLOAD };
    const plans = [
      memoryRatio(problem),
      optimal(problem),
      tensorParallel(problem),
      layerStreaming(problem, { variant: 'zero-inference' }),
      tensorPartition(problem),
    ].flatMap(({ plan }): Plan[] => (plan === undefined ? [] : [plan]));
    return plans.map((plan) => ({ format: 'plan', json: JSON.parse(JSON.stringify(plan)) as Json }));
  });
}

function tableSeeds(): Seed[] {
  const tables = { models: 'models.csv', published: 'published/prima-cpp.csv', register: 'published/register.csv' };
  return Object.entries(tables).map(([format, file]) => ({
    format,
    text: fileOf(file).split('\n').slice(0, ROWS).join('\n'),
  }));
}

/** Up to three changes of what a file says, and sometimes up to four of its bytes. */
function mutated(seeds: readonly Seed[], random: RandomStream): Uint8Array {
  const seed = random.pick(seeds);
  const other = random.pick(seeds);
  let text = seed.text === undefined ? '' : mutatedTable(seed.text, random);
  if (seed.json !== undefined) {
    let json = seed.json;
    for (let times = random.integer(0, 3); times > 0; times--) json = mutateJson(json, other.json ?? seed.json, random);
    text = jsonText(json, random.integer(0, 1));
  }
  const encoder = new TextEncoder();
  let bytes: Uint8Array = encoder.encode(text);
  const foreign = encoder.encode(other.text ?? '{"name": [4, "4 GB"]}');
  if (random.integer(0, 2) === 0)
    for (let times = random.integer(1, 4); times > 0; times--) bytes = mutateBytes(bytes, foreign, random);
  return Buffer.concat([encoder.encode(`${seed.format}\n`), bytes]);
}

const CELLS = [
  '',
  '0',
  '-1',
  '1e999',
  'NaN',
  '1e21',
  '"',
  '""',
  '",\n"',
  'x'.repeat(5000),
  '__proto__',
  '\0',
  'Q4_K_M',
];

/** Up to four changed, added, removed or moved cells and rows. */
function mutatedTable(text: string, random: RandomStream): string {
  const rows = text.split('\n').map((row) => row.split(','));
  for (let times = random.integer(0, 4); times > 0; times--) {
    const row = random.pick(rows);
    const column = random.integer(0, Math.max(0, row.length - 1));
    switch (random.integer(0, 5)) {
      case 0:
        row.splice(column, 1);
        break;
      case 1:
        row.splice(column, 0, random.pick(CELLS));
        break;
      case 2:
        rows.splice(random.integer(0, rows.length), 0, [...random.pick(rows)]);
        break;
      case 3:
        row[column] = random.pick(random.pick(rows)) ?? '';
        break;
      default:
        row[column] = random.pick(CELLS);
    }
  }
  return rows.map((row) => row.join(',')).join('\n');
}
