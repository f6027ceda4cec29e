import type { PublishedCell } from '../../../datasets/published.ts';
import { gpuTask } from '../../../engine/cost/chip/gpu.ts';
import { type ChipStep, type ChipTokens, chipSteps, partBytes } from '../../../engine/cost/chip/steps.ts';
import { type ChipDevice, chipDevice } from '../../../engine/hardware/chip.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import type { Device } from '../../../engine/hardware/device.ts';
import type { Model } from '../../../engine/model/model.ts';
import { cellAt } from '../comparison.ts';

/**
 * Engines that run on one processor: MNN and MLC on the GPU by OpenCL, llama.cpp on the CPU (Table 2, §5.1). The paper
 * gives ratios to them and nothing else, so each has its share of what its processor reaches in prompts and in decoding,
 * fitted to one ratio each, all of Llama-8B. On the GPU the share in prompts depends on their length (ENGINE_LENGTHS).
 */
export const ENGINES = ['MNN', 'MLC', 'llama.cpp'] as const;
export type Engine = (typeof ENGINES)[number];

/** How the paper calls each engine. */
export const ENGINE_NAMES: Readonly<Record<Engine, string>> = {
  MNN: 'MNN-OpenCL',
  MLC: 'MLC',
  'llama.cpp': 'llama.cpp',
};

/**
 * Tokens at which the paper says how much slower than Hetero-layer an engine is: 256 (§5.2.1) and 1024 (§5.1, whose
 * figures are those of 1024 tokens in §5.2.1). Of two engines on one GPU one gains on it with length and the other loses,
 * so neither has one share of it at all lengths. llama.cpp follows its processor, and has one.
 */
export const ENGINE_LENGTHS: Readonly<Record<Engine, readonly number[]>> = {
  MNN: [256, 1024],
  MLC: [256, 1024],
  'llama.cpp': [256],
};

/**
 * Printed slow-down of each engine on Llama-8B: compared with Hetero-layer in a prompt, by its tokens, and with
 * Hetero-tensor in decoding.
 */
export type EngineGains = Readonly<
  Record<Engine, { readonly prefill: ReadonlyMap<number, number>; readonly decode: number }>
>;

/**
 * A value at a number of tokens from those at some lengths: linear in the logarithm of the tokens between two of them,
 * and that of the nearest beyond.
 */
export function atLength(values: ReadonlyMap<number, number>, tokens: number): number {
  const lengths = [...values.keys()].sort((one, other) => one - other);
  const above = lengths.find((length) => length >= tokens) ?? (lengths.at(-1) as number);
  const below = lengths.findLast((length) => length <= tokens) ?? (lengths[0] as number);
  const [low, high] = [values.get(below) as number, values.get(above) as number];
  return below >= above ? high : low + ((high - low) * Math.log(tokens / below)) / Math.log(above / below);
}

/** The printed speedups that each engine's shares are fitted to. @throws RangeError where one isn't on file */
function engineGains(cells: readonly PublishedCell[]): EngineGains {
  const printed = (table: string, row: string, column: string): number =>
    Number(cellAt(cells, { table, row, column }).value);
  const gains = ENGINES.map((engine) => {
    const name = ENGINE_NAMES[engine];
    const atLength = (tokens: number): number =>
      tokens === 256
        ? printed('§5.2.1', 'Hetero-layer, Llama-8B, sequence length 256', `speedup over ${name}`)
        : printed('§5.1', 'Hetero-layer, prefill', `speedup over ${engine}`);
    const prefill = new Map(ENGINE_LENGTHS[engine].map((tokens) => [tokens, atLength(tokens)]));
    const decode = printed('§5.3', 'Hetero-tensor, Llama-8B, prompt length 256', `decoding speedup over ${name}`);
    return [engine, { prefill, decode }];
  });
  return Object.fromEntries(gains) as EngineGains;
}

/** Seconds of a prompt and of a token on the CPU at the rates of its file. */
export interface CpuRoofline {
  prefill(model: string, tokens: number): number;
  decode(model: string, context: number): number;
}

/**
 * The roofline of a chip's CPU: each product and each kernel takes as long as its FLOPs or its bytes, whichever is
 * longer, at the vendor's peak and the bandwidth of one processor (§3.3). A bound that no engine reaches.
 */
function cpuRoofline({ devices }: Cluster, modelOf: (name: string) => Model): CpuRoofline {
  const { cpu } = devices[0] as Device;
  const rates = { flops: cpu.flops.Q4_0, bandwidth: cpu.bandwidth };
  const phase = (model: Model, asked: ChipTokens): number => {
    const { layer, output } = chipSteps(model, asked);
    const seconds = (steps: readonly ChipStep[], count: number): number =>
      steps.reduce((sum, step) => sum + gpuTask(workOf(step, count), rates).seconds, 0);
    return model.layers * seconds(layer, asked.tokens) + seconds(output, 1);
  };
  return {
    prefill: (model, tokens) => phase(modelOf(model), { phase: 'prefill', tokens, context: tokens }),
    decode: (model, context) => phase(modelOf(model), { phase: 'decode', tokens: 1, context }),
  };
}

function workOf(step: ChipStep, tokens: number): { readonly flops: number; readonly bytes: number } {
  if (step.kind === 'kernel') return step.work;
  const { rows, columns } = step.operator;
  return { flops: 2 * rows * columns * tokens, bytes: partBytes(step.operator, rows, tokens) };
}

/** The chip, and what the other engines on it are known by. */
export interface Engines {
  readonly chip: ChipDevice;
  readonly gains: EngineGains;
  readonly cpu: CpuRoofline;
}

/** @throws RangeError where a ratio that an engine is fitted to isn't on file */
export function createEngines(
  cells: readonly PublishedCell[],
  cluster: Cluster,
  modelOf: (name: string) => Model,
): Engines {
  const chip = chipDevice(cluster.devices[0] as Device);
  return { chip, gains: engineGains(cells), cpu: cpuRoofline(cluster, modelOf) };
}
