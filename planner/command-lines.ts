import type { Cluster } from '../engine/hardware/cluster.ts';
import { DEFAULT_KV_FORMAT, type KvFormat } from '../engine/model/kv-format.ts';
import { cachesExperts, type Plan, type TensorParallelPlan } from '../engine/plan/plan.ts';
import { relaysOf, windowsOf } from '../engine/plan/windows.ts';

/** A command line that carries a plan out with some program. */
export interface CommandLine {
  readonly program: 'hearth' | 'llama.cpp' | 'prima.cpp' | 'distributed-llama';
  /** The device to run it on. */
  readonly device: string;
  readonly line: string;
  /** Steps that must be done first. */
  readonly note?: string;
}

/** A plan to be carried out, and where its inputs are. */
export interface CarriedPlan {
  readonly plan: Plan;
  readonly cluster: Cluster;
  /** The cluster's file or name, for `--cluster`. */
  readonly clusterFile: string;
  /** The model's file, or a placeholder for it. */
  readonly file: string;
  readonly context: number;
  /** Default: F16. */
  readonly kvFormat?: KvFormat | undefined;
}

/**
 * The command lines by which programs carry a plan out: Hearth's where no layer is on a GPU, or one device has all layers
 * with the last on its GPU; llama.cpp's where one device has all layers; prima.cpp's where every round of a ring has the
 * same windows; distributed-llama's where tensors are cut evenly. Hearth alone carries out a ring whose devices cache
 * experts. Programs that can't place layers as planned are omitted. Other programs than Hearth pin no weights and prefetch
 * in their own way.
 */
export function commandLines(carried: CarriedPlan): CommandLine[] {
  const { plan } = carried;
  switch (plan.kind) {
    case 'split':
      return plan.stages.some(({ streamed }) => streamed !== undefined)
        ? []
        : [...hearthLines(carried), ...llamaLines(carried)];
    case 'ring':
      return [...hearthLines(carried), ...(cachesExperts(plan) ? [] : primaLines(carried))];
    case 'tensor-parallel':
      return distributedLlamaLines(carried, plan);
    case 'expert-parallel':
    case 'chip':
      return [];
  }
}

/** The programs of command lines, for readers. */
export function programsText(commands: readonly CommandLine[]): string {
  const programs = [...new Set(commands.map(({ program }) => program))];
  return programs.length === 0 ? 'no program that Hearth writes command lines for' : programs.join(', ');
}

/**
 * `hearth generate` computes on one CPU, or on it and then on a GPU that also has the output and the KV cache of its
 * layers; `hearth run` computes on CPUs, and takes the plan from a file (`hearth plan --save-plan`).
 */
function hearthLines({
  plan,
  cluster,
  clusterFile,
  file,
  context,
  kvFormat = DEFAULT_KV_FORMAT,
}: CarriedPlan): CommandLine[] {
  const device = plan.embedding.device;
  const kv = kvFormat === DEFAULT_KV_FORMAT ? '' : ` --kv ${kvFormat}`;
  const generate = `hearth generate --model ${file} --context ${context}${kv}`;
  const onGpu = [plan.embedding, ...plan.stages, plan.output].filter(({ processor }) => processor === 'gpu');
  if (onGpu.length > 0) {
    const last = plan.stages.at(-1);
    const isCarried =
      plan.kind === 'split' &&
      plan.kvCache === 'with-layers' &&
      last?.processor === 'gpu' &&
      plan.output.processor === 'gpu' &&
      onGpu.length === 2;
    if (!isCarried) return [];
    const layers = `--gpu-layers ${last.to - last.from}${cpuExpertsFlag(plan)}`;
    return [{ program: 'hearth', device, line: `${generate} ${layers} --prompt TEXT` }];
  }
  const line =
    plan.kind === 'split'
      ? `${generate} --prompt TEXT`
      : `hearth run --model ${file} --cluster ${clusterFile} --plan plan.json --context ${context}${kv} --prompt TEXT`;
  const isHead = plan.kind === 'split' || cluster.devices[0]?.name === device;
  return [{ program: 'hearth', device, line, ...(!isHead && { note: `${clusterFile} needs "head": "${device}"` }) }];
}

/**
 * Both programs count layers whose experts are on the CPU from the model's first, so that those before the GPU's count too.
 * @param plan whose last stage alone is on the GPU
 */
function cpuExpertsFlag({ stages }: CarriedPlan['plan']): string {
  const last = stages.at(-1);
  if (last?.cpuExperts === undefined) return '';
  const end = last.from + last.cpuExperts;
  return end === last.to ? ' --cpu-moe' : ` --n-cpu-moe ${end}`;
}

