import { layerSeconds, prefillLayerSeconds } from '../../../engine/cost/layer-seconds.ts';
import { pageableBandwidth } from '../../../engine/cost/layer-streaming.ts';
import { type Cluster, createCluster } from '../../../engine/hardware/cluster.ts';
import {
  type Cpu,
  type Device,
  type DiscreteGpu,
  type Disk,
  type FlopRates,
  isDiscrete,
  type ProcessorRates,
} from '../../../engine/hardware/device.ts';
import type { Model } from '../../../engine/model/model.ts';
import { QUANTIZATION_NAMES } from '../../../engine/model/quantization.ts';
import type { Workload } from '../../../engine/model/workload.ts';
import { dispatchOf, FITTED_HEADS, type HelmConstants, promptRateOf } from './constants.ts';

/** FLOP/s of matrix products in 16 bits accumulated in 32, by the vendors' specifications: HELM and its baselines run in fp16. */
const TENSOR_CORE_FLOPS: Readonly<Record<string, number>> = {
  'helm-4060': 23.2e12,
  'helm-3090': 71.2e12,
  'helm-l40s': 362e12,
};

/** FLOP/s at which arithmetic takes no time; where arithmetic is longest, `dispatch` has it. */
const NEVER_BINDS = 1e24;

/** A disk that takes no time: weights are loaded before the first request (4.1.4). */
const LOADED: Disk = { sequential: 1e18, random: 1e18 };

/** How a program runs on a machine. */
export interface Running {
  /** `dispatched`: Python launches block by block ahead of the GPU; `graphs`: as vLLM does. */
  readonly launch: 'dispatched' | 'graphs';
  readonly phase: 'decode' | 'prefill';
  readonly model: Model;
  readonly workload: Workload;
  /** Bytes per second of the GPU's memory by §5.1; undefined where the machine's file has what the profiler measured. */
  readonly specifiedBandwidth: number | undefined;
  /** Bytes per second at which the CPU's kernel reads weights; HELM's unless given. */
  readonly cpuBandwidth?: number;
  /** Weights come from pageable memory, so that copies pass the driver's pinned buffer. */
  readonly pageable?: boolean;
  /** The KV cache is a DynamicCache of Hugging Face in place of HELM's own. */
  readonly dynamicCache?: boolean;
  /** Bytes of VRAM that the program may take; those in the machine's file unless given. */
  readonly vram?: number;
}

/**
 * The machine with the fitted constants. A block takes the longest of its arithmetic and its reading (Eqs. 4.10 and
 * 4.13) and, on the GPU, its dispatch: kernels are launched ahead of the GPU, so dispatch and work overlap (6.4.4 adds
 * the two). What exceeds the reading becomes the processor's `dispatch`.
 * @throws RangeError for a machine without a CUDA GPU
 */
export function fittedMachine(cluster: Cluster, constants: HelmConstants, running: Running): Cluster {
  const [device] = cluster.devices;
  if (!isDiscrete(device?.gpu)) throw new RangeError(`${cluster.name} has no GPU with memory of its own`);
  const gpu = fittedGpu(device.gpu, cluster.name, constants, running);
  const cpu = fittedCpu(device.cpu, cluster.name, constants, running);
  const changed: Device = { ...device, cpu, gpu, disk: LOADED };
  return createCluster({ ...cluster, devices: [changed] });
}

function fittedCpu(cpu: Cpu, machine: string, constants: HelmConstants, running: Running): Cpu {
  const { attention: _, promptFlops: __, ...rest } = cpu;
  const bandwidth = running.cpuBandwidth ?? constants.cpuBandwidth[machine] ?? cpu.bandwidth;
  const own = { ...rest, bandwidth };
  // P_dec never binds while single tokens are decoded (4.1.2).
  const rate = running.phase === 'decode' ? NEVER_BINDS : cpu.flops.F32 * (promptRateOf(constants, machine) ?? 1);
  return roofline(own, rate, 0, running);
}

function fittedGpu(gpu: DiscreteGpu, machine: string, constants: HelmConstants, running: Running): DiscreteGpu {
  const { launch, specifiedBandwidth, pageable, vram } = running;
  const { latency, bandwidth } = gpu.hostLink;
  const own: DiscreteGpu = {
    ...gpu,
    bandwidth: specifiedBandwidth === undefined ? gpu.bandwidth : specifiedBandwidth * constants.gpuEfficiency,
    hostLink: { latency, bandwidth: pageable ? pageableBandwidth(bandwidth, constants.staging) : bandwidth },
    memory: { ...gpu.memory, available: vram ?? gpu.memory.available },
  };
  const rate = TENSOR_CORE_FLOPS[machine] ?? gpu.flops.F16;
  if (launch === 'graphs') {
    const bare = roofline(own, rate, 0, running);
    return { ...bare, dispatch: (bare.dispatch ?? 0) + constants.vllmBlock };
  }
  return roofline(own, rate, dispatchSeconds(constants, machine, running), running);
}

/**
 * Seconds to dispatch a block. Its kernels are launched once for all requests, except those of attention: Algorithm 3
 * takes the query of one head of one request, so they are launched for each head of each request.
 */
function dispatchSeconds(
  constants: HelmConstants,
  machine: string,
  { model, workload, dynamicCache }: Running,
): number {
  const attended = (workload.batch * model.mean.heads) / FITTED_HEADS;
  const times = dynamicCache ? constants.dynamicCache : 1;
  return times * dispatchOf(constants, machine) * (1 + constants.attentionShare * (attended - 1));
}

/** The processor on which a block takes the longest of reading, arithmetic at `rate` and `least` seconds. */
function roofline<Rates extends ProcessorRates>(
  processor: Rates,
  rate: number,
  least: number,
  { model, workload, phase }: Running,
): Rates {
  const inPhase = phase === 'prefill' ? prefillLayerSeconds : layerSeconds;
  const { compute, memory, kvCopy } = inPhase(model, workload, { ...processor, flops: allFormats(rate) });
  const dispatch = Math.max(0, Math.max(compute, least) - memory - kvCopy);
  return { ...processor, flops: allFormats(NEVER_BINDS), dispatch };
}

function allFormats(rate: number): FlopRates {
  return Object.fromEntries(QUANTIZATION_NAMES.map((name) => [name, rate])) as unknown as FlopRates;
}
