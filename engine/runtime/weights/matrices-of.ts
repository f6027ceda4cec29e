import type { Gguf, GgufTensor } from '../../gguf/gguf.ts';
import type { Shape } from '../../model/architecture.ts';

/** Matrices of a layer or of the output layer, in file order. Vectors are small and read when a model is loaded. */
export function matricesOf(
  { tensors }: Pick<Gguf, 'tensors'>,
  { tiedEmbeddings }: Pick<Shape, 'tiedEmbeddings'>,
  part: number | 'output',
): GgufTensor[] {
  const output = tiedEmbeddings ? 'token_embd.weight' : 'output.weight';
  const isOwn = (name: string): boolean => (part === 'output' ? name === output : name.startsWith(`blk.${part}.`));
  return tensors.filter(({ name, shape }) => shape.length > 1 && isOwn(name)).sort((a, b) => a.offset - b.offset);
}

/** Matrices that every token uses: all but those of experts. */
export function alwaysUsed(matrices: readonly GgufTensor[]): GgufTensor[] {
  return matrices.filter(({ name }) => !/_exps\.weight$/.test(name));
}
