import type { MultiplyOperation, Operation } from '../../kernels/operation.ts';
import { LAYER_OPERATORS, type OperatorName } from '../../model/operators.ts';
import type { OperatorCut, TensorPartition } from '../../plan/tensor-partition.ts';
import { type CutProcessors, type CutProduct, cutProducts } from './cut-product.ts';

/** Operations of a layer, or of the output layer, of which two processors share the products. */
export interface CutOperations {
  runLayer(operations: readonly Operation[], layer: number, tokens: number): Promise<void>;
  runOutput(operations: readonly Operation[], tokens: number): Promise<void>;
}

/** Operators are cut as a prompt's for several tokens at once, and as decoding's for one and in the output layer. */
export function createCutOperations(processors: CutProcessors, partition: TensorPartition): CutOperations {
  const { kernels } = processors.main;
  const decode = cutProducts(processors, (name) => partition.decode[name]);
  const prefill = cutProducts(processors, (name) => prefillCut(partition, name));
  /** Products that read the same vector, one after the other, are an operator. @param names those that occur, in order */
  const run = async (operations: readonly Operation[], { cut, layer, names, tokens }: CutRun): Promise<void> => {
    let next = 0;
    for (let index = 0; index < operations.length; ) {
      const products = productsFrom(operations, index);
      if (products.length > 0) {
        const name = names[next++];
        if (name === undefined) throw new Error(UNLIKE_TEXTS);
        await cut({ name, layer, products }, tokens);
        index += products.length;
      } else {
        const end = operations.findIndex((one, at) => at > index && one.kind === 'multiply');
        kernels.run(operations.slice(index, end < 0 ? operations.length : end));
        index = end < 0 ? operations.length : end;
      }
    }
  };
  return {
    runLayer: (operations, layer, tokens) =>
      run(operations, { cut: tokens === 1 ? decode : prefill, layer, names: LAYER_OPERATORS, tokens }),
    runOutput: (operations, tokens) => run(operations, { cut: decode, layer: 0, names: ['output'], tokens }),
  };
}

const UNLIKE_TEXTS =
  'texts that are multiplied in different ways in one pass are not cut between GPU and NPU; evaluate them one by one';

interface CutRun {
  readonly cut: CutProduct;
  readonly layer: number;
  readonly names: readonly OperatorName[];
  readonly tokens: number;
}

function prefillCut({ prefill, decode }: TensorPartition, name: OperatorName): OperatorCut {
  return name === 'output' ? decode.output : prefill[name];
}

function productsFrom(operations: readonly Operation[], index: number): MultiplyOperation[] {
  const products: MultiplyOperation[] = [];
  for (let at = index; at < operations.length; at++) {
    const one = operations[at] as Operation;
    if (one.kind !== 'multiply' || (products.length > 0 && one.x !== products[0]?.x)) break;
    products.push(one);
  }
  return products;
}
