import { keptLatentHeads, type LatentAttention } from '../layer-kind.ts';
import type { BufferName, LayerStep, StepColumns } from './layer-step.ts';
import { type HeadMatrix, type LayerWeight, matrix, vector } from './layer-weight.ts';
import type { MixerPart } from './part.ts';

/**
 * Latent attention. Heads of queries and keys are [rotated, plain] here; where compressed keys c are kept, the plain part of
 * a query is brought to them by its head's matrix, and what is attended to are [rotated, c], of which c is brought to a
 * head's value afterwards (DeepSeek-AI 2024, Section 2.1.2).
 */
export function latentAttentionPart(mixer: LatentAttention, hiddenSize: number): MixerPart {
  const { heads, plainSize, rotatedSize, valueSize, rank, queryRank = 0, kept } = mixer;
  const { kvHeads, headSize } = keptLatentHeads(mixer);
  const isLatent = kept === 'latent';
  return {
    weights: latentWeights(mixer, hiddenSize),
    widths: {
      ...{ q: heads * headSize, k: kvHeads * headSize, v: isLatent ? 0 : kvHeads * headSize },
      attended: heads * headSize,
      ...{ latentQuery: queryRank, projected: heads * (plainSize + rotatedSize) },
      ...{ compressed: rank + rotatedSize, latent: rank, headResults: heads * valueSize },
      ...(isLatent
        ? { plain: heads * plainSize, absorbed: heads * rank }
        : { decompressed: heads * (plainSize + valueSize) }),
    },
    steps: [
      ...querySteps(mixer),
      ...keySteps(mixer),
      { kind: 'rope', x: 'q', heads, headSize, rotation: 'global' },
      { kind: 'rope', x: 'k', heads: kvHeads, headSize, rotation: 'global' },
      { kind: 'attend', keys: 'k', values: isLatent ? 'k' : 'v' },
      ...resultSteps(mixer),
    ],
    result: { weight: 'attn_output', x: 'headResults' },
  };
}

function latentWeights(mixer: LatentAttention, hiddenSize: number): LayerWeight[] {
  const { heads, plainSize, rotatedSize, valueSize, rank, queryRank, kept } = mixer;
  const queryWidth = heads * (plainSize + rotatedSize);
  const ofHeads = (role: HeadMatrix, rows: number, columns: number): LayerWeight => ({
    ...{ role, rows: heads * rows, columns, heads },
  });
  return [
    ...(queryRank === undefined
      ? [matrix('attn_q', queryWidth, hiddenSize)]
      : [
          matrix('attn_q_a', queryRank, hiddenSize),
          vector('attn_q_a_norm', queryRank),
          matrix('attn_q_b', queryWidth, queryRank),
        ]),
    matrix('attn_kv_a_mqa', rank + rotatedSize, hiddenSize),
    vector('attn_kv_a_norm', rank),
    ...(kept === 'latent'
      ? [ofHeads('attn_k_b', rank, plainSize), ofHeads('attn_v_b', valueSize, rank)]
      : [matrix('attn_kv_b', heads * (plainSize + valueSize), rank)]),
    matrix('attn_output', hiddenSize, heads * valueSize),
  ];
}

function copy(x: StepColumns, y: StepColumns, columns: number, repeats = 1): LayerStep {
  return { kind: 'copy-columns', x, y, columns, ...(repeats > 1 && { repeats }) };
}

const columnsOf = (buffer: BufferName, width: number, first = 0): StepColumns => ({ buffer, width, first });

function querySteps({ heads, plainSize, rotatedSize, rank, queryRank, kept }: LatentAttention): LayerStep[] {
  const projected = plainSize + rotatedSize;
  const headSize = rotatedSize + (kept === 'latent' ? rank : plainSize);
  return [
    ...(queryRank === undefined
      ? [{ kind: 'multiply', weight: 'attn_q', x: 'h', y: 'projected' } as const]
      : ([
          { kind: 'multiply', weight: 'attn_q_a', x: 'h', y: 'latentQuery' },
          { kind: 'rms-norm', x: 'latentQuery', weight: 'attn_q_a_norm', y: 'latentQuery' },
          { kind: 'multiply', weight: 'attn_q_b', x: 'latentQuery', y: 'projected' },
        ] as const)),
    copy(columnsOf('projected', projected, plainSize), columnsOf('q', headSize), rotatedSize),
    ...(kept === 'latent'
      ? [
          copy(columnsOf('projected', projected), columnsOf('plain', plainSize), plainSize),
          { kind: 'multiply-heads', weight: 'attn_k_b', heads, x: 'plain', y: 'absorbed' } as const,
          copy(columnsOf('absorbed', rank), columnsOf('q', headSize, rotatedSize), rank),
        ]
      : [copy(columnsOf('projected', projected), columnsOf('q', headSize, rotatedSize), plainSize)]),
  ];
}

function keySteps({ heads, plainSize, rotatedSize, valueSize, rank, kept }: LatentAttention): LayerStep[] {
  const headSize = rotatedSize + (kept === 'latent' ? rank : plainSize);
  const compressed = rank + rotatedSize;
  const compress: LayerStep[] = [
    { kind: 'multiply', weight: 'attn_kv_a_mqa', x: 'h', y: 'compressed' },
    copy(columnsOf('compressed', compressed), columnsOf('latent', rank), rank),
    { kind: 'rms-norm', x: 'latent', weight: 'attn_kv_a_norm', y: 'latent' },
  ];
  const rotated = columnsOf('compressed', compressed, rank);
  if (kept === 'latent')
    return [
      ...compress,
      copy(rotated, columnsOf('k', headSize), rotatedSize),
      copy(columnsOf('latent', rank), columnsOf('k', headSize, rotatedSize), rank),
    ];
  const decompressed = plainSize + valueSize;
  return [
    ...compress,
    copy(rotated, columnsOf('k', headSize), rotatedSize, heads),
    { kind: 'multiply', weight: 'attn_kv_b', x: 'latent', y: 'decompressed' },
    copy(columnsOf('decompressed', decompressed), columnsOf('k', headSize, rotatedSize), plainSize),
    copy(columnsOf('decompressed', decompressed, plainSize), columnsOf('v', headSize), valueSize),
  ];
}

/** Values are shorter than keys: what else was attended to is left. */
function resultSteps({ heads, plainSize, rotatedSize, valueSize, rank, kept }: LatentAttention): LayerStep[] {
  if (kept === 'heads')
    return [copy(columnsOf('attended', rotatedSize + plainSize), columnsOf('headResults', valueSize), valueSize)];
  return [
    copy(columnsOf('attended', rotatedSize + rank, rotatedSize), columnsOf('absorbed', rank), rank),
    { kind: 'multiply-heads', weight: 'attn_v_b', heads, x: 'absorbed', y: 'headResults' },
  ];
}
