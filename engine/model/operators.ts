import { InputError } from '../input/input-error.ts';
import type { Shape, TensorRole } from './architecture.ts';
import type { Model } from './model.ts';

/**
 * The multiplications of a transformer as an inference engine runs them: Q, K and V in one, gate and up in one. Four
 * per layer, for which an NPU has four graphs (HeteroLLM 5.2.2: "typically 4 graphs"), and the output layer.
 */
export const LAYER_OPERATORS = ['qkv', 'attention-output', 'gate-up', 'down'] as const;
export const OPERATORS = [...LAYER_OPERATORS, 'output'] as const;
export type LayerOperatorName = (typeof LAYER_OPERATORS)[number];
export type OperatorName = (typeof OPERATORS)[number];

/** A weight matrix of `rows` × `columns`, multiplied with `columns` values of every token. */
export interface OperatorShape {
  readonly name: OperatorName;
  readonly rows: number;
  readonly columns: number;
}

export interface Operator extends OperatorShape {
  /** Weights as stored; the mean over layers. */
  readonly bytes: number;
}

const ROLES: Readonly<Record<OperatorName, readonly TensorRole[]>> = {
  qkv: ['attn_q', 'attn_k', 'attn_v', 'attn_qkv'],
  'attention-output': ['attn_output'],
  'gate-up': ['ffn_gate', 'ffn_up'],
  down: ['ffn_down'],
  output: ['output'],
};

export function operatorShapes(shape: Shape): Readonly<Record<OperatorName, OperatorShape>> {
  const { hiddenSize, ffnSize, heads, kvHeads, headSize, vocabularySize } = shape;
  const operator = <Name extends OperatorName>(name: Name, rows: number, columns: number) => ({ name, rows, columns });
  return {
    qkv: operator('qkv', (heads + 2 * kvHeads) * headSize, hiddenSize),
    'attention-output': operator('attention-output', hiddenSize, heads * headSize),
    'gate-up': operator('gate-up', 2 * ffnSize, hiddenSize),
    down: operator('down', hiddenSize, ffnSize),
    output: operator('output', vocabularySize, hiddenSize),
  };
}

/** Every operator of a model with its weights. @throws InputError if the model's tensors lack one */
export function modelOperators(model: Model): Readonly<Record<OperatorName, Operator>> {
  const shapes = operatorShapes(model);
  const entries = OPERATORS.map((name) => [name, { ...shapes[name], bytes: weightBytes(model, name) }]);
  return Object.fromEntries(entries) as Record<OperatorName, Operator>;
}

function weightBytes({ tensors, layers, name: model, tiedEmbeddings }: Model, name: OperatorName): number {
  const roles = name === 'output' && tiedEmbeddings ? ['token_embd'] : ROLES[name];
  const own = tensors.filter(({ role }) => roles.includes(role));
  if (own.length === 0) throw new InputError(`model ${model}`, `has no weights for the operator "${name}"`);
  return own.reduce((sum, { bytes }) => sum + bytes, 0) / (name === 'output' ? 1 : layers);
}
