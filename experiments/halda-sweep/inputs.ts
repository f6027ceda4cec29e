import {
  createNamedModel,
  loadCatalogue,
  loadClusterFile,
  loadModels,
  loadPlan,
  publishedMix,
} from '../../datasets/load.ts';
import type { Statement } from '../../datasets/statements.ts';
import { believedCluster, findTestbed, type Testbed, trueCluster } from '../../datasets/testbeds.ts';
import type { CatalogueModel } from '../../engine/gguf/parse-models.ts';
import { type Cluster, withDevices } from '../../engine/hardware/cluster.ts';
import { InputError, suggestion } from '../../engine/input/input-error.ts';
import type { Shape } from '../../engine/model/architecture.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { validatePlan } from '../../engine/plan/validate-plan.ts';
import type { SweptModel } from './sweep.ts';

export interface SweptCluster {
  /** The testbed of a paper, by its key: its devices have what datasets/testbeds.ts says. */
  readonly testbed: Testbed | undefined;
  readonly truth: Cluster;
  readonly belief: Cluster;
  readonly statements: readonly Statement[];
  /** All devices of the file take part, so published numbers are comparable. */
  readonly whole: boolean;
  readonly subsets: boolean;
}

/** The options of halda-sweep that say what to read. */
export interface SweepOptions {
  readonly cluster: readonly string[];
  /** The cluster that the schedulers see; unless given what a testbed's paper states, or the true one. */
  readonly belief?: string | undefined;
  readonly models?: readonly string[] | undefined;
  readonly modelFile?: string | undefined;
  readonly devices?: readonly string[] | undefined;
  /** By default `true` for clusters of at most SUBSETS_BY_DEFAULT devices. */
  readonly subsets?: boolean | undefined;
  readonly plan?: string | undefined;
}

/** Everything that a sweep reads, checked against each other. */
export interface SweepInputs {
  readonly clusters: readonly SweptCluster[];
  readonly catalogue: readonly CatalogueModel[];
  readonly models: readonly SweptModel[];
  readonly handPlan: Plan | undefined;
}

/** prima.cpp Table 4. */
const LLAMA = ['Llama-3-8B', 'Llama-3-14B', 'Llama-1-30B', 'Llama-3-45B', 'Llama-3-60B', 'Llama-1-65B', 'Llama-3-70B'];

/** Devices of a cluster up to which subsets are tried by default: 2⁵ of them with the head. */
export const SUBSETS_BY_DEFAULT = 6;

/** Devices beyond which trying every subset takes hours: 2¹¹ sets with the head. */
const SUBSETS_AT_MOST = 12;

/** @throws InputError for what is missing, malformed or contradictory */
export function sweepInputs(options: SweepOptions): SweepInputs {
  const clusters = options.cluster.map((name) => sweptCluster(name, options));
  const names = clusters.map(({ truth }) => truth.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new InputError('--cluster', `two files describe a cluster "${twice}"; rename one`);
  const catalogue = loadCatalogue(options.modelFile);
  const models = sweptModels(catalogue, options);
  const handPlan = options.plan === undefined ? undefined : loadPlan(options.plan);
  if (handPlan !== undefined) checkPlan(handPlan, `--plan ${options.plan}`, clusters, models);
  return { clusters, catalogue, models, handPlan };
}

function sweptCluster(name: string, { belief, devices, subsets }: SweepOptions): SweptCluster {
  const { cluster, statements } = loadClusterFile(name);
  const testbed = findTestbed(name);
  const stated = testbed === undefined ? cluster : believedCluster(testbed, cluster);
  const believed = belief === undefined ? stated : loadClusterFile(belief, '--belief').cluster;
  checkBelief(believed, cluster);
  const some = (all: Cluster): Cluster => (devices === undefined ? all : withDevices(all, devices));
  const truth = some(testbed === undefined ? cluster : trueCluster(testbed, stated));
  const count = truth.devices.length;
  if (subsets === true && count > SUBSETS_AT_MOST) {
    const problem = `${truth.name} has ${count} devices: at most ${SUBSETS_AT_MOST} can be tried in every combination; choose some with --devices`;
    throw new InputError('--subsets', problem);
  }
  return {
    testbed,
    truth,
    belief: some(believed),
    statements,
    whole: count === cluster.devices.length,
    subsets: subsets ?? (count > 1 && count <= SUBSETS_BY_DEFAULT),
  };
}

/** Schedulers may be wrong about what devices can do, but not about which devices exist and which is the head. */
function checkBelief(belief: Cluster, truth: Cluster): void {
  const names = truth.devices.map(({ name }) => name);
  const believed = belief.devices.map(({ name }) => name);
  const stranger = believed.find((name) => !names.includes(name));
  if (stranger !== undefined) {
    const problem = `${belief.name} has a device "${stranger}", which ${truth.name} lacks${suggestion(stranger, names)}`;
    throw new InputError('--belief', problem);
  }
  if (believed[0] !== names[0]) {
    const problem = `${belief.name} has the head "${believed[0]}", ${truth.name} has "${names[0]}"; make them agree`;
    throw new InputError('--belief', problem);
  }
}

function sweptModels(catalogue: readonly CatalogueModel[], { models, modelFile }: SweepOptions): SweptModel[] {
  // Schedulers are compared by simulation, which doesn't know which experts a disk reads.
  const all = catalogue.filter(({ shape }) => !hasExperts(shape)).map(({ shape }) => shape.name);
  const own = modelFile === undefined ? [] : loadModels(modelFile).map(({ shape }) => shape.name);
  const wanted = models ?? (modelFile === undefined ? ['llama'] : own);
  const groups: Readonly<Record<string, readonly string[]>> = { all, llama: LLAMA };
  const labels = [...new Set(wanted.flatMap((name) => groups[name] ?? [name]))];
  return labels.map((label) => {
    const model = createNamedModel(catalogue, label);
    if (hasExperts(model))
      throw new InputError(
        '--models',
        `${label} has experts; sweeps compare dense models (hearth plan answers for it)`,
      );
    const row = catalogue.find(({ shape }) => shape.name === model.name) as CatalogueModel;
    return { label, model, asPublished: !own.includes(model.name) && model.mix === publishedMix(row) };
  });
}

function hasExperts({ kinds }: Pick<Shape, 'kinds'>): boolean {
  return kinds.some(({ feedForward }) => feedForward?.kind === 'experts');
}

function checkPlan(plan: Plan, where: string, clusters: readonly SweptCluster[], models: readonly SweptModel[]): void {
  const layers = plan.stages.at(-1)?.to ?? 0;
  const fitting = models.filter(({ model }) => model.layers === layers);
  if (fitting.length === 0) {
    const counts = models.map(({ label, model }) => `${label} ${model.layers}`).join(', ');
    throw new InputError(
      where,
      `has ${layers} layers; the models have: ${counts}; name the plan’s model with --models`,
    );
  }
  for (const { truth } of clusters) for (const { model } of fitting) validatePlan(plan, truth, model, where);
}