/** llama.cpp has its GPU layers last, and the output layer on the GPU if all layers are (`-ngl` counts it as a layer). */
function llamaLines({ plan, file, context, kvFormat = DEFAULT_KV_FORMAT }: CarriedPlan): CommandLine[] {
  const onGpu = plan.stages.filter(({ processor }) => processor === 'gpu');
  const gpuLayers = onGpu.reduce((sum, { from, to }) => sum + to - from, 0);
  const output = plan.output.processor === 'gpu' ? 1 : 0;
  const last = plan.stages.at(-1);
  if (gpuLayers > 0 && (onGpu.length > 1 || last?.processor !== 'gpu')) return [];
  const device = plan.embedding.device;
  const place = plan.kvCache === 'host' ? ' --no-kv-offload' : '';
  const name = kvFormat.toLowerCase();
  // It keeps quantized values only with its fused attention.
  const types = kvFormat === DEFAULT_KV_FORMAT ? '' : ` --flash-attn on -ctk ${name} -ctv ${name}`;
  const line = `llama-server -m ${file} -c ${context} -ngl ${gpuLayers + output}${cpuExpertsFlag(plan)}${place}${types}`;
  return [{ program: 'llama.cpp', device, line }];
}

/** prima.cpp takes the layers of a round by rank (`-lw`), and each rank its GPU layers of a round (`-ngl`). */
function primaLines({ plan, file, context, kvFormat = DEFAULT_KV_FORMAT }: CarriedPlan): CommandLine[] {
  if (kvFormat !== DEFAULT_KV_FORMAT || relaysOf(plan).length > 0) return [];
  const windows = windowsOf(plan);
  const ring = windows.slice(0, windows.length / plan.rounds);
  const names = ring.map(({ device }) => device);
  const repeats = windows.every(({ device, from, to }, at) => {
    const first = ring[at % ring.length];
    return device === first?.device && to - from === first.to - first.from;
  });
  if (!repeats || windows.length % plan.rounds !== 0) return [];
  if (names[0] !== plan.embedding.device) return [];
  const layers = ring.map(({ from, to }) => to - from).join(',');
  return ring.map(({ device, stages }, rank) => {
    const gpu = stages.filter(({ processor }) => processor === 'gpu').reduce((sum, { from, to }) => sum + to - from, 0);
    const next = names[(rank + 1) % names.length];
    const parts = [
      `llama-cli -m ${file} -c ${context} --world ${names.length} --rank ${rank}`,
      `--master ${addressOf(names[0])} --next ${addressOf(next)}`,
      ...(rank === 0 ? [`-lw "${layers}"`] : []),
      ...(gpu > 0 ? [`-ngl ${gpu}`] : []),
      ...((plan.weights[device]?.prefetch ?? 'none') === 'none' ? [] : ['--prefetch']),
    ];
    return { program: 'prima.cpp', device, line: parts.join(' ') };
  });
}

/** The port of a worker of distributed-llama, as in its documentation. */
const WORKER_PORT = 9999;

/**
 * distributed-llama (its README.md and src/app.cpp of 2025) cuts evenly, computes on CPUs, and has workers wait for a root
 * that sends them their parts. `--steps` counts tokens of prompt and answer, and `inference` demands it.
 */
function distributedLlamaLines(
  { cluster, context }: CarriedPlan,
  { stages: [stage] }: TensorParallelPlan,
): CommandLine[] {
  const threads = (name: string): string =>
    `--nthreads ${cluster.devices.find((device) => device.name === name)?.cpu.cores ?? 1}`;
  const isEven = stage.cut.every(({ share }) => share === stage.cut[0]?.share);
  if (!isEven) return [];
  const workers = stage.cut.map(({ device }) => device).filter((name) => name !== stage.device);
  const addresses = workers.map((name) => `${addressOf(name)}:${WORKER_PORT}`).join(' ');
  const root = `dllama inference --model MODEL.m --tokenizer TOKENIZER.t --buffer-float-type q80 --max-seq-len ${context}`;
  const note = 'it takes models in Q4_0, in the format that its converter writes';
  return [
    ...workers.map((device): CommandLine => {
      return { program: 'distributed-llama', device, line: `dllama worker --port ${WORKER_PORT} ${threads(device)}` };
    }),
    {
      ...{ program: 'distributed-llama', device: stage.device, note },
      line: `${root} ${threads(stage.device)} --workers ${addresses} --prompt TEXT --steps ${context}`,
    },
  ];
}

/** Placeholder for a device's address. */
function addressOf(device = ''): string {
  return `ADDRESS-OF-${device.replace(/[^\w.-]+/g, '-')}`;
}
