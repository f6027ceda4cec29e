import type { BufferName, LayerStep } from './layer-step.ts';
import type { LayerMatrix, LayerWeight, ScaledMatrix } from './layer-weight.ts';

/** Descriptions of a layer's products. */
interface Products {
  readonly weights: readonly LayerWeight[];
  readonly steps: readonly LayerStep[];
}

/**
 * A layer whose products of some matrices are multiplied with numbers of the file: s · W · x + bias, as in llama.cpp
 * (llama-graph.cpp, build_lora_mm and build_lora_mm_id).
 */
export function withScales(scaled: readonly ScaledMatrix[], { weights, steps }: Products): Products {
  if (scaled.length === 0) return { weights, steps };
  const numbers = scaled.map((name): LayerWeight => {
    const { experts = 1 } = weights.find(({ role }) => role === name) ?? {};
    return { role: `${name}_scale`, rows: 1, columns: experts };
  });
  const isBiased = steps.some((step) => step.kind === 'multiply-experts' && step.bias !== undefined);
  return {
    weights: [...weights, ...numbers],
    steps: steps.flatMap((step) => scaledSteps(step, new Set<string>(scaled), isBiased)),
  };
}

/** The matrices that give a part's result, often right into the residual stream: the number multiplies what they read. */
const RESULTS: ReadonlySet<LayerMatrix> = new Set(['attn_output', 'ffn_down', 'ffn_down_shexp', 'ssm_out']);

/** Whether the number multiplies what the matrix gives, and with it a bias that has been added. */
export function isScaledAfter(weight: LayerMatrix): boolean {
  return !RESULTS.has(weight);
}

function scaledSteps(step: LayerStep, scaled: ReadonlySet<string>, isBiased: boolean): LayerStep[] {
  switch (step.kind) {
    case 'multiply': {
      if (!scaled.has(step.weight)) return [step];
      const scale = (y: BufferName): LayerStep => ({ kind: 'scale', y, weight: `${step.weight as Plain}_scale` });
      return isScaledAfter(step.weight) ? [step, scale(step.y)] : [scale(step.x), step];
    }
    case 'multiply-experts': {
      const isInWeights = step.weight === 'ffn_down_exps' && !isBiased;
      return [scaled.has(step.weight) && !isInWeights ? { ...step, scales: `${step.weight}_scale` } : step];
    }
    case 'route':
      // Without biases, a number that multiplies an expert's result multiplies its weight in the sum of results.
      return [scaled.has('ffn_down_exps') && !isBiased ? { ...step, scales: 'ffn_down_exps_scale' } : step];
    default:
      return [step];
  }
}

type Plain = Extract<ScaledMatrix, LayerMatrix>;
