import type { GpuFamily } from '../../engine/hardware/parse-devices.ts';
import { matrixUnitsOf, type PresetDevice } from '../../engine/hardware/preset-cluster.ts';
import type { LayerWidths } from '../../engine/model/architecture.ts';
import { readBytes, type WeightGroup } from '../../engine/model/model.ts';
import type { FieldTest } from './test-of-cell.ts';

/** The parts of a cell’s time, at the full rates of its GPU’s specification, seconds. */
export type FieldParts =
  | {
      readonly phase: 'decode';
      /** Reading a token’s weights, and the KV cache. */
      readonly read: number;
      readonly attention: number;
      readonly layers: number;
    }
  | { readonly phase: 'prefill'; readonly prompts: readonly PromptParts[] };

export interface PromptParts {
  readonly tokens: number;
  /** Reading all weights once. */
  readonly read: number;
  /** Products by matrix units, and attention’s FLOPs at the F32 rate. */
  readonly products: number;
  readonly attention: number;
  /** Layers that are run for all passes. */
  readonly layers: number;
}

/** The shares of a GPU’s rates that a program reaches, and the time that it takes for a layer besides. */
export type Shares =
  | { readonly phase: 'decode'; readonly read: number; readonly attention: number; readonly layerSeconds: number }
  | { readonly phase: 'prefill'; readonly products: number; readonly attention: number; readonly layerSeconds: number };

/** Makers of GPUs, whose programs differ: CUDA, ROCm and Vulkan, SYCL, Metal. */
const MAKERS: Readonly<Record<GpuFamily, string>> = {
  apple: 'Apple',
  unified: 'integrated',
  pascal: 'NVIDIA',
  turing: 'NVIDIA',
  ampere: 'NVIDIA',
  ada: 'NVIDIA',
  blackwell: 'NVIDIA',
  rdna2: 'AMD',
  rdna3: 'AMD',
  rdna4: 'AMD',
  arc: 'Intel',
};

/** The maker of a device’s GPU; `undefined` without one. */
export function makerOf({ gpu, machine }: PresetDevice): string | undefined {
  const family = (gpu ?? machine.gpu)?.family;
  return family === undefined ? undefined : MAKERS[family];
}

/** Tokens of a prompt that llama.cpp evaluates in a pass (`--ubatch-size`). */
const PASS_TOKENS = 512;
/** Bytes of a position’s key and value in F16. */
const KV_BYTES = 2 * 2;

/** Facts of a model that the parts need. */
export interface SizedModel {
  readonly layers: number;
  readonly bytes: number;
  readonly layer: WeightGroup;
  readonly output: WeightGroup;
  readonly mean: LayerWidths;
}

/**
 * The parts of a test on the GPU of one machine. A token reads its weights and the KV cache of its context; a prompt of n
 * tokens reads all weights once, multiplies n times, and attends n² / 2 times: 4 h d FLOPs each (HELM Eq. 4.11).
 * `undefined` for a model that the GPU doesn’t hold, and for a device without GPU.
 */
export function partsOf(test: FieldTest, device: PresetDevice, model: SizedModel): FieldParts | undefined {
  const gpu = device.gpu ?? device.machine.gpu;
  const memory = gpu?.kind === 'gpu' ? gpu.memory.value : (device.memory ?? device.machine.memory.value);
  if (gpu === undefined || model.bytes > memory * 2 ** 30) return undefined;
  const { heads, kvHeads, headSize } = model.mean;
  const { layers } = model;
  const bandwidth = gpu.bandwidth.value * 1e9;
  if (test.phase === 'decode') {
    const read = layers * readBytes(model.layer, 1) + model.output.bytes;
    const cached = layers * kvHeads * headSize * KV_BYTES * test.context;
    return { phase: 'decode', read: read / bandwidth, attention: cached / bandwidth, layers };
  }
  const flops = layers * [...model.layer.flops.values()].reduce((sum, one) => sum + one, 0);
  const units = gpu.kind === 'gpu' ? (gpu.matrix ?? matrixUnitsOf(gpu.family, gpu.compute)) : undefined;
  const prompts = test.prompts.map(
    (tokens): PromptParts => ({
      tokens,
      read: model.bytes / bandwidth,
      products: (flops * tokens) / ((units ?? gpu.compute).value * 1e12),
      attention: (4 * layers * heads * headSize * tokens ** 2) / 2 / (gpu.compute.value * 1e12),
      layers: layers * Math.ceil(tokens / PASS_TOKENS),
    }),
  );
  return { phase: 'prefill', prompts };
}

