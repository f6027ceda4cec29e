import type { Model } from '../../model/model.ts';

/** Share of the free GPU memory that weights may take; the rest is for activations. Specification: get_balanced_memory of Accelerate. */
const GPU_SHARE = 0.9;

/** Bytes that are free before a model is loaded. */
export interface FreeMemory {
  readonly gpu: number;
  readonly ram: number;
}

/** Placement of a model's modules by `device_map="auto"`. */
export interface DeviceMap {
  /** Whether the embedding stays on the GPU. */
  readonly embeddingOnGpu: boolean;
  /** The first layers, which stay on the GPU. */
  readonly gpuLayers: number;
  /** Whether the output layer stays on the GPU. */
  readonly outputOnGpu: boolean;
  /** Bytes of modules on the GPU, and of those in RAM. */
  readonly gpuBytes: number;
  readonly ramBytes: number;
  /** Bytes of modules that the RAM doesn't hold either: they would go to the disk. */
  readonly diskBytes: number;
}

interface Module {
  readonly kind: 'embedding' | 'layer' | 'output';
  readonly bytes: number;
}

/**
 * The device map of Hugging Face Accelerate for one GPU (get_balanced_memory and infer_auto_device_map, version 1).
 * Modules are taken in order: embedding, layers, output layer. One goes to the GPU while all there take at most
 * 0.9 × free − the largest module that is left, since an offloaded module must have room when its turn comes; the first
 * that doesn't fit and all after it go to the RAM, which keeps back the largest module as well, and then to the disk. A
 * tied output layer is one module with the embedding.
 * @param free bytes that the GPU and the RAM have before anything is loaded
 */
export function deviceMap(model: Model, free: FreeMemory): DeviceMap {
  const modules: Module[] = [
    { kind: 'embedding', bytes: model.embedding.bytes },
    ...Array.from({ length: model.layers }, (): Module => ({ kind: 'layer', bytes: model.layer.bytes })),
    ...(model.tiedEmbeddings ? [] : [{ kind: 'output', bytes: model.output.bytes } as const]),
  ];
  const budgets = { gpu: GPU_SHARE * free.gpu, ram: free.ram, disk: Number.POSITIVE_INFINITY };
  const used = { gpu: 0, ram: 0, disk: 0 };
  const placed: (keyof typeof used)[] = [];
  const memories = ['gpu', 'ram', 'disk'] as const;
  let current = 0;
  for (const [index, { bytes }] of modules.entries()) {
    const largest = Math.max(0, ...modules.slice(index + 1).map((left) => left.bytes));
    const fits = (memory: (typeof memories)[number]): boolean => used[memory] + bytes <= budgets[memory] - largest;
    while (memories[current] !== 'disk' && !fits(memories[current] as 'gpu' | 'ram')) current += 1;
    const memory = memories[current] as (typeof memories)[number];
    used[memory] += bytes;
    placed.push(memory);
  }
  const onGpu = (kind: Module['kind']): number =>
    modules.filter((module, index) => module.kind === kind && placed[index] === 'gpu').length;
  const embeddingOnGpu = onGpu('embedding') > 0;
  return {
    embeddingOnGpu,
    gpuLayers: onGpu('layer'),
    outputOnGpu: model.tiedEmbeddings ? embeddingOnGpu : onGpu('output') > 0,
    gpuBytes: used.gpu,
    ramBytes: used.ram,
    diskBytes: used.disk,
  };
}
