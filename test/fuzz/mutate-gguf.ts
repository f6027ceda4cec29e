import { encodeHeader, type TensorHeading, tensorBytes } from '../../engine/gguf/encode-header.ts';
import { withFile } from '../../engine/gguf/file-source.ts';
import { madeModel, TINY } from '../../engine/gguf/make/made-model.ts';
import type { Metadata, MetadataValue } from '../../engine/gguf/metadata-value.ts';
import { parseModels } from '../../engine/gguf/parse-models.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import type { RandomStream } from '../../engine/input/random-stream.ts';
import { uniformShape } from '../../engine/model/architecture.ts';
import { QUANTIZATION_NAMES } from '../../engine/model/quantization.ts';
import { goldenArchitecturePath } from '../support/golden-architectures.ts';
import { mutateBytes } from './mutate-bytes.ts';

/** A header and the size of its file. */
export interface Header {
  readonly bytes: Uint8Array;
  readonly fileBytes: number;
}

interface Parts {
  readonly metadata: Metadata;
  readonly tensors: readonly TensorHeading[];
}

const DENSE = (['llama', 'qwen2', 'qwen3', 'internlm2'] as const).map((architecture) => {
  const own = { qkvBias: architecture === 'qwen2', tiedEmbeddings: architecture === 'qwen3' };
  return uniformShape({ ...TINY, architecture, ...own, vocabularySize: 258 });
});
/** Mixtures with all that one may have: windows, sinks, biases, shared experts, dense layers, biased choices. */
const MIXTURES = parseModels(
  `name,architecture,layers,hidden_size,ffn_size,heads,kv_heads,head_size,vocabulary_size,window,experts,experts_used,expert_size,shared_expert_size,dense_layers,other_tensors,tied_embeddings,qkv_bias,default_mix,provenance
a,gpt-oss,2,64,64,4,2,32,258,16,6,2,32,,,,false,true,Q8_0,assumed
b,glm4moe,2,64,64,4,2,32,258,,6,2,32,32,1,exp_probs_b attn_q_norm,false,true,Q8_0,assumed
c,qwen2moe,2,64,64,4,2,32,258,,6,2,32,64,,,false,true,Q8_0,assumed
d,minimax-m2,2,64,32,4,2,32,258,,6,2,32,,,exp_probs_b,false,false,Q8_0,assumed`,
  'mixtures.csv',
).map(({ shape }) => shape);
/** Layers of other kinds: latent attention, recurrences, shared keys, embeddings of tokens for layers. */
const UNLIKE = ['deepseek2-mla', 'gemma4', 'granite-hybrid', 'lfm2', 'nemotron-h-moe', 'qwen35', 'qwen3next'].map(
  (name): Parts => {
    const { metadata, tensors } = withFile(goldenArchitecturePath(`${name}-F16`), readGguf);
    return { metadata, tensors: tensors.map(({ name, shape, type }) => ({ name, shape, type })) };
  },
);
/** Numbers for metadata and shapes: those around powers of two, and those that no model has. */
const NUMBERS = [0, 1, 2, 3, 31, 32, 33, 64, 255, 256, 1000, 4096, 65_535, 65_536, 2 ** 31 - 1, 2 ** 32 - 1];
const FLOATS = [0, -0, -1, 1e-45, 1e-5, 1, 1e30, Number.NaN, Number.POSITIVE_INFINITY];
const TEXTS = ['', 'llama', 'gpt2', 'qwen3', '\0', 'x'.repeat(300), '\u{10ffff}', '%s%n', '../../etc/passwd'];

/** Short but complete headers: most of their bytes are lengths, types and offsets rather than vocabulary. */
export function shortHeaders(): Parts[] {
  const made = [...DENSE, ...MIXTURES].map((shape) => madeModel(shape, DENSE.includes(shape) ? 'Q4_K_M' : 'Q8_0'));
  const whole = [...made, ...UNLIKE].map(({ metadata, tensors }) => {
    const words = { of: 'string', values: ['a', 'b', '<s>'] } as const;
    const short: Metadata = new Map([
      ...[...metadata].filter(([key]) => !key.startsWith('tokenizer.')),
      ['tokenizer.ggml.model', { type: 'string', value: 'gpt2' }],
      ['tokenizer.ggml.tokens', { type: 'array', value: words }],
      ['tokenizer.ggml.bos_token_id', { type: 'uint32', value: 2 }],
      ['test.big', { type: 'uint64', value: 7n }],
      ['test.flags', { type: 'array', value: { of: 'bool', values: [1, 0] } }],
      ['test.bigs', { type: 'array', value: { of: 'int64', values: [-1n] } }],
    ]);
    return { metadata: short, tensors };
  });
  const first = whole[0] as Parts;
  return [...whole, { ...first, metadata: new Map([...first.metadata, ...splitEntries(0, first.tensors.length)]) }];
}

