import { execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { loadCluster } from '../../../datasets/load.ts';
import { withFile } from '../../../engine/gguf/file-source.ts';
import { modelFromGguf } from '../../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../../engine/gguf/read-gguf.ts';
import { type ChipDevice, chipDevice } from '../../../engine/hardware/chip.ts';
import { createCluster } from '../../../engine/hardware/cluster.ts';
import type { Device } from '../../../engine/hardware/device.ts';
import { type UniformShape, uniformShape } from '../../../engine/model/architecture.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import type { ChipPlan } from '../../../engine/plan/plan.ts';
import { tensorPartition } from '../../../engine/schedule/tensor-partition/tensor-partition.ts';
import { madeModel } from '../../../experiments/measure/made-models.ts';
import { asMeasured, slowedChip } from '../../../experiments/measure/slowed-chip.ts';
import { createProbes } from '../../../experiments/npu-measured/probes.ts';
import { type DrawnPlan, EXPERTS, LAYERS } from './draw.ts';

export const HEARTH = 'bin/hearth.js';
export const hearth = promisify(execFile);

const DENSE: UniformShape = {
  ...{ name: 'Random-80M', architecture: 'llama', layers: LAYERS, hiddenSize: 1024, ffnSize: 2816 },
  ...{ heads: 16, kvHeads: 4, headSize: 64, vocabularySize: 4096, tiedEmbeddings: false, qkvBias: false },
};
/** For a GPU in software. */
const NARROW: UniformShape = { ...DENSE, name: 'Random-6M', hiddenSize: 256, ffnSize: 704, heads: 4, kvHeads: 2 };

/** A plan with the files that `hearth answers` needs. */
export interface Question {
  readonly plan: object;
  readonly model: string;
  /** Whether another device takes part. */
  readonly hasWorker: boolean;
  readonly onGpu: boolean;
  /** Facts about the devices; `undefined`: they are measured. */
  readonly cluster?: object;
}

const place = (device: string, processor = 'cpu') => ({ device, processor });
const PLAN = { scheduler: 'hand', rounds: 1, embedding: place('h'), output: place('h'), kvCache: 'with-layers' };
const stage = (device: string, from: number, to: number, more: object = {}) => ({
  ...place(device),
  from,
  to,
  ...more,
});
const onGpu = { processor: 'gpu' };

/** The plan of a draw. @param folder of the models, which are made unless they are there */
export async function questionOf(drawn: DrawnPlan, folder: string, seed: number): Promise<Question> {
  const { kind, mix, cut, share, rounds, way, allReduce } = drawn;
  const whole = [stage('h', 0, LAYERS)];
  const usesGpu = kind === 'CPU and GPU' || kind === 'streamed to a GPU' || kind === 'KV cache on the host';
  const model = usesGpu ? NARROW : DENSE;
  const dense = async () => ({
    model: await madeModel(folder, uniformShape(model), mix, seed),
    hasWorker: false,
    onGpu: false,
  });
  const mixture = async () => ({ model: await madeMixture(folder, mix, seed), hasWorker: false, onGpu: false });
  switch (kind) {
    case 'CPU, some weights read': {
      const own = await dense();
      const pinned = Math.round(
        share * withFile(own.model, readGguf).tensors.reduce((sum, { bytes }) => sum + bytes, 0),
      );
      return {
        ...own,
        plan: { ...PLAN, stages: whole, weights: { h: { prefetch: 'none', release: 'pinned', pinned } } },
      };
    }
    case 'mixture, cached experts': {
      const slots = Math.max(2, Math.round(share * EXPERTS));
      const lookahead = { kind: 'none' };
      const experts = {
        slots,
        pool: 'layer',
        eviction: 'lru',
        method: 'direct',
        layout: 'file',
        depth: 2,
        hitsFirst: true,
        lookahead,
      };
      return {
        ...(await mixture()),
        plan: { ...PLAN, stages: whole, weights: { h: { prefetch: 'none', release: 'none', experts } } },
      };
    }
    case 'ring of CPUs': {
      const half = LAYERS / 2;
      const stages =
        rounds === 1 ? [stage('h', 0, cut), stage('w', cut, LAYERS)] : twice(Math.min(cut, half - 1), half);
      return { ...(await dense()), hasWorker: true, plan: { ...PLAN, rounds, stages } };
    }
    case 'tensor parallel': {
      const parts = [
        { device: 'h', share: 0.5 },
        { device: 'w', share: 0.5 },
      ];
      return {
        ...(await dense()),
        hasWorker: true,
        plan: { ...PLAN, allReduce, stages: [stage('h', 0, LAYERS, { cut: parts })] },
      };
    }
    case 'expert parallel': {
      const first = Math.max(1, Math.round(share * EXPERTS));
      const held = (from: number, to: number) =>
        Array.from({ length: LAYERS }, () => Array.from({ length: to - from }, (_, at) => from + at));
      const holders = [
        { device: 'h', experts: held(0, first) },
        { device: 'w', experts: held(first, EXPERTS) },
      ];
      return { ...(await mixture()), hasWorker: true, plan: { ...PLAN, stages: whole, holders } };
    }
    case 'CPU and GPU':
      return {
        ...(await dense()),
        onGpu: true,
        plan: { ...PLAN, stages: [stage('h', 0, cut), stage('h', cut, LAYERS, onGpu)] },
      };
    case 'streamed to a GPU':
      return {
        ...(await dense()),
        onGpu: true,
        plan: { ...PLAN, stages: [stage('h', 0, cut), stage('h', cut, LAYERS, { ...onGpu, streamed: way })] },
      };
    case 'KV cache on the host':
      return {
        ...(await dense()),
        onGpu: true,
        plan: { ...PLAN, kvCache: 'host', stages: [stage('h', 0, cut), stage('h', cut, LAYERS, onGpu)] },
      };
    case 'chip':
    case 'ring with a chip': {
      const own = await dense();
      const { plan, device } = await chipPlan(own.model, drawn);
      const chip = clusterDevice(device);
      if (kind === 'chip') return { ...own, plan, cluster: { name: 'chip', devices: [chip], links } };
      const {
        stages: [{ partition }],
      } = plan;
      const stages = [stage('h', 0, cut, { ...onGpu, partition }), stage('w', cut, LAYERS)];
      const output = { ...place('h', 'gpu'), partition };
      // The worker is as fast as the chip's GPU, which its CPU stands for.
      const { npu: _npu, soc: _soc, gpu, ...rest } = chip as Record<string, unknown>;
      const { api: _api, memory: _memory, ...rates } = gpu as Record<string, unknown>;
      const worker = { ...rest, name: 'w', cpu: { cores: 1, ...rates } };
      return {
        ...own,
        hasWorker: true,
        plan: { ...PLAN, embedding: place('h'), output, stages },
        cluster: { name: 'ring', devices: [chip, worker], links },
      };
    }
  }
}

/** Assumed for the loopback. */
const links = { default: { latency: '100 us', bandwidth: '10 Gbps' } };

/** A cluster of this machine as head and as worker. @param file of hearth profile */
export function hereTwice(file: string): object {
  const [device] = JSON.parse(readFileSync(file, 'utf8')).devices;
  return { name: 'here', devices: ['h', 'w'].map((name) => ({ ...device, name })), links };
}

/** Two rounds of a ring, of `half` layers each. */
function twice(cut: number, half: number): object[] {
  const own = Math.max(1, cut);
  return [0, half].flatMap((from) => [stage('h', from, from + own), stage('w', from + own, from + half)]);
}

async function madeMixture(folder: string, mix: string, seed: number): Promise<string> {
  const path = join(folder, `mixture-${mix}-${seed}.gguf`);
  if (existsSync(path)) return path;
  const shapes = join(folder, 'mixture.csv');
  writeFileSync(
    shapes,
    `name,architecture,layers,hidden_size,ffn_size,heads,kv_heads,head_size,vocabulary_size,trained_context,experts,experts_used,tied_embeddings,qkv_bias,default_mix,provenance
mixture,olmoe,${LAYERS},1024,1024,16,16,64,4096,4096,${EXPERTS},2,false,false,Q8_0,assumed: a bench`,
  );
  await hearth('node', [
    HEARTH,
    'make-model',
    '--model-file',
    shapes,
    '--shape',
    'mixture',
    '--mix',
    mix,
    '--seed',
    `${seed}`,
    '--out',
    path,
    '--force',
  ]);
  return path;
}

/** HeteroLLM's plan for this machine as a chip, and what it was measured as. */
async function chipPlan(
  file: string,
  { promptTokens, outputTokens }: DrawnPlan,
): Promise<{ plan: ChipPlan; device: ChipDevice }> {
  const model = modelFromGguf(withFile(file, readGguf));
  const chip = { ...chipDevice(loadCluster('hetero-8gen3').devices[0] as Device), name: 'h' };
  const threads = { implementation: 'auto', threads: 1 } as const;
  const probes = createProbes({ file, model, chip, kernels: threads, npuKernels: threads });
  try {
    const paced = slowedChip(chip, await probes.measure());
    await probes.measure();
    const device = asMeasured(paced, probes.medians(), 1);
    const workload = createWorkload({ promptTokens, outputTokens, context: promptTokens + outputTokens });
    const belief = createCluster({ ...loadCluster('hetero-8gen3'), devices: [device], head: 'h' } as Parameters<
      typeof createCluster
    >[0]);
    const { plan, ...found } = tensorPartition(
      { belief, model, workload },
      { system: 'hetero-tensor', synchronisation: 'fast' },
    );
    if (plan === undefined) throw new Error('message' in found ? String(found.message) : 'no plan');
    return { plan: plan as ChipPlan, device };
  } finally {
    await probes.close();
  }
}

/** A chip as a cluster file has it. */
function clusterDevice({ name, gpu, npu, soc }: ChipDevice): object {
  const [phone] = JSON.parse(readFileSync('datasets/clusters/hetero-8gen3.json', 'utf8')).devices;
  const seconds = (value: number): string => `${value} s`;
  const rate = (value: number): string => `${Math.min(value, 1e14)} B/s`;
  const flops = (value: number): string => `${value} FLOPS`;
  const { attention, activationBandwidth = 0, dispatch = 0 } = gpu;
  return {
    ...phone,
    name,
    gpu: {
      ...phone.gpu,
      ...{ compute: flops(gpu.flops.F16), bandwidth: rate(gpu.bandwidth), dispatch: seconds(dispatch) },
      ...{ activations: rate(activationBandwidth), kvCopy: '0 s' },
      ...(attention && { attention: { memory: rate(attention.memory), cache: rate(attention.cache) } }),
    },
    npu: { compute: { default: flops(npu.flops.F16), Q8_0: flops(npu.flops.Q8_0) }, bandwidth: rate(npu.bandwidth) },
    soc: {
      ...phone.soc,
      bandwidth: rate(soc.bandwidth),
      npu: { ...phone.soc.npu, dequantise: rate(soc.npu.dequantise), graphRate: flops(soc.npu.graphRate) },
      gpu: { queued: '0 s', drained: '0 s', dequantise: rate(soc.gpu.dequantise) },
      synchronisation: {
        ...{ copy: seconds(soc.synchronisation.copy), sleep: seconds(soc.synchronisation.sleep) },
        ...{ poll: '0 s', notify: seconds(soc.synchronisation.notify) },
      },
    },
  };
}
