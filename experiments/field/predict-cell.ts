import {
  type FieldFormat,
  type FieldMachine,
  type FieldMeanings,
  type FieldName,
  type FieldProgram,
  type FieldSetting,
  loadFieldDevices,
  loadFieldMeanings,
  loadFieldModels,
  type Meaning,
} from '../../datasets/field.ts';
import { createNamedModel, namedW4a16Model } from '../../datasets/load.ts';
import { predict } from '../../engine/cost/predict.ts';
import { usualMix } from '../../engine/gguf/parse-models.ts';
import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import type { Gpu } from '../../engine/hardware/device.ts';
import { parseCluster } from '../../engine/hardware/parse-cluster.ts';
import { namedPart, presetCluster, readPreset } from '../../engine/hardware/preset-cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload, type Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { singleDevice } from '../../engine/schedule/baselines/single-device.ts';
import { tensorParallel } from '../../engine/schedule/baselines/tensor-parallel.ts';
import { closedFormSeconds } from '../../planner/candidates.ts';
import { planningProblem } from '../../planner/question.ts';
import { mean } from '../report/mean.ts';
import { isDrawn } from './draw.ts';
import { type FieldParts, makerOf, partsOf } from './parts.ts';
import { type FieldTest, readFieldTest } from './test-of-cell.ts';

/** A setting that can be predicted. */
export interface KnownSetting extends FieldMachine, FieldProgram {
  readonly model: string;
  readonly format: FieldFormat;
  readonly test: FieldTest;
  /** Assumptions in reading it. */
  readonly assumed: string;
  /** The maker of the GPU that computes; '' for other processors. */
  readonly maker: string;
}

/** A prediction from specifications, without an efficiency, or the reason why there is none. */
export type FieldPrediction =
  | {
      readonly known: KnownSetting;
      readonly tokensPerSecond: number;
      /** Parts of one GPU that computes the whole model. */
      readonly parts: FieldParts | undefined;
    }
  | { readonly reason: string };

/** Predicts settings; values are no part of what it is given. */
export function createFieldPredictor(): (setting: FieldSetting) => FieldPrediction {
  const meanings = loadFieldMeanings();
  const models = loadFieldModels();
  const devices = loadFieldDevices();
  const cluster = remembered(
    ({ preset, processor, count, link, plan }) => [preset, processor, count, link, plan],
    (known) => clusterOf(known, devices),
  );
  const model = remembered(
    (known) => [known.model, known.format.mix],
    (known) => modelOf(known, models),
  );
  const rateFor = remembered(
    ({ preset, processor, count, link, plan, model, format, test }) => [
      preset,
      processor,
      count,
      link,
      plan,
      model,
      format.mix,
      test,
    ],
    (known) => meanRate(known, cluster(known), model(known)),
  );
  return (setting) => {
    const read = readSetting(setting, meanings);
    if ('reason' in read) return read;
    const rate = rateFor({ ...read, maker: '' });
    if (typeof rate !== 'number') return { reason: rate };
    const device = readPreset(devices, read.preset, 'preset');
    const computes = read.processor !== 'cpu' && read.processor !== 'npu';
    const known = { ...read, maker: (computes && makerOf(device)) || '' };
    const isWhole = computes && read.plan === 'whole' && read.count === 1;
    return { known, tokensPerSecond: rate, parts: isWhole ? partsOf(read.test, device, model(known)) : undefined };
  };
}

/** Finds a thing once for all settings that agree in what it depends on. */
function remembered<Found>(
  dependsOn: (known: KnownSetting) => readonly unknown[],
  find: (known: KnownSetting) => Found,
): (known: KnownSetting) => Found {
  const found = new Map<string, { readonly value: Found }>();
  return (known) => {
    const key = JSON.stringify(dependsOn(known));
    const own = found.get(key) ?? { value: find(known) };
    found.set(key, own);
    return own.value;
  };
}

/** Tokens per second, the mean over the prompts of a test that has several; or the reason why there are none. */
function meanRate(known: KnownSetting, cluster: Cluster, model: Model): number | string {
  const { test } = known;
  const workloads =
    test.phase === 'prefill'
      ? test.prompts.map((promptTokens) => createWorkload({ promptTokens, context: promptTokens }))
      : [createWorkload({ context: test.context })];
  const rates: number[] = [];
  for (const workload of workloads) {
    const plan = planOf(known, { belief: cluster, model, workload });
    if (plan?.kind === 'tensor-parallel' && test.phase === 'prefill')
      return 'prefill of plans that cut tensors has no closed form';
    const rate = plan === undefined ? 0 : rateOf(test.phase, { cluster, model, workload, plan });
    if (rate === 0) return 'its model does not fit the machine by this description of it';
    rates.push(rate);
  }
  return mean(rates);
}

/** The texts of a setting by their meanings. Reasons of machine and program come before those of model and format. */
function readSetting(setting: FieldSetting, meanings: FieldMeanings): Meaning<Omit<KnownSetting, 'maker'>> {
  const found: readonly Meaning<FieldProgram | FieldMachine | FieldName | FieldFormat>[] = [
    meanings.program(setting.backend),
    meanings.machine(setting.devices, setting.backend),
    meanings.name(setting.model),
    meanings.format(setting.quantization),
  ];
  const missing = found.find((meaning) => 'reason' in meaning);
  if (missing !== undefined && 'reason' in missing) return missing;
  const [program, machine, name, format] = found as [FieldProgram, FieldMachine, FieldName, FieldFormat];
  const test = readFieldTest(setting.test);
  if (test === undefined) return { reason: 'its test is of a kind that is not predicted' };
  // A drawn machine is fitted to and never judged, so that knowing its times is no harm.
  if (/TTFT/.test(setting.test) && !isDrawn(machine.machine))
    return { reason: 'its time stands in the text of the test, which was read before predictions were made' };
  // Ollama runs models with this tag by MLX, others by llama.cpp.
  const isMlx = setting.backend === 'ollama' && setting.model.endsWith('-mlx');
  return {
    ...machine,
    ...program,
    ...(isMlx ? { program: 'MLX' } : {}),
    model: name.model,
    format,
    test,
    assumed: [machine.note, name.note, format.note].filter((note) => note !== '').join('; '),
  };
}

