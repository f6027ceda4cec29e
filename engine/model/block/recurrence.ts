import { convolvedChannels, type DeltaNet, type Mamba, type Recurrence, type ShortConvolution } from '../layer-kind.ts';
import type { BufferName, LayerStep } from './layer-step.ts';
import { type LayerVector, type LayerWeight, matrix, vector } from './layer-weight.ts';
import type { MixerPart } from './part.ts';

/** A mixer with a state, whose convolution and update are one step, `recur`, from `channels` to `attended`. */
export function recurrencePart(mixer: Recurrence, hiddenSize: number): MixerPart {
  switch (mixer.kind) {
    case 'delta-net':
      return deltaNetPart(mixer, hiddenSize);
    case 'mamba':
      return mambaPart(mixer, hiddenSize);
    case 'short-convolution':
      return shortConvolutionPart(mixer, hiddenSize);
  }
}

/** A convolution's weights: [channels][width]. */
function convolution(role: LayerVector, channels: number, width: number): LayerWeight {
  return { role, rows: channels, columns: width };
}

/** A copy of columns of rows of `projected`, whose rows are as wide as said, to a whole buffer. */
function fromProjected(y: BufferName, width: number, first: number, columns: number): LayerStep {
  return {
    ...{ kind: 'copy-columns', x: { buffer: 'projected', width, first }, y: { buffer: y, width: columns, first: 0 } },
    columns,
  };
}

/** rms(o; w) of every head, gated by silu(z) (Yang et al. 2024, Section 3.4). */
function deltaNetPart(mixer: DeltaNet, hiddenSize: number): MixerPart {
  const { keyHeads, valueHeads, size, width, joined } = mixer;
  const channels = convolvedChannels(mixer, hiddenSize);
  const inner = valueHeads * size;
  const shared = valueHeads / keyHeads;
  const numbers: LayerStep[] = joined
    ? [
        { kind: 'multiply', weight: 'ssm_ba', x: 'h', y: 'projected' },
        fromProjected('strength', 2 * shared, 0, shared),
        fromProjected('decay', 2 * shared, shared, shared),
      ]
    : [
        { kind: 'multiply', weight: 'ssm_beta', x: 'h', y: 'strength' },
        { kind: 'multiply', weight: 'ssm_alpha', x: 'h', y: 'decay' },
      ];
  return {
    weights: [
      matrix('attn_qkv', channels, hiddenSize),
      matrix('attn_gate', inner, hiddenSize),
      convolution('ssm_conv1d', channels, width),
      vector('ssm_dt_bias', valueHeads),
      vector('ssm_a', valueHeads),
      ...(joined
        ? [matrix('ssm_ba', 2 * valueHeads, hiddenSize)]
        : [matrix('ssm_alpha', valueHeads, hiddenSize), matrix('ssm_beta', valueHeads, hiddenSize)]),
      vector('ssm_norm', size),
      matrix('ssm_out', hiddenSize, inner),
    ],
    widths: {
      ...{ channels, convolved: channels, z: inner, strength: valueHeads, decay: valueHeads, attended: inner },
      ...(joined && { projected: 2 * valueHeads }),
    },
    steps: [
      { kind: 'multiply', weight: 'attn_qkv', x: 'h', y: 'channels' },
      { kind: 'multiply', weight: 'attn_gate', x: 'h', y: 'z' },
      ...numbers,
      { kind: 'recur' },
      { kind: 'rms-norm', x: 'attended', weight: 'ssm_norm', y: 'attended' },
      { kind: 'gate', activation: 'silu', gate: 'z', up: 'attended' },
    ],
    result: { weight: 'ssm_out', x: 'z' },
  };
}

/** rms(o ∘ silu(z); w) of every group (Dao and Gu 2024, Section 7.1). */
function mambaPart(mixer: Mamba, hiddenSize: number): MixerPart {
  const { heads, headSize, groups, width } = mixer;
  const channels = convolvedChannels(mixer, hiddenSize);
  const inner = heads * headSize;
  const projected = inner + channels + heads;
  return {
    weights: [
      matrix('ssm_in', projected, hiddenSize),
      convolution('ssm_conv1d', channels, width),
      vector('ssm_conv1d_bias', channels),
      vector('ssm_dt_bias', heads),
      vector('ssm_a', heads),
      vector('ssm_d', heads),
      { role: 'ssm_norm', rows: groups, columns: inner / groups },
      matrix('ssm_out', hiddenSize, inner),
    ],
    widths: { projected, z: inner, channels, convolved: channels, decay: heads, attended: inner },
    steps: [
      { kind: 'multiply', weight: 'ssm_in', x: 'h', y: 'projected' },
      fromProjected('z', projected, 0, inner),
      fromProjected('channels', projected, inner, channels),
      fromProjected('decay', projected, inner + channels, heads),
      { kind: 'recur' },
      { kind: 'gate', activation: 'silu', gate: 'z', up: 'attended' },
      { kind: 'rms-norm', x: 'z', weight: 'ssm_norm', y: 'z', width: inner / groups },
    ],
    result: { weight: 'ssm_out', x: 'z' },
  };
}

/** c ∘ conv(b ∘ u) for [b, c, u] = W_in · h. */
function shortConvolutionPart({ width }: ShortConvolution, hiddenSize: number): MixerPart {
  const part = (y: BufferName, place: number): LayerStep =>
    fromProjected(y, 3 * hiddenSize, place * hiddenSize, hiddenSize);
  return {
    weights: [
      matrix('shortconv_in_proj', 3 * hiddenSize, hiddenSize),
      convolution('shortconv_conv', hiddenSize, width),
      matrix('shortconv_out_proj', hiddenSize, hiddenSize),
    ],
    widths: { projected: 3 * hiddenSize, channels: hiddenSize, z: hiddenSize, attended: hiddenSize },
    steps: [
      { kind: 'multiply', weight: 'shortconv_in_proj', x: 'h', y: 'projected' },
      part('channels', 0),
      part('z', 2),
      { kind: 'gate', activation: 'identity', gate: 'channels', up: 'z' },
      part('z', 1),
      { kind: 'recur' },
      { kind: 'gate', activation: 'identity', gate: 'z', up: 'attended' },
    ],
    result: { weight: 'shortconv_out_proj', x: 'z' },
  };
}
