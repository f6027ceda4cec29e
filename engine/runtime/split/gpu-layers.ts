import { InputError } from '../../input/input-error.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import type { ModelPart } from './model-part.ts';

/** A part of a model whose layers are loaded, and what runs windows of it. */
export type WindowPart = Pick<ModelPart, 'model' | 'stream' | 'run' | 'logits' | 'hidden' | 'kernelsOf'> & {
  /** Writes the tokens' rows of the embedding to the stream. */
  embed(tokens: readonly number[]): void | Promise<void>;
};

/** Layers and other parts that a GPU computes. */
export interface GpuLayers {
  readonly part: ModelPart;
  readonly layers: ReadonlySet<number>;
  /** Parts outside the layers. */
  readonly outer: readonly ('embedding' | 'output')[];
  /** Called after the CPU has run layers, where the GPU's part tells of its own. */
  readonly onCpuRan?:
    | ((layers: { readonly from: number; readonly to: number; readonly tokens: number }, start: number) => void)
    | undefined;
  /** Clock of `start`; default: none is needed. */
  readonly now?: () => number;
}

/**
 * A part of a model of which a GPU computes some layers. The residual stream is that of the CPU: it crosses to the GPU
 * and back for every run of consecutive layers there.
 */
export function withGpuLayers(
  cpu: ModelPart,
  { part: gpu, layers, outer, onCpuRan, now = () => 0 }: GpuLayers,
): WindowPart {
  const cross = (tokens: number): void => {
    gpu.stream(tokens).set(cpu.stream(tokens));
    gpu.arrive(tokens);
  };
  const back = async (tokens: number): Promise<void> => {
    await gpu.leave(tokens);
    cpu.stream(tokens).set(gpu.stream(tokens));
  };
  return {
    model: cpu.model,
    stream: cpu.stream,
    kernelsOf: (layer) => (layers.has(layer) ? gpu : cpu).kernelsOf(layer),
    async embed(tokens) {
      if (!outer.includes('embedding')) return cpu.embed(tokens);
      gpu.embed(tokens);
      await back(tokens.length);
    },
    async run(from, to, segments) {
      const tokens = segments.reduce((sum, one) => sum + one.tokens, 0);
      for (let at = from; at < to; ) {
        const onGpu = layers.has(at);
        let end = at + 1;
        while (end < to && layers.has(end) === onGpu) end++;
        if (onGpu) {
          cross(tokens);
          await gpu.run(at, end, segments);
          await back(tokens);
        } else {
          const start = now();
          await cpu.run(at, end, segments);
          onCpuRan?.({ from: at, to: end, tokens }, start);
        }
        at = end;
      }
    },
    async logits(tokens, wanted, multiplied) {
      if (!outer.includes('output')) return await cpu.logits(tokens, wanted, multiplied);
      cross(tokens);
      return await gpu.logits(tokens, wanted, multiplied);
    },
    async hidden(tokens, wanted) {
      if (!outer.includes('output')) return await cpu.hidden(tokens, wanted);
      cross(tokens);
      return await gpu.hidden(tokens, wanted);
    },
  };
}

export interface GpuLoading {
  /** Makes a layer's KV cache, which needs memory too. */
  readonly cache?: ((layer: number) => void) | undefined;
  /** Called after each layer; may throw. */
  readonly onLayer?: ((layer: number) => void) | undefined;
}

/**
 * Brings layers to a GPU one by one, and waits for each, since a GPU says only afterwards that it has no memory for it.
 * @throws InputError if the GPU has no memory for them, with the number of layers that fit
 */
export async function loadToGpu(
  { gpu, part }: { readonly gpu: Kernels; readonly part: Pick<ModelPart, 'load'> },
  layers: readonly number[],
  { cache = () => {}, onLayer = () => {} }: GpuLoading = {},
): Promise<void> {
  for (const [loaded, layer] of layers.entries()) {
    part.load(layer, layer + 1);
    cache(layer);
    try {
      await gpu.read(gpu.vector(1));
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      const fit = loaded === 0 ? 'not one layer fits' : `${loaded} of ${layers.length} layers fit`;
      throw new InputError(error.where, `${error.problem}; ${fit}`);
    }
    onLayer(layer);
  }
}