/** The devices as `hearth plan` would describe them; those that compute on their CPUs have no GPU. */
function clusterOf(
  { preset, count, link, processor, plan }: KnownSetting,
  devices: ReturnType<typeof loadFieldDevices>,
): Cluster {
  const part = readPreset(devices, preset, 'preset');
  const network = namedPart(devices, { name: link || 'Ethernet 1 Gbit/s', flag: 'link', kinds: ['link'] });
  const cluster = parseCluster(
    presetCluster(
      Array.from({ length: count }, () => part),
      network,
    ),
    preset,
  );
  if (processor !== 'cpu' && !plan.startsWith('tensor-parallel')) return cluster;
  return createCluster({
    ...cluster,
    devices: cluster.devices.map((device) => {
      // The closed form cuts tensors over CPUs: the processor that computes takes their place.
      const cpu =
        processor === 'cpu' || device.gpu === undefined ? device.cpu : { ...device.cpu, ...ratesOf(device.gpu) };
      return { ...device, cpu, gpu: undefined };
    }),
  });
}

/** A GPU’s rates and latencies, without its memory. */
function ratesOf({
  flops,
  bandwidth,
  kvCopyLatency,
  dispatch = 0,
}: Gpu): Pick<Gpu, 'flops' | 'bandwidth' | 'kvCopyLatency' | 'dispatch'> {
  return { flops, bandwidth, kvCopyLatency, dispatch };
}

function modelOf({ model, format: { mix } }: KnownSetting, models: ReturnType<typeof loadFieldModels>): Model {
  if (mix === 'W4A16') return namedW4a16Model(models, model);
  const own = models.find(({ shape }) => shape.name === model);
  const wanted = mix === 'default' && own !== undefined ? usualMix(own) : mix;
  return createNamedModel(models, `${model}:${wanted}`);
}

interface Problem {
  readonly belief: Cluster;
  readonly model: Model;
  readonly workload: Workload;
}

/** The plan that the program carried out. */
function planOf({ plan }: KnownSetting, problem: Problem): Plan | undefined {
  const { belief, model } = problem;
  const layers = /^layers (\d+)$/.exec(plan)?.[1];
  const planning = planningProblem(problem);
  const isSeveral = belief.devices.length > 1;
  if (plan === 'tensor-parallel' && isSeveral) return tensorParallel(planning).plan;
  if (plan === 'tensor-parallel by the root' && isSeveral) return tensorParallel(planning, { allReduce: 'star' }).plan;
  const head = belief.devices[0]?.name ?? '';
  if (plan === 'layer-split' && isSeveral) return layerSplit(problem, head);
  if (layers === undefined) return singleDevice(planning).plan;
  const gpuLayers = Number(layers);
  return ringPlan({
    scheduler: 'as-stated',
    head,
    rounds: 1,
    windows: [{ device: head, layers: model.layers, gpuLayers }],
    outputProcessor: gpuLayers === model.layers ? 'gpu' : 'cpu',
    prefetch: 'none',
  });
}

/** Tokens per second of a model whose layers lie in equal parts on different machines, one after the other. */
export function splitRate(
  presets: readonly string[],
  link: string,
  named: { readonly model: string; readonly context: number },
): number {
  const devices = loadFieldDevices();
  const network = namedPart(devices, { name: link, flag: 'link', kinds: ['link'] });
  const parts = presets.map((preset) => readPreset(devices, preset, 'preset'));
  const cluster = parseCluster(presetCluster(parts, network), presets.join(' and '));
  const model = createNamedModel(loadFieldModels(), named.model);
  const workload = createWorkload({ context: named.context });
  const plan = layerSplit({ belief: cluster, model, workload }, cluster.devices[0]?.name ?? '');
  return rateOf('decode', { cluster, model, workload, plan });
}

/** Equal windows of layers on the GPUs of all machines, one after the other, as RPC servers with equal memory get them. */
function layerSplit({ belief, model }: Problem, head: string): Plan {
  const count = belief.devices.length;
  return ringPlan({
    scheduler: 'as-stated',
    head,
    rounds: 1,
    windows: belief.devices.map(({ name }, index) => {
      const layers = Math.floor(((index + 1) * model.layers) / count) - Math.floor((index * model.layers) / count);
      return { device: name, layers, gpuLayers: layers };
    }),
    outputProcessor: 'gpu',
    prefetch: 'none',
  });
}

/** Tokens per second by the planner's closed form (decode), or the papers' sum (prefill); 0 for a plan that can't run. */
function rateOf(
  phase: FieldTest['phase'],
  { cluster, model, workload, plan }: Omit<Problem, 'belief'> & { readonly cluster: Cluster; readonly plan: Plan },
): number {
  const problem = planningProblem({ belief: cluster, model, workload });
  if (phase === 'decode') return 1 / closedFormSeconds(problem, plan);
  const { tokenSeconds, infeasible } = predict({
    ...{ plan, truth: cluster, model, workload, runtime: problem.runtime },
    ...{ phase: 'prefill', reclaim: 'lru' },
  } as const);
  return infeasible.length > 0 ? 0 : workload.promptTokens / tokenSeconds;
}
