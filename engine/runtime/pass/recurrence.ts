import type { Operation } from '../../kernels/operation.ts';
import type { Vector } from '../../kernels/vector.ts';
import type { LayerVector } from '../../model/block/layer-weight.ts';
import { type Recurrence, stateSize } from '../../model/layer-kind.ts';

/** Inputs and results of a recurrent layer for consecutive tokens of one text. */
export interface RecurrenceInputs {
  readonly kind: 'recurrence';
  readonly mixer: Recurrence;
  readonly hiddenSize: number;
  /** Inputs and results of the convolution: [tokens][channels] */
  readonly channels: Vector;
  readonly convolved: Vector;
  /** [tokens][heads]; empty where the kind has none. */
  readonly strength: Vector;
  readonly decay: Vector;
  /** [tokens][inner] */
  readonly attended: Vector;
  readonly epsilon: number;
}

export type LayerVectors = Readonly<Partial<Record<LayerVector, Vector>>>;

/** The convolution of the tokens and the update of the layer's state by each of them. */
export function recur(inputs: RecurrenceInputs, vectors: LayerVectors, state: Vector): Operation[] {
  const { mixer, hiddenSize, channels, convolved, strength, decay, attended: y, epsilon } = inputs;
  const { inputs: before } = stateSize(mixer, hiddenSize);
  const [past, memory] = [state.slice(0, before), state.slice(before, state.values.length)];
  const own = (name: LayerVector): Vector => vectors[name] as Vector;
  const convolution = { kind: 'convolve', x: channels, width: mixer.width, state: past } as const;
  if (mixer.kind === 'short-convolution')
    return [{ ...convolution, weight: own('shortconv_conv'), y, activation: 'identity' }];
  const convolve: Operation = {
    ...{ ...convolution, weight: own('ssm_conv1d'), bias: vectors.ssm_conv1d_bias },
    ...{ y: convolved, activation: 'silu' },
  };
  if (mixer.kind === 'mamba') {
    const { heads, headSize, groups, stateSize: size } = mixer;
    return [
      convolve,
      {
        ...{ kind: 'selective-scan', x: convolved, step: decay, stepBias: own('ssm_dt_bias'), rate: own('ssm_a') },
        ...{ skip: own('ssm_d'), state: memory, y, heads, headSize, groups, stateSize: size },
      },
    ];
  }
  const { keyHeads, valueHeads, size, order } = mixer;
  return [
    convolve,
    {
      ...{ kind: 'delta-rule', x: convolved, strength, decay, decayBias: own('ssm_dt_bias'), rate: own('ssm_a') },
      ...{ state: memory, y, keyHeads, valueHeads, size, order, epsilon },
    },
  ];
}
