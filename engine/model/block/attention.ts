import { ATTENTION_PRODUCTS, type Attention } from '../layer-kind.ts';
import type { LayerStep } from './layer-step.ts';
import { type LayerWeight, matrix, vector } from './layer-weight.ts';
import type { MixerPart } from './part.ts';

/** W_o · attention(W_q · h, W_k · h, W_v · h) (Touvron et al. 2023, Section 2.2). */
export function attentionPart(attention: Attention, hiddenSize: number): MixerPart {
  const { heads, kvHeads, headSize, gated, outputBias, keysOf } = attention;
  const x = gated ? 'z' : 'attended';
  const [queryWidth, kvWidth] = [heads * headSize, keysOf === undefined ? kvHeads * headSize : 0];
  return {
    weights: attentionWeights(attention, hiddenSize),
    widths: {
      ...{ q: queryWidth, k: kvWidth, v: kvWidth, attended: queryWidth },
      ...(gated && { projected: 2 * queryWidth, z: queryWidth }),
    },
    steps: [
      ...querySteps(attention),
      ...(keysOf === undefined ? keySteps(attention) : []),
      ...normsAndRotations(attention),
      { kind: 'attend', keys: 'k', values: 'v' },
      ...(gated ? [{ kind: 'gate', activation: 'sigmoid', gate: 'z', up: 'attended' } as const] : []),
    ],
    result: { weight: 'attn_output', x, ...(outputBias && { bias: 'attn_output_bias' }) },
  };
}

function attentionWeights(attention: Attention, hiddenSize: number): LayerWeight[] {
  const { heads, kvHeads, headSize, outputBias, norms, sinks, gated, valuesAreKeys } = attention;
  const [queryWidth, kvWidth] = [heads * headSize, kvHeads * headSize];
  const [queryNorm, keyNorm] = norms === 'all-heads' ? [queryWidth, kvWidth] : [headSize, headSize];
  const own = attention.keysOf === undefined;
  return [
    matrix('attn_q', (gated ? 2 : 1) * queryWidth, hiddenSize),
    ...(own ? [matrix('attn_k', kvWidth, hiddenSize)] : []),
    ...(own && !valuesAreKeys ? [matrix('attn_v', kvWidth, hiddenSize)] : []),
    matrix('attn_output', hiddenSize, queryWidth),
    ...ATTENTION_PRODUCTS.filter((name) => hasBias(attention, name)).map((name) =>
      vector(`${name}_bias`, name === 'attn_q' ? queryWidth : kvWidth),
    ),
    ...(outputBias ? [vector('attn_output_bias', hiddenSize)] : []),
    ...(norms === undefined ? [] : [vector('attn_q_norm', queryNorm)]),
    ...(norms === undefined || !own ? [] : [vector('attn_k_norm', keyNorm)]),
    ...(sinks ? [vector('attn_sinks', heads)] : []),
  ];
}

type Product = (typeof ATTENTION_PRODUCTS)[number];

function hasBias({ bias }: Pick<Attention, 'bias'>, name: Product): boolean {
  return typeof bias === 'boolean' ? bias : bias.includes(name);
}

function product(attention: Attention, weight: Product, y: 'q' | 'k' | 'v' | 'projected'): LayerStep {
  const bias = hasBias(attention, weight) && ({ bias: `${weight}_bias` } as const);
  return { kind: 'multiply', weight, x: 'h', y, ...bias };
}

/** The product of a gated head has its query, then its gate. */
function querySteps(attention: Attention): LayerStep[] {
  const { headSize, gated } = attention;
  if (!gated) return [product(attention, 'attn_q', 'q')];
  const copy = (y: 'q' | 'z', first: number): LayerStep => ({
    kind: 'copy-columns',
    x: { buffer: 'projected', width: 2 * headSize, first },
    y: { buffer: y, width: headSize, first: 0 },
    columns: headSize,
  });
  return [product(attention, 'attn_q', 'projected'), copy('q', 0), copy('z', headSize)];
}

function keySteps(attention: Attention): LayerStep[] {
  const { kvHeads, headSize, valuesAreKeys, valueNorm } = attention;
  const width = kvHeads * headSize;
  const place = (buffer: 'k' | 'v') => ({ buffer, width, first: 0 });
  return [
    product(attention, 'attn_k', 'k'),
    valuesAreKeys
      ? { kind: 'copy-columns', x: place('k'), y: place('v'), columns: width }
      : product(attention, 'attn_v', 'v'),
    ...(valueNorm ? [{ kind: 'rms-norm', x: 'v', weight: 'ones', y: 'v', width: headSize } as const] : []),
  ];
}

function normsAndRotations({ heads, kvHeads, headSize, norms, rotation, keysOf }: Attention): LayerStep[] {
  const parts = [
    { x: 'q', weight: 'attn_q_norm', heads },
    ...(keysOf === undefined ? [{ x: 'k', weight: 'attn_k_norm', heads: kvHeads } as const] : []),
  ] as const;
  const normSteps: LayerStep[] =
    norms === undefined ? [] : parts.map(({ x, weight }) => ({ kind: 'rms-norm', x, weight, y: x }));
  const rotations: LayerStep[] =
    rotation === 'none'
      ? []
      : parts.map(({ x, heads: count }) => ({ kind: 'rope', x, heads: count, headSize, rotation }));
  return norms === 'heads-after-rotation' ? [...rotations, ...normSteps] : [...normSteps, ...rotations];
}
