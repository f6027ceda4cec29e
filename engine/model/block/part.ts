import type { LayerKind } from '../layer-kind.ts';
import type { BufferName, LayerStep } from './layer-step.ts';
import { type LayerBias, type LayerMatrix, type LayerNorm, type LayerWeight, vector } from './layer-weight.ts';

/** A part of a layer: its weights, the buffers that it uses, and its operations. */
export interface BlockPart {
  readonly weights: readonly LayerWeight[];
  /** Values of each buffer for one token; missing: it isn't used. */
  readonly widths: Readonly<Partial<Record<BufferName, number>>>;
  readonly steps: readonly LayerStep[];
}

/** A mixer from the norm before it, which is in `h`, to the product that gives its result. */
export interface MixerPart extends BlockPart {
  readonly result: { readonly weight: LayerMatrix; readonly x: BufferName; readonly bias?: LayerBias };
}

/** Whether results are added to the residual stream as they are. */
export function addsDirectly({ resultNorms, residualScale = 1 }: LayerKind): boolean {
  return !resultNorms && residualScale === 1;
}

/** The buffer that takes the result of a mixer, or of the feed-forward part. */
export function resultBuffer(kind: LayerKind): BufferName {
  return addsDirectly(kind) ? 'x' : 'result';
}

/** The product that gives a result. */
export function resultOf(kind: LayerKind, product: MixerPart['result']): LayerStep {
  const step = { kind: 'multiply', ...product, y: resultBuffer(kind) } as const;
  return addsDirectly(kind) ? { ...step, accumulate: true } : step;
}

/** A result that isn't added directly is added to the residual stream, normalised and scaled where the kind says so. */
export function added(kind: LayerKind, norm: LayerNorm): LayerStep[] {
  if (addsDirectly(kind)) return [];
  return [
    ...(kind.resultNorms ? ([{ kind: 'rms-norm', x: 'result', weight: norm, y: 'result' }] as const) : []),
    { kind: 'add', x: 'result', y: 'x', factor: kind.residualScale ?? 1 },
  ];
}

/** The norm of a result, where it has one. */
export function resultNorm({ resultNorms }: LayerKind, norm: LayerNorm, hiddenSize: number): LayerWeight[] {
  return resultNorms ? [vector(norm, hiddenSize)] : [];
}
