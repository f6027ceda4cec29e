import { InputError } from '../input/input-error.ts';
import { meanWidths, type Shape, type TensorRole } from './architecture.ts';
import type { Model } from './model.ts';

/**
 * The matrix products of a transformer as an inference engine runs them, with Q, K and V in one and gate and up in one:
 * four per layer, for which an NPU has four graphs (HeteroLLM 5.2.2: "typically 4 graphs"), and the output layer.
 */
export const LAYER_OPERATORS = ['qkv', 'attention-output', 'gate-up', 'down'] as const;
/** Operators with weights, in the order of a token's pass. */
export const OPERATORS = [...LAYER_OPERATORS, 'output'] as const;
/** Name of an operator that each layer has. */
export type LayerOperatorName = (typeof LAYER_OPERATORS)[number];
/** Name of an operator with weights. */
export type OperatorName = (typeof OPERATORS)[number];

/** A weight matrix of `rows` × `columns`, which multiplies `columns` values of each token. */
export interface OperatorShape {
  readonly name: OperatorName;
  readonly rows: number;
  readonly columns: number;
}

export interface Operator extends OperatorShape {
  /** Bytes of the weights as stored, the mean over layers. */
  readonly bytes: number;
}

/** The operator that a matrix is a part of. */
export const OPERATOR_OF: ReadonlyMap<TensorRole, OperatorName> = new Map([
  ['attn_q', 'qkv'],
  ['attn_k', 'qkv'],
  ['attn_v', 'qkv'],
  ['attn_qkv', 'qkv'],
  ['attn_output', 'attention-output'],
  ['ffn_gate', 'gate-up'],
  ['ffn_up', 'gate-up'],
  ['ffn_down', 'down'],
  ['output', 'output'],
]);

/** The operators of a model, or of the mean of its unlike layers. */
export function operatorShapes(shape: Shape): Readonly<Record<OperatorName, OperatorShape>> {
  const { vocabularySize } = shape;
  const { hiddenSize, ffnSize, heads, kvHeads, headSize } = meanWidths(shape);
  const operator = <Name extends OperatorName>(name: Name, rows: number, columns: number) => ({ name, rows, columns });
  return {
    qkv: operator('qkv', (heads + 2 * kvHeads) * headSize, hiddenSize),
    'attention-output': operator('attention-output', hiddenSize, heads * headSize),
    'gate-up': operator('gate-up', 2 * ffnSize, hiddenSize),
    down: operator('down', hiddenSize, ffnSize),
    output: operator('output', vocabularySize, hiddenSize),
  };
}

/** Why a model's operators are not cut or measured one by one; `undefined` if they are. */
export function withoutOperators({ kinds }: Pick<Shape, 'kinds'>): string | undefined {
  if (kinds.some(({ feedForward }) => feedForward?.kind === 'experts')) return 'experts';
  return kinds.every(({ mixer }) => mixer?.kind === 'attention')
    ? undefined
    : 'layers without keys and values of heads';
}

/**
 * A model's operators with the bytes of their weights.
 * @throws InputError for a model without them (withoutOperators), or if the tensors of an operator are missing
 */
export function modelOperators(model: Model): Readonly<Record<OperatorName, Operator>> {
  const has = withoutOperators(model);
  if (has !== undefined)
    throw new InputError(`model ${model.name}`, `has ${has}, whose operators are not cut or measured one by one`);
  const shapes = operatorShapes(model);
  const bytes = weightBytes(model);
  const entries = OPERATORS.map((name) => {
    const own = bytes[name];
    if (own === 0) throw new InputError(`model ${model.name}`, `has no weights for the operator "${name}"`);
    return [name, { ...shapes[name], bytes: name === 'output' ? own : own / model.layers }];
  });
  return Object.fromEntries(entries) as Record<OperatorName, Operator>;
}

/** Bytes of each operator's tensors, over all layers. */
function weightBytes({ tensors, tiedEmbeddings }: Model): Record<OperatorName, number> {
  const bytes = { qkv: 0, 'attention-output': 0, 'gate-up': 0, down: 0, output: 0 };
  for (const tensor of tensors) {
    const name = tiedEmbeddings && tensor.role === 'token_embd' ? 'output' : OPERATOR_OF.get(tensor.role);
    if (name !== undefined && !(tiedEmbeddings && tensor.role === 'output')) bytes[name] += tensor.bytes;
  }
  return bytes;
}