/** Metadata of one of two files of a model that is in both. */
export function splitEntries(part: 0 | 1, tensors: number): [string, MetadataValue][] {
  return [
    ['split.no', { type: 'uint16', value: part }],
    ['split.count', { type: 'uint16', value: 2 }],
    ['split.tensors.count', { type: 'int32', value: tensors }],
  ];
}

/** The second file of a model whose first is the last of the short headers: it has no tensors. */
export function secondPart(): Uint8Array {
  return encodeHeader(new Map(splitEntries(1, 0)), []);
}

/**
 * A mutated header: up to three changes of what it says (values and their types, keys, tensors' shapes, formats, names
 * and order), then up to four of its bytes, and sometimes another size of the file. Offsets follow from shapes, so that
 * headers with changed contents alone are consistent.
 */
export function mutateHeader(headers: readonly Parts[], random: RandomStream): Header {
  let parts = random.pick(headers);
  for (let times = random.integer(0, 3); times > 0; times--) {
    const changed = mutateParts(parts, headers, random);
    // Parts of blocks can't be encoded; mutated bytes give such shapes.
    if (changed.tensors.every((tensor) => Number.isInteger(tensorBytes(tensor)))) parts = changed;
  }
  let bytes = encodeHeader(parts.metadata, parts.tensors);
  const whole = parts.tensors.reduce((sum, tensor) => sum + tensorBytes(tensor) + 31, bytes.length);
  const other = encodeHeader(random.pick(headers).metadata, []);
  for (let times = random.integer(0, 4); times > 0; times--) bytes = mutateBytes(bytes, other, random) as typeof bytes;
  const sizes = [0, random.integer(0, bytes.length), bytes.length, 2 * whole, 40e9, Number.MAX_SAFE_INTEGER];
  return { bytes, fileBytes: random.integer(0, 7) === 0 ? random.pick(sizes) : whole };
}

function mutateParts({ metadata, tensors }: Parts, headers: readonly Parts[], random: RandomStream): Parts {
  const keys = [...metadata.keys()];
  const key = random.pick(keys);
  const index = random.integer(0, tensors.length - 1);
  const tensor = tensors[index];
  switch (random.integer(0, 8)) {
    case 0:
    case 1:
      return { metadata: new Map([...metadata, [key, randomValue(random)]]), tensors };
    case 2:
      return { metadata: new Map([...metadata].filter(([name]) => name !== key)), tensors };
    case 3: {
      const other = random.pick(headers).metadata;
      const taken = random.pick([...other.values()]);
      return { metadata: new Map([...metadata, [key, taken]]), tensors };
    }
    case 4:
      return { metadata: new Map([...metadata, [random.pick(TEXTS), randomValue(random)]]), tensors };
    case 5:
      return { metadata, tensors: tensors.filter((_, at) => at !== index) };
    case 6:
      return { metadata, tensors: tensor === undefined ? [] : [...tensors, tensor] };
    default: {
      if (tensor === undefined) return { metadata, tensors };
      const changed = mutateTensor(tensor, tensors, random);
      return { metadata, tensors: tensors.map((one, at) => (at === index ? changed : one)) };
    }
  }
}

function mutateTensor(tensor: TensorHeading, tensors: readonly TensorHeading[], random: RandomStream): TensorHeading {
  switch (random.integer(0, 3)) {
    case 0:
      return { ...tensor, type: random.pick(QUANTIZATION_NAMES) };
    case 1:
      return { ...tensor, name: random.pick([random.pick(tensors).name, ...TEXTS]) };
    case 2:
      return { ...tensor, shape: tensor.shape.toReversed() };
    default: {
      const at = random.integer(0, tensor.shape.length - 1);
      const length = random.pick([1, 2, 31, 32, 64, 256, 257, 512, 2 ** 20]);
      return { ...tensor, shape: tensor.shape.map((one, dimension) => (dimension === at ? length : one)) };
    }
  }
}

function randomValue(random: RandomStream): MetadataValue {
  switch (random.integer(0, 6)) {
    case 0:
      return { type: 'uint32', value: random.pick(NUMBERS) };
    case 1:
      return { type: 'int32', value: -random.pick(NUMBERS) };
    case 2:
      return { type: 'float32', value: random.pick(FLOATS) };
    case 3:
      return { type: 'uint64', value: BigInt(random.pick(NUMBERS)) ** 2n % 2n ** 64n };
    case 4:
      return { type: 'bool', value: random.integer(0, 1) === 1 };
    case 5:
      return { type: 'string', value: random.pick(TEXTS) };
    default:
      return { type: 'array', value: { of: 'uint32', values: [random.pick(NUMBERS), random.pick(NUMBERS)] } };
  }
}
