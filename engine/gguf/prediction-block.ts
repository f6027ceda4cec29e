import { InputError } from '../input/input-error.ts';
import type { Shape } from '../model/architecture.ts';
import { keptHeads, type LayerKind } from '../model/layer-kind.ts';
import type { Gguf } from './gguf.ts';
import { checkBlock } from './model-from-gguf.ts';
import { predictionBlocks } from './shape-from-metadata.ts';

/**
 * The first block behind a model's layers, which predicts the token after the next one (DeepSeek-AI 2024, Section 2.2):
 * x = W_join·[norm(embedding of token t + 1); norm(hidden state of token t)] goes through a layer and the output.
 */
export interface PredictionBlock {
  /** The model with the block as one layer more. */
  readonly shape: Shape;
  /** The block's number among the layers. */
  readonly layer: number;
  /** Names of tensors; those that a block doesn't have are the model's. */
  readonly join: string; // [hidden][2 · hidden]
  readonly embeddingNorm: string; // [hidden]
  readonly stateNorm: string; // [hidden]
  readonly embedding: string; // [vocabulary][hidden]
  readonly outputNorm: string; // [hidden]
  readonly output: string; // [vocabulary][hidden]
}

/**
 * The prediction block of a file that modelFromGguf accepts. It is a layer like the last one that attends: in models
 * with recurrent layers it attends as well.
 * @throws InputError for a file without one, or whose tensors are missing or of other dimensions
 */
export function predictionBlock(gguf: Gguf, model: Shape): PredictionBlock {
  const { layers, hiddenSize, vocabularySize } = model;
  const kind = model.kinds.findLast((one) => keptHeads(one) !== undefined);
  if (predictionBlocks(gguf.fields, model.architecture) === 0 || kind === undefined)
    throw new InputError(
      gguf.file,
      'has no block that predicts further tokens (nextn_predict_layers); draft with --draft or --lookup',
    );
  const own = (name: string): string => `blk.${layers}.nextn.${name}.weight`;
  const present = new Set(gguf.tensors.map(({ name }) => name));
  const orElse = (name: string, other: string): string => (present.has(own(name)) ? own(name) : other);
  const vector = [hiddenSize];
  const { scaled: _, ...unscaled }: LayerKind = kind;
  const shape = { ...model, layers: layers + 1, kinds: [...model.kinds, unscaled] };
  checkBlock(gguf, shape, layers, {
    [own('eh_proj')]: [2 * hiddenSize, hiddenSize],
    [own('enorm')]: vector,
    [own('hnorm')]: vector,
    ...(present.has(own('shared_head_norm')) && { [own('shared_head_norm')]: vector }),
    ...(present.has(own('embed_tokens')) && { [own('embed_tokens')]: [hiddenSize, vocabularySize] }),
    ...(present.has(own('shared_head_head')) && { [own('shared_head_head')]: [hiddenSize, vocabularySize] }),
  });
  return {
    ...{ shape, layer: layers },
    ...{ join: own('eh_proj'), embeddingNorm: own('enorm'), stateNorm: own('hnorm') },
    embedding: orElse('embed_tokens', 'token_embd.weight'),
    outputNorm: orElse('shared_head_norm', 'output_norm.weight'),
    output: orElse('shared_head_head', model.tiedEmbeddings ? 'token_embd.weight' : 'output.weight'),
  };
}
