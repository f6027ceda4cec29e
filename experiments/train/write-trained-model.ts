import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { withFile } from '../../engine/gguf/file-source.ts';
import { quantize } from '../../engine/gguf/formats/formats.ts';
import { madeModel } from '../../engine/gguf/make/made-model.ts';
import type { MetadataValue } from '../../engine/gguf/metadata-value.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { type TensorSource, writeGguf } from '../../engine/gguf/write-gguf.ts';
import { InputError } from '../../engine/input/input-error.ts';
import { type Shape, uniformShape } from '../../engine/model/architecture.ts';
import type { Experts, LayerKind } from '../../engine/model/layer-kind.ts';
import type { FileMix } from '../../engine/model/mix.ts';
import { PREPARED } from './prepared.ts';
import { readSafetensors } from './safetensors.ts';

/** Tokens up to which the corpus trains: its longest documents have some fewer. */
const CONTEXT = 256;

/** NAME.json. */
type TrainedShape = Readonly<Record<'layers' | 'hidden' | 'heads' | 'kv_heads' | 'head' | 'ffn', number>> & {
  /** Experts of each layer, `ffn` wide, and those that a token uses; missing: layers are dense. */
  readonly experts?: number;
  readonly used?: number;
};

/**
 * Writes what train.py saved as a GGUF file, with the tokenizer that is in the same folder. The output matrix is the
 * embedding.
 * @param weights NAME.safetensors, with NAME.json next to it
 * @throws InputError if a tensor is missing or has another shape than the model
 */
export async function writeTrainedModel(weights: string, out: string, mix: FileMix): Promise<void> {
  const folder = dirname(weights);
  const name = basename(weights, '.safetensors');
  const missing = [weights, join(folder, `${name}.json`), join(folder, PREPARED.tokenizer)].find(
    (path) => !existsSync(path),
  );
  if (missing !== undefined) throw new InputError(missing, 'there is no such file; prepare.ts and train.py write it');
  const shape: TrainedShape = JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8'));
  const { metadata: tokenizer } = withFile(join(folder, PREPARED.tokenizer), readGguf);
  const trained = readSafetensors(weights);
  const made = madeModel(modelShape(name, shape, trained.get('token_embd.weight')?.shape[0] ?? 0), mix);
  const tensors = made.tensors.map((tensor): TensorSource => {
    const found = trained.get(tensor.name);
    if (found?.values.length !== tensor.rows * tensor.columns)
      throw new InputError(
        weights,
        `${tensor.name} has ${found?.shape.join(' × ') ?? 'no'} values; ${name}.json says ${tensor.rows} × ${tensor.columns}`,
      );
    return { ...tensor, pieces: () => [quantize(tensor.type, found.values)] };
  });
  const text = (value: string): MetadataValue => ({ type: 'string', value });
  const own: [string, MetadataValue][] = [
    ['general.description', text('children’s stories and sums, written by a grammar; trained by experiments/train')],
    ['general.license', text('apache-2.0')],
    ['llama.context_length', { type: 'uint32', value: CONTEXT }],
  ];
  await writeGguf(out, new Map([...made.metadata, ...own, ...tokenizer]), tensors);
}

/** Layers as train.py computes them: of Llama, or of Mixtral with a router that is renormalised over the chosen experts. */
function modelShape(name: string, trained: TrainedShape, vocabularySize: number): Shape {
  const shape = uniformShape({
    name,
    architecture: 'llama',
    layers: trained.layers,
    hiddenSize: trained.hidden,
    ffnSize: trained.ffn,
    heads: trained.heads,
    kvHeads: trained.kv_heads,
    headSize: trained.head,
    vocabularySize,
    tiedEmbeddings: true,
    qkvBias: false,
  });
  const { experts, used } = trained;
  if (experts === undefined || used === undefined) return shape;
  const feedForward: Experts = {
    ...{ kind: 'experts', size: trained.ffn, activation: 'silu' },
    router: { experts, used, scores: 'softmax', normalised: true },
  };
  const [kind] = shape.kinds as [LayerKind];
  return { ...shape, kinds: new Array<LayerKind>(shape.layers).fill({ ...kind, feedForward }) };
}