/** Tokens per second of a cell by the shares of its group; of several prompts the mean of their rates, as the test has it. */
export function rateOfParts(parts: FieldParts, shares: Shares): number {
  if (parts.phase === 'decode' && shares.phase === 'decode')
    return 1 / (parts.read / shares.read + parts.attention / shares.attention + parts.layers * shares.layerSeconds);
  if (parts.phase === 'prefill' && shares.phase === 'prefill') {
    const rates = parts.prompts.map(
      ({ tokens, read, products, attention, layers }) =>
        tokens / (read + products / shares.products + attention / shares.attention + layers * shares.layerSeconds),
    );
    return rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  }
  throw new Error(`parts of ${parts.phase} have no rate by shares of ${shares.phase}`);
}

const MICROSECOND = 1e-6;
const steps = (from: number, to: number, step: number): number[] =>
  Array.from({ length: Math.round((to - from) / step) + 1 }, (_, index) => from + index * step);

/** The shares that are tried, so that a fit is the same everywhere. */
const TRIED: Readonly<Record<FieldTest['phase'], readonly Shares[]>> = {
  decode: steps(0.3, 0.99, 0.03).flatMap((read) =>
    [0.1, 0.15, 0.2, 0.3, 0.5, 1].flatMap((attention) =>
      [0, 20, 40, 60, 80, 100, 120, 150, 200, 250, 300, 400, 500].map(
        (time): Shares => ({ phase: 'decode', read, attention, layerSeconds: time * MICROSECOND }),
      ),
    ),
  ),
  prefill: [0.06, 0.08, ...steps(0.1, 0.8, 0.05)].flatMap((products) =>
    [0.02, 0.05, 0.1, 0.2, 0.4, 1].flatMap((attention) =>
      [0, 50, 100, 150, 200, 300, 500].map(
        (time): Shares => ({ phase: 'prefill', products, attention, layerSeconds: time * MICROSECOND }),
      ),
    ),
  ),
};

/** A cell that shares are fitted to. */
export interface FittedParts {
  readonly machine: string;
  readonly parts: FieldParts;
  readonly measured: number;
}

/** |ln| beyond which a cell counts no more: a program that fell back to other kernels says nothing about these. */
const FAR = 0.5;

/** The shares of the least mean error of machines, each the mean of its cells’ |ln(predicted / measured)|. */
export function fitShares(phase: FieldTest['phase'], cells: readonly FittedParts[]): Shares {
  const machines = new Map<string, FittedParts[]>();
  for (const cell of cells) machines.set(cell.machine, [...(machines.get(cell.machine) ?? []), cell]);
  const groups = [...machines.values()];
  const lossOf = (shares: Shares): number =>
    groups.reduce((sum, own) => {
      const errors = own.map(({ parts, measured }) => Math.abs(Math.log(rateOfParts(parts, shares) / measured)));
      return sum + errors.reduce((total, error) => total + Math.min(FAR, error), 0) / own.length;
    }, 0);
  const [first, ...others] = TRIED[phase];
  let best = { shares: first as Shares, loss: lossOf(first as Shares) };
  for (const shares of others) {
    const loss = lossOf(shares);
    if (loss < best.loss) best = { shares, loss };
  }
  return best.shares;
}
